#include "device/cuda/mapped_memory.h"

#include <algorithm>

namespace recuda::cuda {
namespace {

// Addresses cost nothing, and the farther the next mapping the better: a search of some megabytes must not jump over.
constexpr uint64_t kMarginBytes = uint64_t{64} << 20;

uint64_t rounded_up(uint64_t bytes, uint64_t step) { return (bytes + step - 1) / step * step; }

}  // namespace

MappedMemory& MappedMemory::operator=(MappedMemory&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(reserved_, other.reserved_);
    std::swap(margin_, other.margin_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_, other.mapped_);
    return *this;
}

CUresult MappedMemory::map(const Driver& driver, uint64_t bytes, MappedMemory& memory) {
    MappedMemory made;
    made.driver_ = &driver;
    CUdevice device = 0;
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    size_t page = 0;
    CUresult result = driver.cuCtxGetDevice(&device);
    properties.location.id = device;
    if (result == CUDA_SUCCESS)
        result = driver.cuMemGetAllocationGranularity(&page, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (result != CUDA_SUCCESS) return result;
    made.bytes_ = rounded_up(std::max<uint64_t>(bytes, 1), page);
    made.margin_ = rounded_up(kMarginBytes, page);
    result = driver.cuMemAddressReserve(&made.reserved_, made.bytes_ + 2 * made.margin_, 0, 0, 0);
    if (result != CUDA_SUCCESS) {
        made.driver_ = nullptr;
        return result;
    }
    CUmemGenericAllocationHandle pages = 0;
    result = driver.cuMemCreate(&pages, made.bytes_, &properties, 0);
    if (result != CUDA_SUCCESS) return result;
    result = driver.cuMemMap(made.address(), made.bytes_, 0, pages, 0);
    made.mapped_ = result == CUDA_SUCCESS;
    driver.cuMemRelease(pages);  // the mapping keeps them
    CUmemAccessDesc access{};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (result == CUDA_SUCCESS) result = driver.cuMemSetAccess(made.address(), made.bytes_, &access, 1);
    if (result == CUDA_SUCCESS) memory = std::move(made);
    return result;
}

void MappedMemory::unmap() {
    if (driver_ == nullptr) return;
    if (mapped_) driver_->cuMemUnmap(address(), bytes_);
    driver_->cuMemAddressFree(reserved_, bytes_ + 2 * margin_);
    driver_ = nullptr;
}

}  // namespace recuda::cuda
