#include "device/cuda/lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/worker_process.h"
#include "device/cuda/cuda.h"
#include "device/cuda/wire.h"

namespace recuda::cuda {
namespace {

constexpr size_t kShownBytes = 200;

/// Opened for every user: others must be able to lock it too. A link in its place is not followed.
int open_file(const std::filesystem::path& path) {
    // Without O_CREAT first: systems refuse to "create" another user's file in a shared folder.
    int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0 && errno == ENOENT) {
        descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (descriptor >= 0) ::fchmod(descriptor, 0666);
    }
    return descriptor;
}

/// "4711 cuda-rlm run --task …".
std::string words_of(int owner) {
    std::ifstream file(fmt::format("/proc/{}/cmdline", owner), std::ios::binary);
    std::string words(std::istreambuf_iterator<char>(file), {});
    for (char& c : words)
        if (c == '\0') c = ' ';
    return fmt::format("{} {}", owner, trimmed(words.substr(0, kShownBytes)));
}

std::string content_of(int descriptor) {
    std::array<char, 256> text{};
    const ssize_t bytes = ::pread(descriptor, text.data(), text.size(), 0);
    return std::string(text.data(), static_cast<size_t>(std::max<ssize_t>(0, bytes)));
}

int owner_in(const std::string& content) {
    int owner = 0;
    std::from_chars(content.data(), content.data() + content.size(), owner);
    return owner;
}

/// "process 4711 (cuda-rlm run)" of "4711 cuda-rlm run". What others wrote is made safe to print.
std::string shown_holder(const std::string& content) {
    const int owner = owner_in(content);
    if (owner <= 0) return "another process";
    const size_t space = content.find(' ');
    std::string words = space == std::string::npos ? "" : std::string(trimmed(content.substr(space)));
    for (char& c : words)
        if (c < ' ' || c == '\x7f') c = '?';
    return words.empty() ? fmt::format("process {}", owner) : fmt::format("process {} ({})", owner, valid_utf8(words));
}

void write_content(int descriptor, const std::string& content) {
    // Only told to people: the lock itself is what counts.
    if (::ftruncate(descriptor, 0) == 0 && ::pwrite(descriptor, content.data(), content.size(), 0) < 0) return;
}

}  // namespace

std::filesystem::path lease_path(const std::string& uuid) {
    return fmt::format("/tmp/cuda-rlm-{}.lock", uuid.empty() ? "GPU" : uuid);
}

Lease::Lease(Lease&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

Lease::~Lease() {
    if (descriptor_ < 0) return;
    write_content(descriptor_, "");
    ::close(descriptor_);
}

std::optional<Lease> Lease::take(const std::filesystem::path& path, int owner, std::string& held_by) {
    Lease lease(open_file(path));
    if (lease.descriptor_ < 0)
        throw Error("cannot open the GPU's lock file {}: {}", path.string(), std::strerror(errno));
    if (::flock(lease.descriptor_, LOCK_EX | LOCK_NB) == 0) {
        write_content(lease.descriptor_, words_of(owner));
        held_by.clear();
        return lease;
    }
    const std::string content = content_of(lease.descriptor_);
    ::close(std::exchange(lease.descriptor_, -1));
    if (owner_in(content) == owner) {
        held_by.clear();
        return lease;
    }
    held_by = shown_holder(content);
    return std::nullopt;
}

std::string lease_holder(const std::filesystem::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) return "";
    const bool held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0;
    const std::string holder = held ? shown_holder(content_of(descriptor)) : "";
    ::close(descriptor);
    return holder;
}

bool await_lease(int in, int out, const std::filesystem::path& path, int owner, Lease& lease) {
    constexpr int kTries = 10;
    constexpr std::chrono::milliseconds kPause{50};
    while (read_message(in)) {
        std::string held_by;
        std::optional<Lease> taken;
        for (int i = 0; i < kTries && !taken; ++i) {
            if (i > 0) std::this_thread::sleep_for(kPause);
            taken = Lease::take(path, owner, held_by);
        }
        write_message(out, packed({{"held_by", json_text(held_by)}}));
        if (!taken) continue;
        lease = std::move(*taken);
        return true;
    }
    return false;
}

}  // namespace recuda::cuda

namespace recuda {

std::string cuda_holder(const std::string& uuid) { return cuda::lease_holder(cuda::lease_path(uuid)); }

}  // namespace recuda
