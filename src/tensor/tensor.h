// A tensor in host memory: type, shape, bytes, row-major and dense.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/dtype.h"

namespace recuda {

using Shape = std::vector<int64_t>;

/// Number of elements; 1 for a scalar's empty shape. Throws Error when it does not fit 63 bits.
int64_t volume(const Shape& shape);

struct Tensor {
    DType dtype = DType::f32;
    Shape shape;
    std::vector<std::byte> bytes;

    Tensor() = default;
    /// Zeros.
    Tensor(DType dtype, Shape shape);

    int64_t size() const { return static_cast<int64_t>(bytes.size() / size_bytes(dtype)); }
    double at(int64_t index) const { return load(dtype, bytes.data() + index * size_bytes(dtype)); }
    void set(int64_t index, double value) { store(dtype, bytes.data() + index * size_bytes(dtype), value); }

    template <typename T>
    std::span<T> as() {
        return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
    }
    template <typename T>
    std::span<const T> as() const {
        return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
    }
};

/// element i = value(i) for first <= i < last; the type is looked at once, not for each.
template <typename Value>
void set_each(Tensor& tensor, int64_t first, int64_t last, Value value) {
    if (tensor.dtype == DType::f32) {
        const std::span<float> all = tensor.as<float>();
        for (int64_t i = first; i < last; ++i) all[static_cast<size_t>(i)] = static_cast<float>(value(i));
    } else if (tensor.dtype == DType::bf16) {
        const std::span<uint16_t> all = tensor.as<uint16_t>();
        for (int64_t i = first; i < last; ++i) all[static_cast<size_t>(i)] = bf16_from_double(value(i));
    } else {
        for (int64_t i = first; i < last; ++i) tensor.set(i, value(i));
    }
}

}  // namespace recuda
