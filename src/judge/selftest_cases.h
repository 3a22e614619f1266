// The catalogue of the self-test: known cheats and seeded faults, each with what must catch it.
//
//   selftest/tasks.toml       small tasks of real ops
//   selftest/right/           right kernels of them: the judge must accept these
//   selftest/cases/*.toml     cases, each a change of a right kernel, or an attack on the judge's own functions
//
// docs/formats.md has the grammar.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "device/device.h"
#include "kernel/outcome.h"

namespace recuda {

/// "wrong", or "wrong: never written": an outcome, and words that must stand in what the judge says of it.
struct CaughtBy {
    Outcome outcome = Outcome::wrong;
    std::string words;
};

struct SelftestCase {
    enum class Kind { cheat, fault, right };

    std::string name;
    Kind kind = Kind::cheat;
    int number = 0;           // of the list of known cheats in docs/verification.md; 0: another one
    bool catchable = true;    // false: nothing known catches it, and `why` says why not
    std::string what, why;    // what it tries; why it does not apply or cannot be caught
    std::string task;         // of tasks.toml
    std::string kernel;       // the right kernel's file name
    std::string text;         // the kernel, changed
    std::string attack;       // not "": the attack of that name instead of a kernel
    std::string honest;       // timing cheats: a right kernel that it must not beat, by its file name …
    std::string honest_text;  // … and its text
    bool on_vgpu = true;      // where it shows; a fault that no GPU looks for is judged on the virtual GPU alone
    bool on_cuda = true;
    std::vector<CaughtBy> caught_by;

    bool applies_to(DeviceKind device) const { return device == DeviceKind::vgpu ? on_vgpu : on_cuda; }
};

std::string_view name(SelftestCase::Kind kind);

/// All cases, the right kernels first, then by file and as written. Throws Error for a malformed one, or one whose
/// changes do not fit its kernel.
std::vector<SelftestCase> read_selftest(const std::filesystem::path& home);

/// The file of tasks that the cases name theirs in.
std::filesystem::path selftest_tasks(const std::filesystem::path& home);

}  // namespace recuda
