// An entry point decoded together with every function that it can call: what the scheduler runs.
//
// All functions lie in one array of instructions, so that an instruction's index is the key of caches, counters and
// checks.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/vgpu/byte_flow.h"
#include "device/vgpu/costs.h"
#include "device/vgpu/decode.h"
#include "device/vgpu/ptx/registers.h"
#include "device/vgpu/writes.h"

namespace recuda::vgpu {

/// Special registers that are the same for a whole warp's run; each is a constant of the register file, filled at the
/// start.
enum class Special : uint8_t {
    tid_x,
    tid_y,
    tid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    laneid,
    warpid,
    nwarpid,
    smid,
    nsmid,
    gridid,
    lanemask_eq,
    lanemask_lt,
    lanemask_le,
    lanemask_gt,
    lanemask_ge,
    dynamic_shared,
    total_shared,
    aggregate_shared,
    reserved_end,
    reserved_tiles,
    clusterid_x,
    clusterid_y,
    clusterid_z,
    nclusterid_x,
    nclusterid_y,
    nclusterid_z,
    cluster_ctaid_x,
    cluster_ctaid_y,
    cluster_ctaid_z,
    cluster_nctaid_x,
    cluster_nctaid_y,
    cluster_nctaid_z,
    cluster_ctarank,
    cluster_nctarank,
    is_explicit_cluster,
    workspace_high,
    workspace_low,
    zero
};

/// A constant of a function's register file.
struct Constant {
    enum class Kind : uint8_t {
        value,      // bits
        predicate,  // bits as a mask
        local,      // bits + the activation's local_base
        shared,     // bits + the address of shared variable `which`
        global,     // bits + the address of module variable `which`
        parameter,  // `bytes` bytes of the launch's parameters from offset `bits`
        special,    // special register `which`
    } kind = Kind::value;
    uint32_t offset = 0;  // in the register file
    uint8_t bytes = 4;    // a lane
    uint32_t which = 0;
    uint64_t bits = 0;
};

/// A variable in .param space of a function: `bytes` a lane in the register file, lane after lane `stride` bytes apart.
struct ParamSlot {
    uint32_t offset = 0, stride = 0, bytes = 0;
};

struct FunctionCode {
    std::string name;
    const ptx::Function* source = nullptr;
    uint32_t first = 0, count = 0;  // its instructions, an implied `ret` at the end included
    uint32_t register_bytes = 0;
    uint32_t local_bytes = 0;  // a lane, gaps included
    std::vector<Constant> constants;
    std::vector<ParamSlot> parameters, returns;
    std::vector<std::pair<uint32_t, uint32_t>> local_variables;  // offset and size: the bytes between are gaps
    std::vector<std::string> local_names;
    std::vector<uint32_t> state_slots;  // of registers that may be read before they are written (assignment.h)
};

/// A shared variable of the program. The address is fixed for static ones; dynamic ones start behind them.
struct SharedVariable {
    std::string name;  // for reports
    uint64_t bytes = 0;
    uint32_t align = 1;
    bool dynamic = false;
    uint32_t address = 0;
};

/// What definite-assignment analysis found of one instruction (assignment.h). Slots are offsets of states.
struct Tracked {
    struct Source {
        uint32_t slot = 0;
        uint16_t decisive = 0;  // bytes that decide something or leave the thread
        uint8_t operand = 0;
    };
    struct Result {
        uint32_t slot = 0;
        std::vector<std::pair<uint32_t, ByteMap>> needs;  // which source, and of its bytes
    };
    Handler run = nullptr;
    bool copies = false;    // a mov: passes the state on without using the value
    bool shuffles = false;  // the state is that of the lane which is read
    bool selects = false;   // of operands 1 and 2 the one that predicate `chooser` chooses counts
    uint32_t chooser = 0;
    bool swapped = false;  // the chooser is negated
    /// Operand 1 or 2 of an `and` or `or`, which may settle the result alone; for a comparison both are the predicate
    /// that it is joined with.
    struct Joined {
        uint32_t offset = 0;
        uint32_t bytes = 0;  // of the register; 0: a predicate
        bool negated = false;
        std::optional<uint32_t> slot;  // none: it is always defined
    };
    enum class Join : uint8_t { none, conjunction, disjunction };
    Join join = Join::none;
    std::array<Joined, 2> joined;
    std::optional<uint32_t> guard;  // the guard's state
    std::vector<Source> sources;
    std::vector<Result> results;
};

class Demand;

class Program {
 public:
    const ptx::Module* module = nullptr;
    const FunctionCode* entry = nullptr;
    std::vector<Instruction> code;
    std::vector<std::unique_ptr<FunctionCode>> functions;
    std::vector<SharedVariable> shared;
    std::vector<std::string> globals;                       // module variables whose addresses the code takes
    std::vector<std::pair<uint32_t, uint32_t>> parameters;  // of the entry: offset and bytes
    uint32_t parameter_bytes = 0;
    uint32_t shared_granule = 4;                      // the smallest shared or generic access in bytes, at most 4
    uint32_t static_shared_bytes = 0;                 // without the gaps that the virtual GPU adds
    bool reserved_shared = false;                     // it uses the system's shared memory (layout.h)
    bool orders = false;                              // it has fences, acquires or releases
    bool narrow = false;                              // strong accesses or fences of a block's or cluster's scope
    Writes writes;                                    // what it may write
    bool ptx_lines = false;                           // reports name lines of the .ptx
    std::vector<std::unique_ptr<Tracked>> tracked;    // by index; empty where nothing is tracked
    std::map<uint32_t, std::vector<uint32_t>> jumps;  // branch instructions to their targets
    std::vector<bool> ends;                           // by index: control never falls through
    std::vector<std::unique_ptr<Extra>> extras;
    std::deque<std::string> names;  // of elements of vector registers

