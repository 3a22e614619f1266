// What a candidate's code does, as evidence: read from its PTX and, where there is a disassembler, its machine code.
//
// Facts say what instructions stand in the code, not that they run. Judging by them is the judge's part
// (judge/rules.h).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "task/fact_kind.h"

namespace recuda {

struct Fact {
    FactKind kind = FactKind::trap;
    std::string what;             // "mma.m16n8k16 bf16, sums in f32", "16 bytes", "mov.u64 %clock64"
    uint64_t count = 0;           // instructions, of the binary that has most
    std::vector<uint32_t> lines;  // of the user's file, rising, the first 16; empty where no line is known
    bool own = true;              // false: all stand deeper in a header than in a function that the user's text calls;
                                  // of timers: all only choose the length of a pause (build/timer_reads.h)
};

/// Machine code, as the disassembler shows it.
struct SassFacts {
    std::string tool;     // "nvdisasm 12.8.55"
    std::string problem;  // why nothing is known, "" where it is
    uint64_t instructions = 0;
    std::map<std::string, uint64_t> tensor_cores;              // "HMMA.16816.F32.BF16" → instructions
    std::map<uint32_t, uint64_t> global_loads, global_stores;  // bytes a thread → instructions
    uint64_t local_loads = 0, local_stores = 0, clock_reads = 0;

    /// Counts another kernel's in; the first problem stays.
    void add(const SassFacts& other);
};

struct Facts {
    std::vector<Fact> ptx;  // by kind, then as found
    std::optional<SassFacts> sass;

    /// The first fact of that kind, or null.
    const Fact* find(FactKind kind) const;
    /// Takes another binary's facts in: counts are the larger, lines together.
    void add(const Facts& other);
};

/// "tensor cores mma.m16n8k16 bf16, sums in f32; 16-byte loads; reads the clock (line 7)": what is worth a line for a
/// person, "" where nothing is.
std::string shown(const Facts& facts);

nlohmann::json to_json(const Facts& facts);
/// Throws Error or Json::exception for what is none.
Facts facts_from_json(const nlohmann::json& json);

}  // namespace recuda
