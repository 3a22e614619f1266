// How a proof is laid out: its sessions, and the order of samples within one. Sizes that statistics and the measuring
// share, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace recuda {

/// With kernels that each come to lie 0.5 % apart from session to session, the mean ratio of 12 sessions has an error
/// of 0.2 %: a bound lies 0.6 % away at the first promotion's level, so that 3 % is always found and equality mostly
/// shown.
inline constexpr size_t kProofSessions = 12;
/// Samples are taken in blocks, because a visit to a program costs more than a sample; the i-th samples of two
/// neighbouring blocks are a pair. Eight times five pairs leave of the noise of one sample, 1 %, a median within 0.2 %.
inline constexpr size_t kProofBlocks = 8;
inline constexpr uint32_t kBlockPairs = 5;
/// One block each that does not count: clocks rise, code and tables come into the caches.
inline constexpr uint32_t kWarmupPairs = 5;

struct ProofPlan {
    size_t sessions = kProofSessions, blocks = kProofBlocks;  // blocks of each side in a session
    uint32_t block_pairs = kBlockPairs, warmup_pairs = kWarmupPairs;
};

/// Whose block is taken at a visit: A B B A A B B A …, 0 for A. A drift that is steady over four blocks cancels.
constexpr size_t abba_arm(size_t visit) { return ((visit + 1) / 2) % 2; }

}  // namespace recuda