    // Where names of the module stand: in module->variables and ->functions, in `shared` and in `globals`.
    using Index = std::unordered_map<std::string_view, uint32_t>;
    Index variable_index, function_index, global_index;
    std::unordered_map<const ptx::Variable*, uint32_t> shared_index;

    const FunctionCode& function_of(uint32_t pc) const;
    const FunctionCode* function_at(uint64_t address) const;  // of a function's address; null where none
    /// Whether `pc` can be reached from behind `barrier` and can itself not come (back) to it. Thread-safe.
    bool behind(uint32_t barrier, uint32_t pc) const;
    /// What instructions cost, by index; made when first asked for. Thread-safe.
    const std::vector<Cost>& costs() const;

 private:
    std::vector<bool> reach(const FunctionCode& function, std::vector<uint32_t> from, bool backwards) const;
    mutable std::mutex mutex_;
    mutable std::map<uint32_t, std::vector<bool>> behind_;
    mutable std::vector<Cost> costs_;
};

/// Function addresses as data: function i of the module lies at kFunctionBase + 16 * i.
inline constexpr uint64_t kFunctionBase = 0x0000'0800'0000'0000;

inline constexpr uint32_t kMaxParameterBytes = 32u << 10;  // of a launch or a call

/// Decodes an entry. Throws Unsupported("unsupported: OPCODE at line N (ptx line M): why").
std::unique_ptr<Program> decode(const ptx::Module& module, const ptx::Function& entry, bool ptx_lines);

/// The decoder as the machine's own groups of instructions see it.
class ProgramDecoder : public Decoder {
 public:
    ProgramDecoder(Program& program, FunctionCode& code, const ptx::Module& module);
    ~ProgramDecoder() override;

    Register register_of(const ptx::Operand& operand) override;
    uint32_t source(const ptx::Operand& operand, ptx::Type type) override;
    uint32_t destination(const ptx::Operand& operand, ptx::Type type) override;
    uint32_t predicate(const ptx::Operand& operand) override;
    uint32_t scratch(uint32_t bytes) override;
    uint32_t constant(uint64_t bits, uint32_t bytes) override;
    uint32_t label(std::string_view name) override;
    const Extra* keep(std::unique_ptr<Extra> extra) override;
    const ptx::Module& module() const override { return module_; }
    const ptx::Function& function() const override { return *code_.source; }

    bool is_register(std::string_view name) const;
    bool is_predicate(std::string_view name) const;
    /// A vector register by its name becomes the vector of its elements; anything else stays.
    ptx::Operand expanded(const ptx::Operand& operand);
    /// A variable in .param space of this function or a parameter of it; null for the entry's parameters and other
    /// names.
    const ParamSlot* parameter(std::string_view name) const;
    /// Offset of `bytes` bytes of the launch's parameters, zero-extended to `lane_bytes`, as a broadcast constant;
    /// false for a name that is no parameter of the entry.
    bool entry_parameter(std::string_view name, int64_t at, uint32_t bytes, uint32_t lane_bytes, uint32_t* offset);
    /// The code of a function (decoded later when first asked for); throws Unsupported where it has no body.
    const FunctionCode& callee(std::string_view name);
    /// Asks that every function of the module whose address is taken be there.
    void indirect();
    /// Which bytes of registers the function uses.
    const Demand& demand();
    Program& program() { return program_; }
    FunctionCode& code() { return code_; }

    /// Decodes all statements.
    void run();

 private:
    void declare();
    void declare_variables();
    uint32_t take(uint32_t bytes_a_lane);
    uint32_t add(Constant constant, ptx::Type type);
    uint32_t named_constant(const ptx::Operand& operand, uint32_t bytes);
    const ptx::Variable* variable_named(std::string_view name) const;
    uint32_t shared_number(const ptx::Variable& variable);
    uint32_t global_number(const ptx::Variable& variable);
    void decode_statement(const ptx::Statement& statement, Instruction& in);

    Program& program_;
    FunctionCode& code_;
    const ptx::Module& module_;
    const ptx::Registers registers_;
    std::unordered_map<const ptx::RegisterDeclaration*, uint32_t> register_offsets_;
    std::unordered_map<std::string_view, const ptx::Variable*> variables_;  // of the function
    std::map<std::string_view, ParamSlot, std::less<>> params_;
    std::map<std::string_view, uint64_t, std::less<>> locals_;
    std::map<std::pair<uint64_t, uint32_t>, uint32_t> values_;
    bool vectors_ = false;  // there are vector registers
    std::unique_ptr<Demand> demand_;
};

}  // namespace recuda::vgpu
