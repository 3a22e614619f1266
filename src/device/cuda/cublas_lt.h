// NVIDIA's cuBLASLt, opened at run time in the worker: matrix products beside our launches.
//
// Only the C interface that "cuBLASLt" in NVIDIA's cuBLAS documentation describes is used, so every version from 12 on
// serves. The library finds the context that is current in this thread.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/dynamic_library.h"
#include "device/cuda/driver.h"
#include "device/matrix_product.h"

namespace recuda::cuda {

struct CublasLtApi;

class CublasLt;

/// A product with addresses: enqueueing it cannot fail for our reasons.
struct PreparedProduct {
    const CublasLt* library = nullptr;  // outlives it, and so does the shape
    const void* shape = nullptr;
    std::array<uint64_t, 8> algorithm{};
    CUdeviceptr left = 0, right = 0, result = 0, workspace = 0;
    uint64_t workspace_bytes = 0;
};

class CublasLt {
 public:
    /// Opens the library at `path`; throws Error with the reason where it does not serve this GPU.
    explicit CublasLt(const std::string& path);
    ~CublasLt();
    CublasLt(const CublasLt&) = delete;

    /// The `most` that the library's heuristics prefer, none of which needs more workspace than `workspace_limit`.
    ProductAlgorithms algorithms(const MatrixProduct& product, uint32_t most, uint64_t workspace_limit);

    /// Addresses are left to the caller. Throws Error for a product that cannot be described.
    PreparedProduct prepare(const MatrixProduct& product);
    CUresult enqueue(const PreparedProduct& product, CUstream stream) const;

 private:
    struct Shape;
    const Shape& shape(const MatrixProduct& product);

    std::unique_ptr<CublasLtApi> api_;
    void* handle_ = nullptr;
    std::map<std::string, std::unique_ptr<Shape>> shapes_;
};

}  // namespace recuda::cuda
