#include "build/sass.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "base/worker_process.h"
#include "build/messages.h"
#include "build/toolchain.h"

namespace recuda {
namespace {

constexpr size_t kMostCubinBytes = 16 << 20, kMostListingBytes = 64 << 20, kMostNames = 64;
constexpr double kDeadlineSeconds = 20;

bool has_part(const std::vector<std::string_view>& parts, std::string_view part) {
    return std::find(parts.begin(), parts.end(), part) != parts.end();
}

/// Bytes a thread: an access without a size is of 32 bits.
uint32_t access_bytes(const std::vector<std::string_view>& parts) {
    if (has_part(parts, "U8") || has_part(parts, "S8")) return 1;
    if (has_part(parts, "U16") || has_part(parts, "S16")) return 2;
    if (has_part(parts, "ENL2")) return 32;
    return has_part(parts, "128") ? 16 : has_part(parts, "64") ? 8 : 4;
}

/// HMMA, IMMA, DMMA, QMMA …; HGMMA … on Hopper; UTCHMMA … on Blackwell.
bool is_matrix(std::string_view stem) { return stem.ends_with("MMA") && stem.size() <= 8; }

void count(SassFacts& facts, std::string_view instruction) {
    const size_t end = std::min(instruction.find_first_of(" ;"), instruction.size());
    const std::string_view opcode = instruction.substr(0, end);
    const std::vector<std::string_view> parts = split(opcode, '.');
    const std::string_view stem = parts.front();
    if (stem == "NOP") return;  // padding
    ++facts.instructions;
    if (is_matrix(stem) && facts.tensor_cores.size() < kMostNames) ++facts.tensor_cores[one_line(opcode, 60)];
    if (stem == "LDG") ++facts.global_loads[access_bytes(parts)];
    if (stem == "STG") ++facts.global_stores[access_bytes(parts)];
    if (stem == "LDL") ++facts.local_loads;
    if (stem == "STL") ++facts.local_stores;
    const bool special = stem == "CS2R" || stem == "S2R" || stem == "S2UR";
    if (special && (instruction.find("SR_CLOCK") != std::string_view::npos ||
                    instruction.find("SR_GLOBALTIMER") != std::string_view::npos))
        ++facts.clock_reads;
}

/// The message that puts the disassembler into the jail, as a compile worker reads it.
std::string jailed(const std::string& program, const std::filesystem::path& folder, const std::string& input) {
    WorkerSetup setup;
    setup.program = {program, "-c", input};
    setup.folder = folder.string();
    setup.jail.executable = true;
    setup.jail.readable = {
        "/usr", "/lib", "/lib64", "/etc/ld.so.cache", std::filesystem::path(program).parent_path(), folder.string()};
    setup.jail.writable = {"/dev/null"};
    setup.environment = {{"LC_ALL", "C.UTF-8"}};
    return framed_message(packed(setup));
}

SassFacts disassembled(const std::string& program, const std::string& cubin) {
    const TemporaryFolder folder;
    const std::filesystem::path input = folder.path() / "kernel.cubin";
    write_atomically(input, cubin);
    const ProcessResult told =
        run_process({this_program(), "compile-worker"}, {.input = jailed(program, folder.path(), input.string()),
                                                         .deadline_s = kDeadlineSeconds,
                                                         .output_limit_bytes = kMostListingBytes,
                                                         .environment = {},
                                                         .folder = {}});
    SassFacts facts;
    if (told.status == 0 && !told.timed_out) facts = read_sass(told.out);
    if (facts.instructions == 0)
        facts.problem = told.timed_out ? "the disassembler had to be stopped"
                                       : one_line("the disassembler failed: " + told.err + told.out, 300);
    return facts;
}

SassFacts facts_of(const std::string& program, const std::string& cubin) {
    SassFacts facts;
    try {
        if (cubin.size() > kMostCubinBytes) throw Error("the machine code is too large to be disassembled");
        facts = disassembled(program, cubin);
    } catch (const Error& error) {
        facts.problem = error.what();
    }
    facts.tool = std::filesystem::path(program).filename().string();
    return facts;
}

}  // namespace

SassFacts read_sass(std::string_view listing) {
    SassFacts facts;
    for (std::string_view line : split_lines(listing)) {
        // "        /*00f0*/              @!P0 LDG.E.128 R4, [R2.64] ;"
        line = trimmed(line);
        const size_t mark = line.find("*/");
        if (!line.starts_with("/*") || mark == std::string_view::npos) continue;
        line = trimmed(line.substr(mark + 2));
        if (line.starts_with('@')) line = trimmed(line.substr(std::min(line.find(' '), line.size())));
        if (!line.empty() && line.front() >= 'A' && line.front() <= 'Z') count(facts, line);
    }
    return facts;
}

std::optional<SassFacts> sass_facts(const std::vector<Binary>& binaries) {
    const Tool& tool = toolchain().disassembler;
    std::optional<SassFacts> all;
    for (const Binary& binary : binaries) {
        if (tool.state != Tool::State::ok || binary.cubin.empty()) continue;
        const SassFacts one = facts_of(tool.path, binary.cubin);
        if (all)
            all->add(one);
        else
            all = one;
    }
    return all;
}

}  // namespace recuda
