#include "build/toolchain.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/file.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

/// Makes empty files below the folder.
void make_files(const fs::path& root, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        fs::create_directories((root / name).parent_path());
        std::ofstream(root / name) << "x";
        fs::permissions(root / name, fs::perms::owner_all);
    }
}

TEST(Toolchain, KnowsTheLayoutsOfToolkitsAndWheels) {
    for (const char* libraries : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
        const TemporaryFolder folder;
        const std::string library = std::string(libraries) + "/libnvrtc.so.13",
                          builtins = std::string(libraries) + "/libnvrtc-builtins.so.13.0";
        make_files(folder.path(), {library.c_str(), builtins.c_str(), "include/cuda_bf16.h", "include/cuda_runtime.h",
                                   "include/cccl/cub/cub.cuh", "bin/ptxas"});
        const Toolchain chain = detail::find_toolchain({folder.path().string()}, "");
        EXPECT_EQ(chain.nvrtc.path, (folder.path() / library).string());
        EXPECT_EQ(chain.nvrtc_builtins, (folder.path() / builtins).string());
        EXPECT_EQ(chain.include_folders, (std::vector<std::string>{(folder.path() / "include").string(),
                                                                   (folder.path() / "include/cccl").string()}));
        EXPECT_EQ(chain.ptxas.path, (folder.path() / "bin/ptxas").string());
    }
}

TEST(Toolchain, TakesTheFirstThatHasIt) {
    const TemporaryFolder first, second;
    make_files(first.path(), {"lib64/libnvrtc.so.12"});
    make_files(second.path(), {"lib/libnvrtc.so.13", "bin/ptxas", "own"});
    const Toolchain chain =
        detail::find_toolchain({first.path().string(), second.path().string()}, (second.path() / "own").string());
    EXPECT_EQ(chain.nvrtc.state, Tool::State::ok);
    EXPECT_EQ(chain.nvrtc.path, (second.path() / "lib/libnvrtc.so.13").string());
    EXPECT_EQ(chain.ptxas.path, (second.path() / "own").string());
    EXPECT_EQ(chain.headers.state, Tool::State::missing);
    EXPECT_NE(chain.headers.advice.find("./setup"), std::string::npos);
}

TEST(Toolchain, OlderToolkitIsUnusable) {
    const TemporaryFolder folder;
    make_files(folder.path(), {"lib64/libnvrtc.so.12"});
    const Toolchain chain = detail::find_toolchain({folder.path().string()}, "");
    EXPECT_EQ(chain.nvrtc.state, Tool::State::unusable);
    EXPECT_NE(chain.nvrtc.advice.find("13.x"), std::string::npos);
}

TEST(Toolchain, UnknownLibraryOfUsesIsAnError) { EXPECT_THROW(use_folders("boost"), Error); }

TEST(Toolchain, InspectNamesEachToolOnce) {
    const std::vector<Tool> tools = inspect_toolchain();
    ASSERT_EQ(tools.size(), 5u);
    for (const Tool& tool : tools) {
        EXPECT_EQ(tool.state == Tool::State::ok, tool.advice.empty()) << tool.name << tool.advice;
        EXPECT_EQ(tool.state == Tool::State::ok, !tool.version.empty()) << tool.name;
    }
}

}  // namespace
}  // namespace recuda
