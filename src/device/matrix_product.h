// A matrix product that a vendor's library computes: what a baseline launches where a candidate launches a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace recuda {

/// result[rows, columns] = left[rows, inner] · right[columns, inner]^T, all dense and row-major, sums in f32.
struct MatrixProduct {
    std::string library;  // full path of libcublasLt
    std::string dtype;    // of all three: "bf16", "f16", "f32"
    uint64_t rows = 0, columns = 0, inner = 0;
    std::vector<std::byte> algorithm;  // of the library's own making
    uint64_t workspace_bytes = 0;      // that the algorithm may use
};

/// One way in which a library can compute a product.
struct ProductAlgorithm {
    std::vector<std::byte> algorithm;
    uint64_t workspace_bytes = 0;
    std::string words;  // "algorithm 66, tile 20, stages 8, 1 split of K"
};

struct ProductAlgorithms {
    std::string library_version;               // "13.0.0"
    std::vector<ProductAlgorithm> algorithms;  // the one that the library expects to be fastest first
};

}  // namespace recuda
