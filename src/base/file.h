// Files: whole reads, atomic writes, appended lines, locks between processes. Errors name the path and what to do.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace recuda {

/// The whole file; throws Error when it is missing, a folder, unreadable or larger than `limit_bytes`.
std::string read_file(const std::filesystem::path& path, uint64_t limit_bytes = uint64_t{1} << 32);

/// The same of a file that lies in a folder which others may have filled: a link is not followed, and nothing but a
/// regular file is read.
std::string read_own_file(const std::filesystem::path& path, uint64_t limit_bytes = uint64_t{1} << 32);

/// Writes through a temporary file in the same folder and a rename: readers see the old text or the new one, never a
/// part.
void write_atomically(const std::filesystem::path& path, std::string_view text);

/// Appends `line` and a newline with one write and waits until it is on the disk. A line that did not fit is taken back
/// whole.
void append_line(const std::filesystem::path& path, std::string_view line);

/// Creates the folder and its parents; throws Error when something else is in the way or it cannot be written to.
void make_folder(const std::filesystem::path& path);

/// A path as text for messages and JSON: bytes that are not UTF-8 are replaced.
std::string shown(const std::filesystem::path& path);

/// An exclusive lock between processes on a file, held until destruction. The file is created and stays.
class FileLock {
 public:
    enum class Wait { forever, never };
    explicit FileLock(const std::filesystem::path& path, Wait wait = Wait::forever);
    FileLock(FileLock&& other) noexcept;
    FileLock& operator=(FileLock&&) = delete;
    ~FileLock();
    bool held() const { return descriptor_ >= 0; }

 private:
    int descriptor_ = -1;
};

/// A folder of its own below the system's temporary folder, removed with everything in it on destruction.
class TemporaryFolder {
 public:
    explicit TemporaryFolder(std::string_view prefix = "recuda");
    TemporaryFolder(const TemporaryFolder&) = delete;
    ~TemporaryFolder();
    const std::filesystem::path& path() const { return path_; }

 private:
    std::filesystem::path path_;
};

}  // namespace recuda
