#include "device/cuda/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace recuda::cuda {

SharedMemory::SharedMemory(int descriptor, size_t bytes) : descriptor_(descriptor) {
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED) {
        const int why = errno;
        ::close(descriptor);
        throw Error("cannot map memory shared with a worker: {}", std::strerror(why));
    }
    bytes_ = {static_cast<std::byte*>(mapped), bytes};
}

SharedMemory SharedMemory::create(size_t bytes) {
    const int descriptor = ::memfd_create("tensors", MFD_CLOEXEC);
    if (descriptor < 0) throw Error("cannot make memory shared with a worker: {}", std::strerror(errno));
    if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
        const int why = errno;
        ::close(descriptor);
        throw Error("cannot make memory shared with a worker: {}", std::strerror(why));
    }
    return SharedMemory(descriptor, bytes);
}

SharedMemory SharedMemory::inherited(int descriptor, size_t bytes) { return SharedMemory(descriptor, bytes); }

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(std::exchange(other.bytes_, {})) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

SharedMemory::~SharedMemory() {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
    if (descriptor_ >= 0) ::close(descriptor_);
}

void SharedMemory::set_inheritable(bool inheritable) const {
    ::fcntl(descriptor_, F_SETFD, inheritable ? 0 : FD_CLOEXEC);
}

}  // namespace recuda::cuda
