#include "build/cache.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "build/messages.h"

namespace recuda {
namespace {

constexpr std::string_view kHead = "recuda build 2\n";
constexpr size_t kDigestSize = 64;

/// Changes whenever what we make of the compilers' answers changes: screening, entries, resources.
constexpr int kMeaning = 1;

constexpr uint64_t kFileLimitBytes = uint64_t{1} << 30;

/// Over the key too: a file that was copied to another build's place is none of it.
std::string digest_of(const std::string& key, std::string_view body) {
    return sha256(fmt::format("{}\n{}", key, body));
}

}  // namespace

std::filesystem::path BuildCache::file_of(const std::string& key) const {
    return folder_ / key.substr(0, 2) / key.substr(2);
}

std::optional<BuildResult> BuildCache::find(const std::string& key) const {
    try {
        std::error_code ignored;
        if (!std::filesystem::exists(file_of(key), ignored)) return std::nullopt;
        const std::string text = read_file(file_of(key), kFileLimitBytes);
        const std::string_view body =
            std::string_view(text).substr(std::min(text.size(), kHead.size() + kDigestSize + 1));
        if (!text.starts_with(kHead) || text.compare(kHead.size(), kDigestSize, digest_of(key, body)) != 0)
            return std::nullopt;
        BuildResult result = unpacked_result(body);
        result.cached = true;
        return result;
    } catch (const Error&) {
        return std::nullopt;
    }
}

void BuildCache::keep(const std::string& key, const BuildResult& result) const {
    static std::atomic_flag warned;
    try {
        const std::string body = packed(result);
        make_folder(file_of(key).parent_path());
        write_atomically(file_of(key), fmt::format("{}{}\n{}", kHead, digest_of(key, body), body));
    } catch (const Error& error) {
        if (!warned.test_and_set()) fmt::print(stderr, "cuda-rlm: warning: builds are not cached: {}\n", error.what());
    }
}

std::string build_key(const BuildRequest& request, const std::string& compiler) {
    nlohmann::json kernels = nlohmann::json::array();
    for (const TritonKernel& kernel : request.kernels) {
        nlohmann::json arguments = nlohmann::json::array();
        for (const auto& a : kernel.arguments) arguments.push_back({a.name, a.type, a.constant, a.divisible_by_16});
        kernels.push_back({kernel.function, arguments, kernel.num_warps, kernel.num_stages, kernel.num_ctas});
    }
    const nlohmann::json all = {kMeaning,          static_cast<int>(request.language),
                                request.source,    request.file,
                                request.target,    request.defines,
                                request.uses,      kernels,
                                request.candidate, request.cubin,
                                compiler};
    std::string bytes;
    nlohmann::json::to_cbor(all, bytes);
    return sha256(bytes);
}

}  // namespace recuda
