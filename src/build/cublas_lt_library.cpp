#include "build/cublas_lt_library.h"

#include <filesystem>

#include "build/toolkit_places.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

/// The greatest version of libcublasLt below these roots, the first root first.
Tool find(const std::vector<std::string>& roots) {
    constexpr std::string_view kPrefix = "libcublasLt.so.";
    Tool tool{.name = "cuBLASLt",
              .advice = "only the baseline cublaslt needs it: install CUDA's libcublas, or pip install nvidia-cublas"};
    for (const std::string& root : roots)
        for (const fs::path& folder : library_folders(root)) {
            const std::string found = file_with_prefix(folder, kPrefix);
            if (found.empty()) continue;
            // "libcublasLt.so.13.0.2.14" tells more than the link "libcublasLt.so.13" to it.
            std::error_code failed;
            const fs::path real = fs::canonical(found, failed);
            const std::string name = (failed ? fs::path(found) : real).filename().string();
            return {.name = tool.name,
                    .state = Tool::State::ok,
                    .version = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : "",
                    .path = found,
                    .advice = {}};
        }
    return tool;
}

}  // namespace

const Tool& cublas_lt() {
    static const Tool library = [] {
        std::vector<std::string> roots = toolkit_roots();
        Tool found = find(roots);
        if (found.state == Tool::State::ok) return found;
        // Wheels for CUDA 13 share one folder; those for CUDA 12 have one each.
        for (const std::string_view name : {"cu13", "cublas"})
            for (std::string& root : site_packages_roots(name)) roots.push_back(std::move(root));
        return find(roots);
    }();
    return library;
}

}  // namespace recuda
