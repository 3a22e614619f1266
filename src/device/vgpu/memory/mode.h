// Mode bits of memory instructions: set by the decoder, read by the race checks.
#pragma once

#include <algorithm>
#include <cstdint>

namespace recuda::vgpu {

inline constexpr uint8_t kStrong = 0x80;    // atomic, volatile, relaxed …: does not race with its like
inline constexpr uint8_t kWideBase = 0x40;  // the address register has 64 bits
inline constexpr uint8_t kReleases = 0x20;  // orders what came before it
inline constexpr uint8_t kAcquires = 0x10;  // orders what comes after it
inline constexpr uint8_t kPeers = 0x08;     // may reach into the shared memory of other blocks of the cluster
inline constexpr uint8_t kOnce = 0x04;      // a lane's part cannot be done twice: see Cluster::defer
inline constexpr uint8_t kNarrow = 0x03;    // how much narrower than the GPU its scope is: 1 the cluster, 2 the block

/// For whom a strong access or a fence is one. The system counts as the GPU.
enum class Scope : uint8_t { block, cluster, gpu };
inline constexpr uint32_t kScopes = 3;

inline constexpr Scope scope_of(uint8_t mode) { return static_cast<Scope>(2 - std::min(mode & kNarrow, 2)); }
inline constexpr uint8_t narrowed(Scope scope) { return static_cast<uint8_t>(2 - static_cast<uint8_t>(scope)); }

}  // namespace recuda::vgpu
