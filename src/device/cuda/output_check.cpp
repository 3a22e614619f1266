#include "device/cuda/output_check.h"

#include <algorithm>

namespace recuda::cuda {

OutputCheck::OutputCheck(const Driver& driver, CUstream stream, const GuardedMemory& memory, OwnKernels& kernels,
                         const TimingRequest& request)
    : driver_(driver),
      stream_(stream),
      kernels_(kernels),
      poison_(std::to_integer<unsigned char>(request.poison)),
      sweeps_(request.cold) {
    if (!request.outputs.empty() && request.outputs.size() != request.sequences.size())
        throw Error("a timing request of {} sequences has outputs of {}", request.sequences.size(),
                    request.outputs.size());
    for (const std::vector<TimedOutput>& wanted : request.outputs) {
        std::vector<Wanted>& of_sequence = outputs_.emplace_back();
        for (const TimedOutput& output : wanted) {
            const CUdeviceptr original = output.original ? memory.extent(*output.original).address : 0;
            if (output.original && output.original->bytes != output.region.bytes)
                throw Error("a timed output of {} bytes has an original of {}", output.region.bytes,
                            output.original->bytes);
            of_sequence.push_back({memory.extent(output.region), output.hash, original});
        }
    }
    for (const BufferId buffer : request.poisoned)
        poisoned_.push_back({memory.at(buffer).address, memory.at(buffer).bytes});
}

CUresult OutputCheck::reset(size_t first, size_t count) {
    CUresult result = CUDA_SUCCESS;
    const auto poison = [&](const Extent& extent) {
        if (result == CUDA_SUCCESS && extent.bytes > 0)
            result = driver_.cuMemsetD8Async(extent.address, poison_, extent.bytes, stream_);
    };
    for (size_t i = 0; i < std::min(count, outputs_.size()); ++i)
        for (const Wanted& wanted : of(first + i)) {
            if (wanted.original == 0)
                poison(wanted.extent);
            else if (result == CUDA_SUCCESS && wanted.extent.bytes > 0)
                result =
                    driver_.cuMemcpyDtoDAsync(wanted.extent.address, wanted.original, wanted.extent.bytes, stream_);
        }
    for (const Extent& extent : poisoned_) poison(extent);
    if (result == CUDA_SUCCESS && sweeps_) result = kernels_.sweep();
    return result == CUDA_SUCCESS ? driver_.cuStreamSynchronize(stream_) : result;
}

CUresult OutputCheck::check(size_t first, size_t count, std::optional<uint32_t>& wrong) {
    std::vector<Extent> extents;
    for (size_t i = 0; i < std::min(count, outputs_.size()); ++i)
        for (const Wanted& wanted : of(first + i)) extents.push_back(wanted.extent);
    std::vector<uint64_t> found;
    const CUresult result = kernels_.hash(extents, found);
    if (result != CUDA_SUCCESS) return result;
    size_t next = 0;
    for (size_t i = 0; i < std::min(count, outputs_.size()); ++i)
        for (const Wanted& wanted : of(first + i))
            if (found[next++] != wanted.hash && !wrong) wrong = static_cast<uint32_t>((first + i) % outputs_.size());
    return CUDA_SUCCESS;
}

}  // namespace recuda::cuda
