# The fuzzers of tests/fuzz: in the preset `fuzz` (clang with libFuzzer and sanitisers) the programs fuzz_<target>, in
# every other build the test program that runs kept inputs again.

# recuda_fuzz_program(name source...): the program fuzz_<name> of its own source and the others named.
function(recuda_fuzz_program name)
    list(TRANSFORM ARGN PREPEND tests/fuzz/)
    add_executable(fuzz_${name} EXCLUDE_FROM_ALL tests/fuzz/fuzz_${name}.cpp tests/fuzz/expect_line.cpp ${ARGN})
    target_link_libraries(fuzz_${name} PRIVATE recuda_vgpu recuda_build recuda_lm)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endfunction()

function(recuda_fuzzers)
    if(CMAKE_BUILD_TYPE STREQUAL "Fuzz")
        set(ptx try_parser.cpp try_vgpu.cpp mutator.cpp mutate.cpp)
        recuda_fuzz_program(ptx_parser ${ptx})
        recuda_fuzz_program(vgpu ${ptx})
        recuda_fuzz_program(answer try_answer.cpp)
        add_custom_target(fuzzers DEPENDS fuzz_ptx_parser fuzz_vgpu fuzz_answer)
    else()
        recuda_test_program(recuda_tests_fuzz
            tests/fuzz/replay_test.cpp tests/fuzz/mutate_test.cpp tests/fuzz/mutate.cpp
            tests/fuzz/try_parser.cpp tests/fuzz/try_vgpu.cpp tests/fuzz/try_answer.cpp tests/fuzz/expect_line.cpp)
    endif()
endfunction()
