#include "tensor/tensor.h"

#include "base/error.h"

namespace recuda {

int64_t volume(const Shape& shape) {
    int64_t product = 1;
    for (const int64_t extent : shape) {
        if (extent < 0) throw Error("a shape has the negative extent {}", extent);
        if (__builtin_mul_overflow(product, extent, &product))
            throw Error("a shape has more elements than 63 bits count");
    }
    return product;
}

Tensor::Tensor(DType dtype, Shape shape) : dtype(dtype), shape(std::move(shape)) {
    bytes.resize(static_cast<size_t>(volume(this->shape)) * size_bytes(dtype));
}

}  // namespace recuda
