// A number to rank candidates by where no device measures time, from what the virtual GPU counted. It is not a time and
// is never shown as one; docs/measuring.md says what it is good for and how well it ranks.
//
// In units near a nanosecond of an H200, launch by launch. A launch costs a start, and then the largest of what it
// needs, with the others on top as far as they overlap badly (a p-norm): the wait of the warps in turn (the chain of
// dependent instructions of one warp, as often as waves of blocks follow each other on an SM: this is Little's law, for
// more blocks in residence hide more of it); the issue of its instructions, the requests and sectors of its loads and
// stores and the passes over its shared memory, on the SM with most blocks; the bytes that memory and L2 must move;
// atomics; and the start of its blocks. Lower is better.
#pragma once

#include "device/counters.h"
#include "device/device.h"
#include "kernel/launch_plan.h"

namespace recuda {

/// Constants of the model, found by bench/calibrate.py on an H200 (docs/evidence/2026-11-30-h200-estimate). Cycles are
/// the SM's. Beside each is what is known of it otherwise.
struct EstimateConstants {
    double launch_ns = 1200;     // an empty kernel behind another took 800; cold instruction caches on top
    double next_launch_ns = 1500;  // of every other launch, and of zeroing a scratch buffer before the first
    // Waits of one warp, a step of its chain each. PTX has about 1.5 instructions for one of machine code.
    double arithmetic = 3;       // 4 for a dependent multiply-add (Luo et al., arXiv 2402.13499)
    double special = 18;
    double warp = 22;            // shuffle: 23
    double shared = 31;          // 29
    double global = 640;         // L2 hit 260, memory beyond 800
    double barrier = 42;
    double tensor = 35;          // mma.m16n8k16: 33
    double branch = 9.4;
    double block = 150;          // start and end of a block
    double own_issue = 0.82;     // of one warp's own issue cycles, that nothing of it hides
    // Throughput of an SM, cycles.
    double issue = 0.66;         // of an issue cycle; machine code has fewer instructions than PTX
    double request = 1.3;        // of global and local memory
    double sector = 0.62;        // 128 bytes a cycle are 0.25
    double local_sector = 1.5;
    double passes = 1.6;         // over the banks
    double tensor_issue = 16;
    // Of the whole GPU.
    double memory_share = 0.83;  // of the data sheet's bandwidth; a copy reaches 0.82, reading 0.93
    double l2_bytes = 80;        // a nanosecond and SM
    double atomic_ns = 0.2;      // of a lane
    double repeat_ns = 0.96;     // of a request to the address of the one before
    double start_ns = 0.54;      // of a block: an empty kernel of 65536 blocks takes 0.62 each
    double norm = 2.1;
};

/// What one run of a workload's launches is estimated from.
struct EstimatedRun {
    const Counters& counters;
    const LaunchPlan& plan;
    const DeviceInfo& info;
    double scale = 1;        // > 1: of a workload with so many times the tokens, taken to have so many times the blocks
    double least_bytes = 0;  // traffic of the workload as counted that must pass through memory; 0: all that was counted
};

double estimate(const EstimatedRun& run, const EstimateConstants& constants = {});

}  // namespace recuda
