#include "build/toolchain.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "build/nvrtc.h"
#include "build/toolkit_places.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNvrtcLibrary = "libnvrtc.so.13";
constexpr std::string_view kAdvice = "run ./setup, or set CUDA_HOME to a CUDA toolkit 13.x";

std::vector<fs::path> header_folders(const fs::path& root) {
    return {root / "include", root / "targets/x86_64-linux/include", root / "targets/sbsa-linux/include"};
}

void find_nvrtc(const fs::path& root, Toolchain& chain) {
    for (const fs::path& folder : library_folders(root)) {
        const fs::path library = folder / kNvrtcLibrary;
        if (is_file(library)) {
            chain.nvrtc = {
                .name = "NVRTC", .state = Tool::State::ok, .version = {}, .path = library.string(), .advice = {}};
            chain.nvrtc_builtins = file_with_prefix(folder, "libnvrtc-builtins.so.13");
            return;
        }
        // An older toolkit is worth a word, but the search goes on.
        if (const std::string other = file_with_prefix(folder, "libnvrtc.so.");
            !other.empty() && chain.nvrtc.path.empty()) {
            chain.nvrtc.state = Tool::State::unusable;
            chain.nvrtc.path = other;
            chain.nvrtc.advice = fmt::format("this is not CUDA 13.x; {}", kAdvice);
        }
    }
}

void find_headers(const fs::path& root, Toolchain& chain) {
    for (const fs::path& folder : header_folders(root)) {
        if (!is_file(folder / "cuda_bf16.h") || !is_file(folder / "cuda_runtime.h")) continue;
        chain.headers = {
            .name = "CUDA headers", .state = Tool::State::ok, .version = {}, .path = folder.string(), .advice = {}};
        chain.include_folders = {folder.string()};
        if (fs::is_directory(folder / "cccl")) chain.include_folders.push_back((folder / "cccl").string());
        return;
    }
}

void find_ptxas(const fs::path& program, Toolchain& chain) {
    if (is_program(program))
        chain.ptxas = {
            .name = "ptxas", .state = Tool::State::ok, .version = {}, .path = program.string(), .advice = {}};
}

Toolchain look() {
    std::vector<std::string> roots = toolkit_roots();
    const std::string ptxas = environment("TRITON_PTXAS_PATH");
    Toolchain chain = detail::find_toolchain(roots, ptxas);
    if (chain.nvrtc.state == Tool::State::ok && chain.headers.state == Tool::State::ok) return chain;
    for (std::string& root : site_packages_roots("cu13")) roots.push_back(std::move(root));
    return detail::find_toolchain(roots, ptxas);
}

constexpr const char* kAskPython =
    "import json, os, sys, importlib.metadata as m, importlib.util as u\n"
    "s = u.find_spec('triton')\n"
    "print(json.dumps({'version': m.version('triton'), 'executable': sys.executable, 'folders': [sys.prefix, "
    "sys.base_prefix, sys.exec_prefix,\n"
    "  os.path.dirname(os.path.realpath(sys.executable)), os.path.dirname(os.path.dirname(s.origin))] + sys.path}))\n";

