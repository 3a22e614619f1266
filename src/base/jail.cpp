#include "base/jail.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "base/error.h"

namespace recuda {
namespace {

// Landlock's interface (Documentation/userspace-api/landlock.rst), written out because the headers of a build machine
// may be older than the kernel that runs the program.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr uint32_t kAskVersion = 1;
constexpr int kPathBeneath = 1;

struct RulesetAttributes {
    uint64_t file_access = 0, net_access = 0, scoped = 0;
};
struct __attribute__((packed)) PathBeneath {
    uint64_t allowed = 0;
    int32_t folder = -1;
};

enum FileAccess : uint64_t {
    kExecute = 1 << 0,
    kWriteFile = 1 << 1,
    kReadFile = 1 << 2,
    kReadFolder = 1 << 3,
    kChangeFolder = 0x1ff0,    // remove and make whatever there is
    kRefer = 1 << 13,          // ABI 2
    kTruncate = 1 << 14,       // ABI 3
    kDeviceControl = 1 << 15,  // ABI 5
};
constexpr uint64_t kFileOnly = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;
constexpr uint64_t kTcp = 3;           // bind and connect, ABI 4
constexpr uint64_t kOutsideWorld = 3;  // abstract sockets and signals, ABI 6

uint64_t file_rights(int abi) {
    uint64_t rights = 0x1fff;
    if (abi >= 2) rights |= kRefer;
    if (abi >= 3) rights |= kTruncate;
    if (abi >= 5) rights |= kDeviceControl;
    return rights;
}

class Ruleset {
 public:
    explicit Ruleset(int abi) : rights_(file_rights(abi)) {
        RulesetAttributes attributes{
            .file_access = rights_, .net_access = abi >= 4 ? kTcp : 0, .scoped = abi >= 6 ? kOutsideWorld : 0};
        const size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
        descriptor_ = static_cast<int>(::syscall(kCreateRuleset, &attributes, size, 0));
        if (descriptor_ < 0) throw Error("cannot make a Landlock rule set: {}", std::strerror(errno));
    }
    Ruleset(const Ruleset&) = delete;
    ~Ruleset() { ::close(descriptor_); }

    /// Gives rights below a path; a path that does not exist needs none.
    void allow(const std::string& path, uint64_t rights) {
        const int target = ::open(path.c_str(), O_PATH | O_CLOEXEC);
        if (target < 0) return;
        struct stat status {};
        ::fstat(target, &status);
        PathBeneath rule{.allowed = rights & rights_, .folder = target};
        if (!S_ISDIR(status.st_mode)) rule.allowed &= kFileOnly;
        const long result = ::syscall(kAddRule, descriptor_, kPathBeneath, &rule, 0);
        const int why = errno;
        ::close(target);
        if (result != 0) throw Error("cannot let the compiler read {}: {}", path, std::strerror(why));
    }

    void enforce() {
        if (::syscall(kRestrictSelf, descriptor_, 0) != 0)
            throw Error("cannot enter the Landlock jail: {}", std::strerror(errno));
    }

 private:
    uint64_t rights_;
    int descriptor_ = -1;
};

int enter_landlock(const Jail& jail) {
    const int abi = static_cast<int>(::syscall(kCreateRuleset, nullptr, 0, kAskVersion));
    // The first version lets no file be renamed from one folder to another, which a compiler with a cache does.
    if (abi <= 0 || (abi == 1 && !jail.writable.empty())) return 0;
    Ruleset rules(abi);
    const uint64_t read = kReadFile | kReadFolder | (jail.executable ? uint64_t{kExecute} : 0);
    for (const std::string& path : jail.readable) rules.allow(path, read);
    for (const std::string& path : jail.writable)
        rules.allow(path, kReadFile | kReadFolder | kWriteFile | kChangeFolder | kRefer | kTruncate);
    rules.enforce();
    return abi;
}

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the seccomp filter knows x86-64 and aarch64"
#endif

/// Calls that no compiler makes and that reach out of the process.
constexpr int kForbidden[] = {
    SYS_socket,
    SYS_connect,
    SYS_bind,
    SYS_setsid,
    SYS_setpgid,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_process_vm_writev,
    SYS_bpf,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_rt_sigqueueinfo,
    SYS_setpriority,
    SYS_sched_setaffinity,
    424 /* pidfd_send_signal */,
    425 /* io_uring_setup */,
    SYS_rt_tgsigqueueinfo,
};
/// For the process itself alone. The signals of a program that forks are for nobody, since its number names the parent
/// there.
constexpr int kSignals[] = {SYS_kill, SYS_tkill, SYS_tgkill};

sock_filter load(uint32_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); }
sock_filter answer(uint32_t value) { return BPF_STMT(BPF_RET | BPF_K, value); }
/// Skips `otherwise` instructions unless the loaded word is `value`.
sock_filter unless_equal(uint32_t value, uint8_t otherwise) {
    return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, otherwise);
}

