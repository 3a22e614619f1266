#include "device/cuda/print_capture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace recuda::cuda {
namespace {

constexpr uint64_t kKeptBytes = 64 << 10;

}  // namespace

PrintCapture::PrintCapture() {
    std::fflush(stdout);
    original_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    file_ = ::memfd_create("printed", MFD_CLOEXEC);
    if (original_ < 0 || file_ < 0 || ::dup2(file_, STDOUT_FILENO) < 0)
        throw Error("cannot redirect standard output: {}", std::strerror(errno));
}

PrintCapture::~PrintCapture() {
    std::fflush(stdout);
    ::dup2(original_, STDOUT_FILENO);
    ::close(original_);
    ::close(file_);
}

std::string PrintCapture::take() {
    std::fflush(stdout);
    const off_t size = ::lseek(file_, 0, SEEK_END);
    if (size <= 0) return "";
    std::string text(static_cast<size_t>(size), '\0');
    const ssize_t count = ::pread(file_, text.data(), text.size(), 0);
    text.resize(count < 0 ? 0 : static_cast<size_t>(count));
    if (::ftruncate(file_, 0) != 0) throw Error("cannot empty the file of printed text: {}", std::strerror(errno));
    ::lseek(file_, 0, SEEK_SET);
    return bounded(text, kKeptBytes);
}

}  // namespace recuda::cuda
