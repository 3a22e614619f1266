#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

std::string reason() { return std::strerror(errno); }

/// Owns a descriptor for the length of a scope.
struct Descriptor {
    int value;
    ~Descriptor() {
        if (value >= 0) ::close(value);
    }
};

void write_all(int descriptor, std::string_view text, const fs::path& path) {
    while (!text.empty()) {
        const ssize_t count = ::write(descriptor, text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw Error("cannot write {}: {}", shown(path), reason());
        text.remove_prefix(static_cast<size_t>(count));
    }
}

}  // namespace

std::string shown(const fs::path& path) { return valid_utf8(path.native()); }

namespace {

std::string read_opened(const fs::path& path, int flags, uint64_t limit_bytes) {
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags)};
    if (file.value < 0) throw Error("cannot read {}: {}", shown(path), errno == ELOOP ? "it is a link" : reason());
    struct stat facts {};
    if (::fstat(file.value, &facts) != 0) throw Error("cannot read {}: {}", shown(path), reason());
    if (S_ISDIR(facts.st_mode)) throw Error("cannot read {}: it is a folder", shown(path));
    if (flags != 0 && !S_ISREG(facts.st_mode)) throw Error("cannot read {}: it is no regular file", shown(path));
    std::string text;
    if (S_ISREG(facts.st_mode)) text.reserve(static_cast<size_t>(facts.st_size));
    char part[1 << 16];
    while (true) {
        const ssize_t count = ::read(file.value, part, sizeof part);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw Error("cannot read {}: {}", shown(path), reason());
        if (count == 0) return text;
        text.append(part, static_cast<size_t>(count));
        if (text.size() > limit_bytes)
            throw Error("cannot read {}: it is larger than {} bytes", shown(path), limit_bytes);
    }
}

}  // namespace

std::string read_file(const fs::path& path, uint64_t limit_bytes) { return read_opened(path, 0, limit_bytes); }

std::string read_own_file(const fs::path& path, uint64_t limit_bytes) {
    return read_opened(path, O_NOFOLLOW | O_NONBLOCK, limit_bytes);
}

void write_atomically(const fs::path& path, std::string_view text) {
    std::string temporary = path.native() + ".XXXXXX";
    Descriptor file{::mkostemp(temporary.data(), O_CLOEXEC)};
    if (file.value < 0) throw Error("cannot write {}: {}", shown(path), reason());
    try {
        write_all(file.value, text, path);
        if (::fchmod(file.value, 0644) != 0 || ::fsync(file.value) != 0 ||
            ::close(std::exchange(file.value, -1)) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0)
            throw Error("cannot write {}: {}", shown(path), reason());
    } catch (...) {
        ::unlink(temporary.c_str());
        throw;
    }
}

void append_line(const fs::path& path, std::string_view line) {
    const Descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)};
    if (file.value < 0) throw Error("cannot write {}: {}", shown(path), reason());
    const off_t before = ::lseek(file.value, 0, SEEK_END);
    try {
        write_all(file.value, std::string(line) + "\n", path);
        if (::fdatasync(file.value) != 0) throw Error("cannot write {}: {}", shown(path), reason());
    } catch (...) {
        if (before >= 0 && ::ftruncate(file.value, before) != 0) { /* the reader drops a torn last line */
        }
        throw;
    }
}

void make_folder(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) throw Error("cannot create the folder {}: {}", shown(path), error.message());
    if (!fs::is_directory(path, error)) throw Error("{} is not a folder", shown(path));
    if (::access(path.c_str(), W_OK | X_OK) != 0)
        throw Error("cannot write to the folder {}: {}", shown(path), reason());
}

FileLock::FileLock(const fs::path& path, Wait wait)
    : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) throw Error("cannot lock {}: {}", shown(path), reason());
    const int how = LOCK_EX | (wait == Wait::never ? LOCK_NB : 0);
    while (::flock(descriptor_, how) != 0) {
        if (errno == EINTR) continue;
        const int why = errno;
        ::close(std::exchange(descriptor_, -1));
        if (wait == Wait::never && why == EWOULDBLOCK) return;
        throw Error("cannot lock {}: {}", shown(path), std::strerror(why));
    }
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

TemporaryFolder::TemporaryFolder(std::string_view prefix) {
    std::string name = (fs::temp_directory_path() / (std::string(prefix) + "-XXXXXX")).native();
    if (::mkdtemp(name.data()) == nullptr) throw Error("cannot create a temporary folder {}: {}", name, reason());
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

}  // namespace recuda
