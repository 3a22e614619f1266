// kernels.cu as plain C++, a loop over blocks and threads each: what the interpreter is compared with.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace recuda::host {

inline float widened(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }
inline uint16_t narrowed(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline void rmsnorm(const uint16_t* x, const uint16_t* w, uint16_t* y, float eps, int rows, int width) {
    for (int row = 0; row < rows; ++row, x += width, y += width) {
        float part[256] = {};
        for (int i = 0; i < width; i += 2048)
            for (int thread = 0; thread < 256; ++thread)
                for (int e = 0; e < 8; ++e) {
                    const float v = widened(x[i + thread * 8 + e]);
                    part[thread] += v * v;
                }
        float sum = 0;
        for (const float one : part) sum += one;
        const float scale = 1 / std::sqrt(sum / static_cast<float>(width) + eps);
        for (int i = 0; i < width; ++i) y[i] = narrowed(widened(x[i]) * scale * widened(w[i]));
    }
}

inline void silu_mul(const uint16_t* gu, uint16_t* y, int rows, int width) {
    for (int row = 0; row < rows; ++row, gu += 2 * width, y += width)
        for (int i = 0; i < width; ++i) {
            const float g = widened(gu[i]);
            y[i] = narrowed(g / (1 + std::exp(-g)) * widened(gu[width + i]));
        }
}

inline void topk(const float* logits, int32_t* index, float* weight, int rows) {
    constexpr int kWidth = 128, kBest = 8;
    for (int row = 0; row < rows; ++row, logits += kWidth) {
        uint64_t key[kWidth];
        for (int i = 0; i < kWidth; ++i) {
            const auto bits = std::bit_cast<uint32_t>(logits[i] + 0.0f);
            key[i] = uint64_t{(bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u} << 32 | ~static_cast<uint32_t>(i);
        }
        float sum = 0, power[kBest];
        for (int k = 0; k < kBest; ++k) {
            const uint64_t best = *std::max_element(key, key + kWidth);
            const uint32_t at = ~static_cast<uint32_t>(best);
            key[at] = 0;
            index[row * kBest + k] = static_cast<int32_t>(at);
            power[k] = std::exp(logits[at] - logits[index[row * kBest]]);
            sum += power[k];
        }
        for (int k = 0; k < kBest; ++k) weight[row * kBest + k] = power[k] / sum;
    }
}

/// c = a b^T, as 64 x 64 blocks.
inline void matmul(const uint16_t* a, const uint16_t* b, float* c, int n) {
    std::vector<float> wide_a(size_t(n) * n), columns(size_t(n) * n);
    for (size_t i = 0; i < wide_a.size(); ++i) wide_a[i] = widened(a[i]);
    for (int j = 0; j < n; ++j)
        for (int k = 0; k < n; ++k) columns[size_t(k) * n + j] = widened(b[size_t(j) * n + k]);
    for (int by = 0; by < n; by += 64)
        for (int bx = 0; bx < n; bx += 64)
            for (int i = by; i < by + 64; ++i) {
                float sum[64] = {};
                for (int k = 0; k < n; ++k)
                    for (int j = 0; j < 64; ++j) sum[j] += wide_a[size_t(i) * n + k] * columns[size_t(k) * n + bx + j];
                std::memcpy(c + size_t(i) * n + bx, sum, sizeof sum);
            }
}

}  // namespace recuda::host
