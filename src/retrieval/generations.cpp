#include "retrieval/generations.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

constexpr char kFormat[] = "cuda-rlm kernel index";
constexpr int64_t kVersion = 2;
constexpr char kGeneration[] = "g-";
constexpr char kEngineLock[] = "flintlock";  // Xapian's lock file, empty
constexpr uint64_t kLargestDescription = 1 << 16;
constexpr uint64_t kAlwaysRead = uint64_t{32} << 20;  // 20 ms of SHA-256

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(path, ignored));
}

bool is_ours(const std::string& name) {
    return name == ".lock" || name.starts_with(kGeneration) || name.starts_with("index.json");
}

struct FileState {
    uint64_t bytes = 0;
    int64_t changed_ns = 0;
};

FileState state_of(const fs::path& file) {
    struct stat found {};
    if (::stat(file.c_str(), &found) != 0) throw Error("{} is missing", shown(file.filename()));
    return {.bytes = static_cast<uint64_t>(found.st_size),
            .changed_ns = int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec};
}

Json description_of(const fs::path& generation) {
    Json files = Json::array();
    for (const auto& entry : fs::directory_iterator(generation)) {
        const std::string name = entry.path().filename().string();
        if (name == kEngineLock) continue;
        const FileState state = state_of(entry.path());
        files.push_back({{"name", name},
                         {"bytes", state.bytes},
                         {"changed_ns", state.changed_ns},
                         {"sha256", sha256(read_file(entry.path()))}});
    }
    return {{"format", kFormat}, {"version", kVersion}, {"database", generation.filename().string()}, {"files", files}};
}

void check_files(const fs::path& generation, const Json& files) {
    uint64_t bytes = 0;
    for (const Json& file : files) bytes += file.at("bytes").get<uint64_t>();
    for (const Json& file : files) {
        const std::string name = file.at("name");
        if (name.find('/') != std::string::npos) throw Error("index.json names a file elsewhere");
        const FileState state = state_of(generation / name);
        if (state.bytes != file.at("bytes")) throw Error("{} has {} bytes", name, state.bytes);
        const bool same = bytes > kAlwaysRead && state.changed_ns == file.at("changed_ns");
        if (!same && sha256(read_file(generation / name)) != file.at("sha256")) throw Error("{} was changed", name);
    }
}

/// nullopt for a description of another version.
std::optional<fs::path> generation_in(const fs::path& folder, const Json& json) {
    if (!json.is_object() || json.value("format", "") != kFormat) throw Error("index.json is of something else");
    if (json.value("version", int64_t{0}) != kVersion) return std::nullopt;
    const std::string database = json.at("database");
    if (!database.starts_with(kGeneration) || database.find('/') != std::string::npos)
        throw Error("index.json names no database");
    check_files(folder / database, json.at("files"));
    return folder / database;
}

}  // namespace

Error damaged_index(const fs::path& folder, const std::string& why) {
    return Error("the kernel index {} is damaged ({}); `cuda-rlm index build` makes it anew", shown(folder),
                 one_line(why, 200));
}

void refuse_foreign_folder(const fs::path& folder) {
    if (!is_there(folder)) return;
    std::error_code problem;
    if (!fs::is_directory(folder, problem))
        throw Error("{} is no folder: a kernel index cannot be kept there", shown(folder));
    for (const auto& entry : fs::directory_iterator(folder, problem))
        if (!is_ours(entry.path().filename().string()))
            throw Error("{} holds {}, which is no part of a kernel index; move it away first", shown(folder),
                        shown(entry.path().filename()));
    if (problem) throw Error("cannot read {}: {}", shown(folder), problem.message());
}

std::optional<fs::path> current_generation(const fs::path& folder) {
    if (!is_there(folder / "index.json")) {
        refuse_foreign_folder(folder);
        throw Error("there is no kernel index {}; `cuda-rlm index build` makes one", shown(folder));
    }
    for (std::string before;;) {
        std::string description;
        try {
            description = read_file(folder / "index.json", kLargestDescription);
            return generation_in(folder, parse_json(description, "index.json"));
        } catch (const std::exception& error) {
            // Another process may have put the next generation in use meanwhile and taken this one away.
            if (description == before) throw damaged_index(folder, error.what());
            before = std::move(description);
        }
    }
}

fs::path new_generation(const fs::path& folder) {
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    return folder / (kGeneration + sha256(std::to_string(now) + " " + std::to_string(::getpid())).substr(0, 12));
}

void publish_generation(const fs::path& folder, const fs::path& generation) {
    write_atomically(folder / "index.json", dump(description_of(generation)) + "\n");
    remove_other_generations(folder, generation);
}

void remove_other_generations(const fs::path& folder, const fs::path& generation) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored))
        if (entry.path().filename().string().starts_with(kGeneration) && entry.path() != generation)
            fs::remove_all(entry.path(), ignored);
}

}  // namespace recuda