/// Allows the call whose first argument is `first`, and denies others.
void allow_for(std::vector<sock_filter>& code, int call, uint32_t first, uint32_t denied) {
    code.push_back(unless_equal(static_cast<uint32_t>(call), 4));
    code.push_back(load(offsetof(seccomp_data, args)));
    code.push_back(unless_equal(first, 1));
    code.push_back(answer(SECCOMP_RET_ALLOW));
    code.push_back(answer(denied));
}

/// `itself`: the process that may signal itself; 0: none may.
std::vector<sock_filter> filter(uint32_t itself) {
    constexpr uint32_t kDenied = SECCOMP_RET_ERRNO | EPERM;
    std::vector<sock_filter> code;
    code.push_back(load(offsetof(seccomp_data, arch)));
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
    code.push_back(answer(SECCOMP_RET_KILL_PROCESS));
    code.push_back(load(offsetof(seccomp_data, nr)));
#if defined(__x86_64__)
    constexpr uint32_t kX32 = 0x40000000;  // the same calls under other numbers
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32, 0, 1));
    code.push_back(answer(kDenied));
#endif
    for (int call : kForbidden) {
        code.push_back(unless_equal(static_cast<uint32_t>(call), 1));
        code.push_back(answer(kDenied));
    }
    // No number may stand for nobody: to kill, -1 is everybody and 0 the whole group.
    for (int call : kSignals) {
        if (itself != 0) {
            allow_for(code, call, itself, kDenied);
            continue;
        }
        code.push_back(unless_equal(static_cast<uint32_t>(call), 1));
        code.push_back(answer(kDenied));
    }
    allow_for(code, SYS_prlimit64, 0, kDenied);  // 0 is the process itself
    code.push_back(answer(SECCOMP_RET_ALLOW));
    return code;
}

bool enter_seccomp(const Jail& jail) {
    std::vector<sock_filter> code = filter(jail.executable ? 0 : static_cast<uint32_t>(::getpid()));
    sock_fprog program{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
    return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

void limit(__rlimit_resource resource, uint64_t value) {
    rlimit now{};
    ::getrlimit(resource, &now);
    const rlim_t bounded = std::min<rlim_t>(value, now.rlim_max);
    const rlimit wanted{.rlim_cur = bounded, .rlim_max = bounded};
    if (::setrlimit(resource, &wanted) != 0) throw Error("cannot set a resource limit: {}", std::strerror(errno));
}

// Memory is bounded as data (private and writable), not as address space: on a machine with 125 GiB NVRTC 13.0
// reserves 12.5 GiB of addresses when it is loaded, of which it touches little, and ASan's shadow takes 16 TiB.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kBoundsMemory = false;  // the shadow is private and writable too
#else
constexpr bool kBoundsMemory = true;
#endif

}  // namespace

JailStrength enter_jail(const Jail& jail) {
    if (kBoundsMemory) limit(RLIMIT_DATA, jail.memory_bytes);
    limit(RLIMIT_FSIZE, jail.file_bytes);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, 512);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        throw Error("cannot give up privileges: {}", std::strerror(errno));
    JailStrength strength;
    strength.landlock = enter_landlock(jail);
    strength.seccomp = enter_seccomp(jail);
    return strength;
}

void limit_cpu(double seconds) {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    rlimit now{};
    ::getrlimit(RLIMIT_CPU, &now);
    const double spent = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
    now.rlim_cur = std::min<rlim_t>(static_cast<rlim_t>(std::ceil(spent + std::min(seconds, 1e6))) + 1, now.rlim_max);
    ::setrlimit(RLIMIT_CPU, &now);
}

}  // namespace recuda
