# Compiler, flags and build types for everything in this repository.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(RECUDA_WERROR "Treat warnings as errors (CI does)" OFF)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Dev, Asan or Fuzz" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEV "-O1 -g")
set(CMAKE_CXX_FLAGS_ASAN "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined")
set(CMAKE_EXE_LINKER_FLAGS_ASAN "-fsanitize=address,undefined")
# For clang alone: libFuzzer needs its coverage.
set(CMAKE_CXX_FLAGS_FUZZ
    "-O1 -gline-tables-only -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all")
set(CMAKE_EXE_LINKER_FLAGS_FUZZ "-fsanitize=address,undefined")

# An aggregate that names some of its members leaves the others at their defaults on purpose.
# GCC 12 sees overlapping copies in std::string where there are none (its bug 105651).
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -Wno-restrict)
if(RECUDA_WERROR)
    # Warnings that come from the optimiser's view of inlined library code stay warnings: GCC 12's are often false.
    add_compile_options(-Werror -Wno-error=array-bounds -Wno-error=stringop-overflow -Wno-error=stringop-overread
        -Wno-error=maybe-uninitialized -Wno-error=dangling-pointer)
endif()

# The virtual GPU must round exactly where PTX says so: no fusing of a multiplication and an addition, whatever the
# target. The other two let the compiler vectorise loops with square roots and conditions; they change no value.
add_compile_options(-ffp-contract=off -fno-math-errno -fno-trapping-math)

# A fixed baseline, never -march=native: a bundle runs on other machines than the one that built it.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_compile_options(-march=x86-64-v3)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    add_compile_options(-march=armv8.2-a)
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # What ccache must overlook to serve files that use the tests' precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE}")
endif()

# Debian's packages of different libraries come as shared objects of which few programs use all.
add_link_options(-Wl,--as-needed)
