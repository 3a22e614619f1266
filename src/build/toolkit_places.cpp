#include "build/toolkit_places.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/paths.h"
#include "base/process.h"
#include "base/text.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

/// Folders at or above the program, and the home folder: where .deps may lie.
std::vector<fs::path> folders_with_deps() {
    std::vector<fs::path> folders;
    for (fs::path folder = fs::path(this_program()).parent_path();; folder = folder.parent_path()) {
        folders.push_back(folder);
        if (folder == folder.parent_path()) break;
    }
    try {
        folders.push_back(home_folder());
    } catch (const Error&) {
        // Without a catalogue there is one place less to look in; what needs the catalogue says so itself.
    }
    return folders;
}

}  // namespace

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool is_file(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
}

bool is_program(const fs::path& path) { return is_file(path) && ::access(path.c_str(), X_OK) == 0; }

std::vector<std::string> toolkit_roots() {
    std::vector<std::string> roots;
    if (const std::string home = environment("CUDA_HOME"); !home.empty()) roots.push_back(home);
    roots.push_back("/usr/local/cuda");
    if (const fs::path deps = deps_folder("cuda"); !deps.empty()) roots.push_back(deps.string());
    return roots;
}

std::vector<std::string> site_packages_roots(std::string_view name) {
    std::vector<std::string> roots;
    try {
        const ProcessResult listed = run_process({"python3", "-c", "import sys; print('\\n'.join(sys.path))"},
                                                 {.input = {}, .deadline_s = 10, .environment = {}, .folder = "/"});
        for (std::string_view folder : split_lines(listed.out)) {
            const fs::path root = fs::path(folder) / "nvidia" / name;
            if (std::error_code ignored; !folder.empty() && fs::is_directory(root, ignored))
                roots.push_back(root.string());
        }
    } catch (const Error&) {
        // No python3, no site-packages.
    }
    return roots;
}

fs::path deps_folder(std::string_view name) {
    for (const fs::path& folder : folders_with_deps())
        if (std::error_code ignored; fs::is_directory(folder / ".deps" / name, ignored)) return folder / ".deps" / name;
    return {};
}

std::vector<fs::path> library_folders(const fs::path& root) {
    return {root / "lib64",
            root / "lib",
            root / "targets/x86_64-linux/lib",
            root / "targets/sbsa-linux/lib",
            root / "lib/x86_64-linux-gnu",
            root / "lib/aarch64-linux-gnu"};
}

std::string file_with_prefix(const fs::path& folder, std::string_view prefix) {
    std::string found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(prefix) && name.find(".alt.") == std::string::npos)
            found = std::max(found, entry.path().string());
    }
    return found;
}

}  // namespace recuda
