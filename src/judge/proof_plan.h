// How a proof is laid out: its sessions, and the order of samples within one. Sizes that statistics and the measuring
// share, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace recuda {

/// On an H200 the ratio of a kernel of 2 to 12 us to a copy of itself moves by 1 to 6 % from session to session, by 2.1
/// % in the median, while within a session it stays within 0.6 % (docs/evidence/2026-11-30-h200-proofs): many short
/// sessions tell more than few long ones. With 2.1 % the mean of 48 has an error of 0.3 %: a bound lies 0.9 % away at
/// the first promotion's level, so that 3 % is found. An even number: see
/// `balanced`.
inline constexpr size_t kProofSessions = 48;
/// Samples are taken in blocks, because a visit to a program costs more than a sample; the i-th samples of two
/// neighbouring blocks are a pair. Ten pairs leave of the noise of one sample, 1 %, a median within 0.5 %.
inline constexpr size_t kProofBlocks = 2;
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
