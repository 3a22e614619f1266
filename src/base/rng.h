// A small counter-based random generator: the same seed gives the same numbers on every machine, and independent
// streams come from names, so that adding a tensor does not change another one's data.
//
// SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace recuda {

class Rng {
 public:
    explicit Rng(uint64_t seed) : state_(seed) {}
    /// The stream `name` of `seed`: FNV-1a of the name mixed into the seed.
    Rng(uint64_t seed, std::string_view name) : state_(seed) {
        uint64_t hash = 0xcbf29ce484222325;
        for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
        state_ = seed ^ mixed(hash);
        next();
    }

    uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15); }

    /// Uniform in [0, bound); bound > 0. The bias is below bound / 2^64.
    uint64_t below(uint64_t bound) {
        return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
    }

    /// Uniform in [0, 1) with 53 bits.
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    /// Standard normal (Box and Muller, both values used).
    double normal() {
        if (has_spare_) {
            has_spare_ = false;
            return spare_;
        }
        const double radius = std::sqrt(-2 * std::log(1 - uniform())), angle = 2 * std::numbers::pi * uniform();
        spare_ = radius * std::sin(angle);
        has_spare_ = true;
        return radius * std::cos(angle);
    }

 private:
    static uint64_t mixed(uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    uint64_t state_;
    double spare_ = 0;
    bool has_spare_ = false;
};

}  // namespace recuda
