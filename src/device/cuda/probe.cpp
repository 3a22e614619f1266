#include "device/cuda/probe.h"

#include <array>

namespace recuda::cuda {
namespace {

// `hold` and `clock` take the address of Probe::Shared. A loop of `clock` leaves right after the timer has ticked, so
// the timer's resolution (32 ns to 1 us) does not enter the ratio.
constexpr const char* kSource = R"(
.version 7.0
.target sm_75
.address_size 64

.visible .entry hold(.param .u64 shared)
{
    .reg .pred %p<3>;
    .reg .u32 %r<3>;
    .reg .u64 %t<4>;
    .reg .u64 %a;
    ld.param.u64 %a, [shared];
    cvta.to.global.u64 %a, %a;
    mov.u64 %t1, %globaltimer;
    add.u64 %t2, %t1, 100000000;
WAIT:
    ld.volatile.global.u32 %r1, [%a];
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    mov.u64 %t3, %globaltimer;
    setp.lt.u64 %p2, %t3, %t2;
    @%p2 bra WAIT;
    mov.u32 %r2, 1;
    st.volatile.global.u32 [%a+4], %r2;
DONE:
    ret;
}

.visible .entry clock(.param .u64 shared)
{
    .reg .pred %p<3>;
    .reg .u64 %t<5>;
    .reg .u64 %c<4>;
    .reg .u64 %a;
    ld.param.u64 %a, [shared];
    cvta.to.global.u64 %a, %a;
    mov.u64 %t1, %globaltimer;
TICK:
    mov.u64 %t2, %globaltimer;
    setp.eq.u64 %p1, %t2, %t1;
    @%p1 bra TICK;
    mov.u64 %c1, %clock64;
    add.u64 %t3, %t2, 20000;
SPIN:
    mov.u64 %t4, %globaltimer;
    setp.lt.u64 %p2, %t4, %t3;
    @%p2 bra SPIN;
    mov.u64 %c2, %clock64;
    sub.u64 %c3, %c2, %c1;
    sub.u64 %t4, %t4, %t2;
    st.volatile.global.u64 [%a+8], %c3;
    st.volatile.global.u64 [%a+16], %t4;
    ret;
}
)";

}  // namespace

Probe::Probe(const Driver& driver) : driver_(driver), memory_(make_host_memory(driver, sizeof(Shared))) {
    CUmodule module = nullptr;
    driver_.check(driver_.cuModuleLoadDataEx(&module, kSource, 0, nullptr, nullptr), "load the timing kernels");
    module_ = Module(driver_, module);
    driver_.check(driver_.cuModuleGetFunction(&hold_, module, "hold"), "find a timing kernel");
    driver_.check(driver_.cuModuleGetFunction(&clock_, module, "clock"), "find a timing kernel");
    driver_.check(driver_.cuMemHostGetDevicePointer(&address_, memory_.get(), 0), "map page-locked memory");
}

void Probe::launch(CUfunction kernel, CUstream stream) {
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    std::array<void*, 1> arguments = {&address_};
    driver_.check(driver_.cuLaunchKernelEx(&config, kernel, arguments.data(), nullptr), "launch a timing kernel");
}

void Probe::hold(CUstream stream) {
    shared().open = 0;
    shared().expired = 0;
    launch(hold_, stream);
}

void Probe::release() { shared().open = 1; }

bool Probe::expired() const { return shared().expired != 0; }

void Probe::measure_clock(CUstream stream) {
    shared().nanoseconds = 0;
    launch(clock_, stream);
}

double Probe::clock_mhz() const {
    const uint64_t nanoseconds = shared().nanoseconds;
    return nanoseconds == 0 ? 0 : 1e3 * static_cast<double>(shared().cycles) / static_cast<double>(nanoseconds);
}

}  // namespace recuda::cuda