/// What an interpreter says of its Triton; nothing where it has none.
std::optional<TritonPython> ask_python(const std::string& interpreter) {
    try {
        const ProcessResult told = run_process({interpreter, "-c", kAskPython},
                                               {.input = {}, .deadline_s = 30, .environment = {}, .folder = "/"});
        if (told.status != 0) return std::nullopt;
        const auto json = nlohmann::json::parse(told.out);
        TritonPython python{.interpreter = json.at("executable"), .version = json.at("version"), .folders = {}};
        for (std::string folder : json.at("folders"))
            if (folder.starts_with('/') && std::ranges::find(python.folders, folder) == python.folders.end())
                python.folders.push_back(std::move(folder));
        return python;
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

std::optional<TritonPython> look_for_triton() {
    if (const fs::path deps = deps_folder("triton"); !deps.empty())
        if (const fs::path python = deps / "bin/python3"; is_program(python))
            if (auto found = ask_python(python.string())) return found;
    return ask_python("python3");
}

/// The three-part version in a tool's talk: "… release 13.0, V13.0.88" gives 13.0.88.
std::string version_in(std::string_view text) {
    const size_t at = text.find(", V");
    if (at == std::string_view::npos) return "";
    const std::string_view rest = text.substr(at + 3);
    return std::string(rest.substr(0, rest.find_first_not_of("0123456789.")));
}

void ask_nvrtc_version(Tool& tool, const std::string& builtins) {
    try {
        // Never closed: NVRTC keeps memory for its lifetime that nobody could free after it.
        static const Nvrtc* const nvrtc = new Nvrtc(tool.path, builtins);
        tool.version = version_in(nvrtc->banner());
    } catch (const Error& error) {
        tool.state = Tool::State::unusable;
        tool.advice = fmt::format("{}; {}", error.what(), kAdvice);
    }
}

void ask_ptxas_version(Tool& tool) {
    try {
        tool.version = version_in(
            run_process({tool.path, "--version"}, {.input = {}, .deadline_s = 10, .environment = {}, .folder = {}})
                .out);
    } catch (const Error& error) {
        tool.advice = error.what();
    }
    if (tool.version.empty()) tool.state = Tool::State::unusable;
}

/// CUDA_VERSION of cuda.h, 13000, as "13.0".
std::string header_version(const std::string& folder) {
    std::ifstream header(fs::path(folder) / "cuda.h");
    constexpr std::string_view kDefine = "#define CUDA_VERSION ";
    for (std::string line; std::getline(header, line);)
        if (line.starts_with(kDefine)) {
            const int number = std::atoi(line.c_str() + kDefine.size());
            return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
        }
    return "";
}

}  // namespace

namespace detail {

Toolchain find_toolchain(const std::vector<std::string>& roots, const std::string& ptxas) {
    const std::string advice(kAdvice);
    Toolchain chain{.nvrtc = {.name = "NVRTC", .version = {}, .path = {}, .advice = advice},
                    .headers = {.name = "CUDA headers", .version = {}, .path = {}, .advice = advice},
                    .ptxas = {.name = "ptxas", .version = {}, .path = {}, .advice = advice},
                    .include_folders = {},
                    .nvrtc_builtins = {}};
    if (!ptxas.empty()) find_ptxas(ptxas, chain);
    for (const std::string& root : roots) {
        if (chain.nvrtc.state != Tool::State::ok) find_nvrtc(root, chain);
        if (chain.headers.state != Tool::State::ok) find_headers(root, chain);
        if (chain.ptxas.state != Tool::State::ok) find_ptxas(fs::path(root) / "bin/ptxas", chain);
    }
    return chain;
}

}  // namespace detail

const Toolchain& toolchain() {
    static const Toolchain chain = look();
    return chain;
}

const TritonPython* triton_python() {
    static const std::optional<TritonPython> python = look_for_triton();
    return python ? &*python : nullptr;
}

std::vector<std::string> use_folders(std::string_view name) {
    if (name != "cutlass") throw Error("unknown library '{}' in `uses`: cutlass is the only one", name);
    std::vector<fs::path> candidates;
    if (const std::string chosen = environment("CUTLASS_PATH"); !chosen.empty()) candidates.emplace_back(chosen);
    if (const fs::path deps = deps_folder("cutlass"); !deps.empty()) candidates.push_back(deps);
    for (const fs::path& root : candidates) {
        if (!is_file(root / "include/cutlass/cutlass.h")) continue;
        return {(root / "include").string(), (root / "tools/util/include").string()};
    }
    throw Error("CUTLASS's headers are missing: run ./setup, or set CUTLASS_PATH to a CUTLASS source folder");
}

std::string fingerprint(const std::string& path) {
    std::error_code ignored;
    const fs::path real = fs::canonical(path, ignored);
    const auto size = fs::file_size(real, ignored);
    const auto time = fs::last_write_time(real, ignored).time_since_epoch().count();
    return fmt::format("{} {} {}", shown(real), size, time);
}

std::vector<Tool> inspect_toolchain() {
    Toolchain chain = toolchain();
    if (chain.nvrtc.state == Tool::State::ok) ask_nvrtc_version(chain.nvrtc, chain.nvrtc_builtins);
    if (chain.headers.state == Tool::State::ok) chain.headers.version = header_version(chain.headers.path);
    if (chain.ptxas.state == Tool::State::ok) ask_ptxas_version(chain.ptxas);
    Tool triton{
        .name = "Triton", .version = {}, .path = {}, .advice = "run ./setup, or install triton for python3 with pip"};
    if (const TritonPython* python = triton_python())
        triton = {.name = "Triton",
                  .state = Tool::State::ok,
                  .version = python->version,
                  .path = python->interpreter,
                  .advice = {}};
    return {chain.nvrtc, chain.headers, chain.ptxas, triton};
}

}  // namespace recuda
