# The fuzzers of tests/fuzz: in the preset `fuzz` (clang with libFuzzer and sanitisers) the programs fuzz_<target>, in
# every other build the test program that runs kept inputs again.

function(recuda_fuzz_program name)
    add_executable(fuzz_${name} EXCLUDE_FROM_ALL
        tests/fuzz/fuzz_${name}.cpp tests/fuzz/try_parser.cpp tests/fuzz/try_vgpu.cpp
        tests/fuzz/mutator.cpp tests/fuzz/mutate.cpp)
    target_link_libraries(fuzz_${name} PRIVATE recuda_vgpu recuda_build)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endfunction()

function(recuda_fuzzers)
    if(CMAKE_BUILD_TYPE STREQUAL "Fuzz")
        recuda_fuzz_program(ptx_parser)
        recuda_fuzz_program(vgpu)
        add_custom_target(fuzzers DEPENDS fuzz_ptx_parser fuzz_vgpu)
    else()
        recuda_test_program(recuda_tests_fuzz
            tests/fuzz/replay_test.cpp tests/fuzz/mutate_test.cpp tests/fuzz/mutate.cpp
            tests/fuzz/try_parser.cpp tests/fuzz/try_vgpu.cpp)
    endif()
endfunction()
