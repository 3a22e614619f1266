// Finished builds on disk, one file each, named by the digest of everything that decides a build.
//
// Format: "recuda build 2\n", the SHA-256 of name and rest in hexadecimal, "\n", then the result as messages.h packs
// it. Files are written whole or not at all, so many processes may share the folder; one whose digest is wrong counts
// as absent.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "build/builder.h"

namespace recuda {

class BuildCache {
 public:
    explicit BuildCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

    std::optional<BuildResult> find(const std::string& key) const;

    /// Keeps a result. A folder that cannot be written to costs one warning on stderr a process and nothing else.
    void keep(const std::string& key, const BuildResult& result) const;

 private:
    std::filesystem::path file_of(const std::string& key) const;
    std::filesystem::path folder_;
};

/// The digest of the request and of `compiler`, which names the compilers and their versions.
std::string build_key(const BuildRequest& request, const std::string& compiler);

}  // namespace recuda
