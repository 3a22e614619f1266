# How a folder src/<layer> becomes libraries and test programs.
include(GoogleTest)

set(RECUDA_LAYERS "" CACHE INTERNAL "libraries of the layers so far, ground first")

# Sources below src/<folder> without the back ends of device and retrieval, which are libraries of their own.
function(recuda_glob folder result)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${folder}/*.cpp")
    if(folder STREQUAL "device")
        list(FILTER sources EXCLUDE REGEX "/src/device/(vgpu|cuda)/")
    elseif(folder STREQUAL "retrieval")
        list(FILTER sources EXCLUDE REGEX "/src/retrieval/xapian/")
    endif()
    set(${result} "${sources}" PARENT_SCOPE)
endfunction()

# recuda_layer(folder needed...): library recuda_<layer> and, with test sources, program recuda_<layer>_test.
# A layer without sources of its own is an INTERFACE library. Needed layers that do not exist are left out.
function(recuda_layer folder)
    if(NOT IS_DIRECTORY "${CMAKE_SOURCE_DIR}/src/${folder}")
        return()
    endif()
    get_filename_component(layer "${folder}" NAME)
    set(library "recuda_${layer}")
    set(needed "")
    foreach(name IN LISTS ARGN)
        if(TARGET recuda_${name})
            list(APPEND needed recuda_${name})
        endif()
    endforeach()

    recuda_glob("${folder}" sources)
    set(tests "${sources}")
    list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
    list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")

    if(sources)
        add_library(${library} STATIC ${sources})
        target_link_libraries(${library} PUBLIC ${needed} recuda_third_party)
        target_include_directories(${library} PUBLIC "${CMAKE_SOURCE_DIR}/src" "${CMAKE_BINARY_DIR}/generated")
    else()
        add_library(${library} INTERFACE)
        target_link_libraries(${library} INTERFACE ${needed} recuda_third_party)
        target_include_directories(${library} INTERFACE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_BINARY_DIR}/generated")
    endif()
    set(RECUDA_LAYERS ${RECUDA_LAYERS} ${library} CACHE INTERNAL "")
    if(tests)
        recuda_test_program(${library}_test ${tests})
    endif()
endfunction()

# librecuda_xapian.so beside the programs: the one thing that is linked to Xapian, opened at run time
# (docs/decisions/0006).
function(recuda_xapian_library)
    add_library(recuda_xapian MODULE "${CMAKE_SOURCE_DIR}/src/retrieval/xapian/engine.cpp")
    target_link_libraries(recuda_xapian PRIVATE PkgConfig::XAPIAN fmt::fmt)
    target_include_directories(recuda_xapian PRIVATE "${CMAKE_SOURCE_DIR}/src")
    set_target_properties(recuda_xapian PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
    add_dependencies(recuda_retrieval recuda_xapian)
endfunction()

# What every test program needs, and the precompiled header of what their sources would spend most of their time on.
# Test sources are compiled with little optimisation; what they test is not.
function(recuda_test_settings name)
    target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_BINARY_DIR}/generated")
    target_compile_definitions(${name} PRIVATE RECUDA_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    target_compile_options(${name} PRIVATE -O1 -fpch-preprocess)
    target_link_libraries(${name} PRIVATE recuda_third_party GTest::gmock GTest::gtest_main)
endfunction()

file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/test_headers.cpp" CONTENT "// An empty file, compiled for its headers.\n")
add_library(recuda_test_headers OBJECT EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/generated/test_headers.cpp")
recuda_test_settings(recuda_test_headers)
target_precompile_headers(recuda_test_headers PRIVATE
    <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp> <fmt/format.h>)

# A GoogleTest program that links to every layer so far: a test may use its own layer and those before it.
# Tests run in the source root, so that they find the catalogue and their fixtures by relative paths.
function(recuda_test_program name)
    add_executable(${name} ${ARGN})
    set(layers ${RECUDA_LAYERS})
    list(REVERSE layers)
    target_link_libraries(${name} PRIVATE ${layers})
    recuda_test_settings(${name})
    target_precompile_headers(${name} REUSE_FROM recuda_test_headers)
    set(labels "")
    if(name STREQUAL "recuda_tests_gpu")
        set(labels LABELS gpu)
    endif()
    gtest_discover_tests(${name}
        TEST_PREFIX "${name}."
        DISCOVERY_MODE PRE_TEST
        DISCOVERY_TIMEOUT 60
        WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
        PROPERTIES TIMEOUT 300 ${labels})
endfunction()

# The program itself, at the top of the build folder.
function(recuda_program)
    if(NOT EXISTS "${CMAKE_SOURCE_DIR}/src/main.cpp")
        return()
    endif()
    set(layers ${RECUDA_LAYERS})
    list(REVERSE layers)
    add_executable(cuda-rlm src/main.cpp)
    target_link_libraries(cuda-rlm PRIVATE ${layers})
    target_include_directories(cuda-rlm PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_BINARY_DIR}/generated")
endfunction()

# tests/<folder>: *.cpp make one test program, each test_*.py is a test that gets the program's path in CUDA_RLM and
# skips by exit code 77. Tests below tests/gpu carry the label gpu.
function(recuda_scenario_tests)
    foreach(folder cli issues gpu tools dspy differential matrix async)
        file(GLOB cpp CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/${folder}/*.cpp")
        if(cpp)
            recuda_test_program(recuda_tests_${folder} ${cpp})
            if(TARGET cuda-rlm)
                add_dependencies(recuda_tests_${folder} cuda-rlm)
            endif()
        endif()
        file(GLOB scripts CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/${folder}/test_*.py")
        foreach(script IN LISTS scripts)
            get_filename_component(name "${script}" NAME_WE)
            string(REGEX REPLACE "^test_" "" name "${name}")
            add_test(NAME ${folder}.${name} COMMAND "${Python3_EXECUTABLE}" "${script}"
                WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
            set_tests_properties(${folder}.${name} PROPERTIES
                ENVIRONMENT "CUDA_RLM=${CMAKE_BINARY_DIR}/cuda-rlm;PYTHONDONTWRITEBYTECODE=1"
                SKIP_RETURN_CODE 77
                TIMEOUT 300)
            if(folder STREQUAL "gpu")
                set_tests_properties(${folder}.${name} PROPERTIES LABELS gpu)
            endif()
        endforeach()
    endforeach()
    # Kernels with and without races, on the virtual GPU.
    add_test(NAME races.suite COMMAND "${Python3_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/tests/races/suite.py"
        WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
    set_tests_properties(races.suite PROPERTIES
        ENVIRONMENT "CUDA_RLM=${CMAKE_BINARY_DIR}/cuda-rlm;PYTHONDONTWRITEBYTECODE=1" TIMEOUT 300)
    add_test(NAME layers COMMAND "${Python3_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/tools/check_layers.py"
        WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
endfunction()

# bench/x.cpp is the Google Benchmark program bench_x; `make bench` runs them, ctest does not. bench/calibration and
# bench/proofs and bench/retrieval are programs of their own: what the estimate is calibrated by, how well a machine can
# prove, and what the kernel index is worth.
function(recuda_benchmarks)
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/bench/*.cpp")
    set(layers ${RECUDA_LAYERS})
    list(REVERSE layers)
    foreach(source IN LISTS sources)
        get_filename_component(name "${source}" NAME_WE)
        add_executable(bench_${name} EXCLUDE_FROM_ALL "${source}")
        target_link_libraries(bench_${name} PRIVATE ${layers} benchmark::benchmark_main)
        target_include_directories(bench_${name} PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_BINARY_DIR}/generated")
        target_compile_definitions(bench_${name} PRIVATE RECUDA_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
        list(APPEND programs bench_${name})
    endforeach()
    file(GLOB calibration CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/bench/calibration/*.cpp")
    add_executable(calibration EXCLUDE_FROM_ALL ${calibration})
    target_link_libraries(calibration PRIVATE ${layers})
    target_include_directories(calibration PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}/bench"
        "${CMAKE_BINARY_DIR}/generated")
    add_executable(proofs EXCLUDE_FROM_ALL "${CMAKE_SOURCE_DIR}/bench/proofs/main.cpp")
    target_link_libraries(proofs PRIVATE ${layers})
    target_include_directories(proofs PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_BINARY_DIR}/generated")
    add_executable(retrieval EXCLUDE_FROM_ALL "${CMAKE_SOURCE_DIR}/bench/retrieval/main.cpp")
    target_link_libraries(retrieval PRIVATE ${layers})
    target_include_directories(retrieval PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_BINARY_DIR}/generated")
    add_custom_target(benchmarks DEPENDS ${programs})
endfunction()
