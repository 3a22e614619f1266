# Third-party libraries, all from Debian packages or from .deps, which ./setup fills. They meet in one INTERFACE library:
# most are headers, and --as-needed drops each shared object that a program does not use.
find_program(Python3_EXECUTABLE python3 PATHS /usr/bin NO_DEFAULT_PATH)  # the system's, before shims on the PATH
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(TBB REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(TOMLPLUSPLUS REQUIRED IMPORTED_TARGET tomlplusplus)
# Not among the libraries of every program: librecuda_xapian.so alone is linked to it (cmake/Layers.cmake).
pkg_check_modules(XAPIAN REQUIRED IMPORTED_TARGET xapian-core)

# Lua as Debian compiles it as C++: an error of a script is an exception that unwinds our frames, where the library in C
# jumps over them. Linked into the program, so that the bundle needs no further file.
pkg_check_modules(LUA REQUIRED lua5.4-c++)
find_library(LUA_LIBRARY NAMES liblua5.4-c++.a HINTS ${LUA_LIBRARY_DIRS} ${LUA_LIBDIR} REQUIRED)

# CUDA's headers alone: NVRTC and the driver are opened at run time, never linked. The first toolkit of the 13.x line
# with what NVRTC needs, as ./setup looks for it.
foreach(root IN ITEMS "$ENV{CUDA_HOME}" /usr/local/cuda "${CMAKE_SOURCE_DIR}/.deps/cuda")
    file(GLOB nvrtc "${root}/lib64/libnvrtc.so.13" "${root}/lib/libnvrtc.so.13" "${root}/targets/*/lib/libnvrtc.so.13")
    if(root AND nvrtc AND EXISTS "${root}/include/cuda_bf16.h" AND EXISTS "${root}/include/nvrtc.h")
        set(CUDA_INCLUDE_DIR "${root}/include")
        break()
    endif()
endforeach()

# DuckDB likewise: its library is opened at run time from lib/ beside the program or from .deps/duckdb/lib.
find_path(DUCKDB_INCLUDE_DIR duckdb.h HINTS "${CMAKE_SOURCE_DIR}/.deps/duckdb/include" NO_DEFAULT_PATH)

# libcurl too, which only a process that asks a server for a language model opens.
find_path(CURL_INCLUDE_DIR curl/curl.h)

foreach(needed CUDA_INCLUDE_DIR DUCKDB_INCLUDE_DIR CURL_INCLUDE_DIR)
    if(NOT ${needed})
        message(FATAL_ERROR "${needed} was not found: run ./setup first")
    endif()
endforeach()

add_library(recuda_third_party INTERFACE)
target_include_directories(recuda_third_party SYSTEM INTERFACE
    "${CUDA_INCLUDE_DIR}" "${DUCKDB_INCLUDE_DIR}" "${CURL_INCLUDE_DIR}" ${LUA_INCLUDE_DIRS})
target_link_libraries(recuda_third_party INTERFACE
    CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json PkgConfig::TOMLPLUSPLUS OpenSSL::Crypto PkgConfig::PCRE2
    TBB::tbb Boost::headers Threads::Threads ${LUA_LIBRARY} ${CMAKE_DL_LIBS})
