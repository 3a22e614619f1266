// Memory that parent and worker both map: tensors travel through it, since a pipe moves 0.5 GB/s (measured beside an
// H200) and two memory copies several times that.
#pragma once

#include <cstddef>
#include <span>

namespace recuda::cuda {

class SharedMemory {
 public:
    SharedMemory() = default;
    /// New memory of `bytes`; throws Error when the system refuses.
    static SharedMemory create(size_t bytes);
    /// Maps what `create` made, given its descriptor as a child process has inherited it.
    static SharedMemory inherited(int descriptor, size_t bytes);
    SharedMemory(SharedMemory&& other) noexcept;
    SharedMemory& operator=(SharedMemory&& other) noexcept;
    ~SharedMemory();

    std::span<std::byte> bytes() const { return bytes_; }
    int descriptor() const { return descriptor_; }
    /// Whether programs started from now on get the descriptor.
    void set_inheritable(bool inheritable) const;

 private:
    SharedMemory(int descriptor, size_t bytes);
    int descriptor_ = -1;
    std::span<std::byte> bytes_;
};

}  // namespace recuda::cuda
