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

/// Constants of the model, fitted by bench/calibrate.py to an H200 (docs/evidence/2026-11-30-h200-estimate) from the
/// documented ones, which stand beside them where they differ much and rank as well. Cycles are the SM's.
struct EstimateConstants {
    double launch_ns = 1230;       // an empty kernel behind another took 800; caches of instructions are cold, too
    double next_launch_ns = 1360;  // of every other launch, and of zeroing a scratch buffer before the first
    // Waits of one warp, a step of its chain each, in cycles.
    double arithmetic = 2.6;  // 4 for a dependent multiply-add; PTX has more instructions than machine code
    double special = 19;
    double warp = 20;  // a shuffle: 23
    double shared = 29;
    double global = 610;  // an L2 hit 260, memory beyond 800
    double barrier = 38;
    double tensor = 33;
    double branch = 15;
    double block = 110;      // start and end of a block
    double own_issue = 0.9;  // of one warp's own issue cycles, that nothing of it hides
    // Throughput of an SM, cycles.
    double issue = 0.63;    // of an issue cycle; machine code has fewer instructions than PTX
    double request = 0.94;  // of global and local memory
    double sector = 0.47;   // 0.25 where 128 bytes a cycle are moved
    double local_sector = 0.62;
    double passes = 1.5;  // over the banks: 1
    double tensor_issue = 16;
    // Of the whole GPU.
    double memory_share = 0.92;  // of the data sheet's bandwidth: a copy reached 0.82, reading 0.93
    double l2_bytes = 76;        // a nanosecond and SM; hits of the L1 are among them
    double atomic_ns = 0.08;     // of a lane
    double repeat_ns = 0.68;     // of a request to the address of the one before
    double start_ns = 0.51;      // of a block: an empty kernel of 65536 blocks took 0.62 each
    double norm = 1.9;
};

/// What one run of a workload's launches is estimated from.
struct EstimatedRun {
    const Counters& counters;
    const LaunchPlan& plan;
    const DeviceInfo& info;
    double scale = 1;  // > 1: of a workload with so many times the tokens, taken to have so many times the blocks
    double least_bytes =
        0;  // traffic of the workload as counted that must pass through memory; 0: all that was counted
};

double estimate(const EstimatedRun& run, const EstimateConstants& constants = {});

}  // namespace recuda
