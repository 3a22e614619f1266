// Inputs that once failed (tests/fuzz/crashes) and a part of the corpus run again in every build, without libFuzzer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "targets.h"

namespace recuda::fuzz {
namespace {

std::vector<std::filesystem::path> inputs(const std::string& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(RECUDA_SOURCE_DIR) + "/tests/fuzz/" + folder))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

TEST(FuzzReplay, ReadsTheAnswers) {
    for (const auto& file : inputs("answers")) {
        SCOPED_TRACE(file.filename().string());
        try_answer(read_file(file, 1u << 20));
    }
}

void run(const std::filesystem::path& file) {
    SCOPED_TRACE(file.filename().string());
    const std::string input = read_file(file, 1u << 20);
    try_parser(input);
    try_vgpu(input);
}

TEST(FuzzReplay, RunsWhatOnceFailed) {
    for (const auto& file : inputs("crashes")) run(file);
}

TEST(FuzzReplay, RunsAPartOfTheCorpus) {
    constexpr size_t kEvery = 16;  // the fuzzers themselves run all of it
    const auto files = inputs("corpus");
    ASSERT_FALSE(files.empty());
    for (size_t i = 0; i < files.size(); i += kEvery) run(files[i]);
}

}  // namespace
}  // namespace recuda::fuzz
