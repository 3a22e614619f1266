// What ptxas rejects is rejected here too, and what it takes is taken: each row was tried on ptxas 13.0.
#include "device/vgpu/ptx/check.h"

#include "device/vgpu/ptx/test_support.h"

namespace recuda::vgpu::ptx {
namespace {

std::string verdict(const std::string& body, const std::string& before = "") {
    try {
        check(parse_module(before +
                           "\n.visible .entry k()\n{\n.reg .b16 %rs<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 "
                           "%f<8>; .reg .f64 %fd<4>; .reg .pred %p<4>; .reg .u32 %u<3>;\n" +
                           body + "\nret;\n}\n"));
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(Check, RejectsWhatIsNotPtx) {
    const struct {
        const char *body, *why, *before = "";
    } kCases[] = {
        {"mov.u32 %r9, 1;", "'%r9'"},
        {"mov.u32 %r1, %r9;", "'%r9'"},
        {"mov.u32 %r1, %foo;", "'%foo'"},
        {"mov.u32 %r1, %tid.q;", "'%tid.q'"},
        {"mov.u32 %r1.x, 1;", "'%r1.x'"},
        {"mov.u64 %rd1, nothing;", "'nothing'"},
        {"ld.global.u32 %r1, [nothing];", "'nothing'"},
        {"bra NOWHERE;", "'NOWHERE' is not a label"},
        {"bra IN; { IN: ret; }", "'IN' is not a label"},
        {"bra f;", "not a label", ".func f() { ret; }"},
        {"T: .branchtargets A, B; A: ret;", "'B'"},
        {"@%r1 ret;", "'%r1' is not a predicate"},
        {"call nothing;", "not a function"},
        {"call f;", "nothing defines", ".func f();"},
        {"call k2;", "not a function", ".entry k2() { ret; }"},
        {"call f, (%r1);", "number of arguments", ".func f(.reg .b32 a, .reg .b32 b) { ret; }"},
        {"call f;", "number of arguments", ".func (.reg .b32 r) f() { ret; }"},
        {"frobnicate.u32 %r1;", "no instruction"},
        {"add.foo.u32 %r1, %r2, %r3;", "'.foo'"},
        {"add.ftz.lo.f32 %f1, %f2, %f3;", "'.lo' does not go with add"},
        {"add.b32 %r1, %r2, %r3;", "'.b32' does not go with add"},
        {"add.u32 %r1, %r2;", "2 operands, not 3"},
        {"add.u32 %r1, %r2, %r3, %r4;", "4 operands, not 3"},
        {"add.u32 %r1, %rd2, %r3;", "'%rd2' has another type"},
        {"add.u32 %rd1, %r2, %r3;", "'%rd1' has another type"},
        {"add.u32 %f1, %r2, %r3;", "'%f1' has another type"},
        {"add.f32 %u1, %f2, %f3;", "'%u1' has another type"},
        {"add.u32 %r1, %p1, 1;", "'%p1' has another type"},
        {"add.u32 1, %r2, %r3;", "cannot be written"},
        {"add.u32 _, %r2, %r3;", "'_'"},
        {"add.u32 %r1, [%rd1], 1;", "an address"},
        {"add.u32 %r1, %r2, 1.5;", "a float where"},
        {"add.f32 %f1, %f2, 1;", "an integer where"},
        {"add.u32 %r1, %tid.x, 1;", "'%tid.x' is not a register"},
        {"add.u64 %rd1, %rd1, s;", "'s' is not a register", ".shared .b32 s;"},
        {"mov.b32 %r1, %p1;", "another type"},
        {"mov.u32 %r1, %f1;", "another type"},
        {"mov.u32 %r1, 0f3F800000;", "a float where"},
        {"mov.f32 %f1, 0;", "an integer where"},
        {"mul.u32 %r1, %r2, %r3;", "one of lo hi wide"},
        {"mul.wide.u32 %r1, %r2, %r3;", "'%r1'"},
        {"mad.wide.u32 %rd1, %r1, %r2, %r3;", "'%r3'"},
        {"fma.f32 %f1, %f2, %f3, %f4;", "one of rn"},
        {"div.f32 %f1, %f2, %f3;", "one of rn"},
        {"shl.b64 %rd1, %rd2, %rd3;", "'%rd3'"},
        {"popc.b32 %f1, %f2;", "'%f1'"},
        {"setp.eq.u32 %p1, %f1, %r1;", "'%f1'"},
        {"ld.global.u32 %rs1, [%rd1];", "'%rs1'"},
        {"ld.global.u32 %p1, [%rd1];", "'%p1'"},
        {"ld.global.u32 %r1, [%fd1];", "is no address"},
        {"st.global.u32 [%rd1], %f1;", "'%f1'"},
        {"ret %r1;", "1 operands"},
        {"shr %r1, %r2, 1;", "a type is missing"},
    };
    for (const auto& row : kCases) {
        const std::string why = verdict(row.body, row.before);
        EXPECT_NE(why.find(row.why), std::string::npos) << row.body << ": " << (why.empty() ? "accepted" : why);
        EXPECT_TRUE(why.starts_with("ptx line ")) << row.body << ": " << why;
    }
}

TEST(Check, TakesWhatIsPtx) {
    const struct {
        const char *body, *before = "";
    } kCases[] = {
        {"add.f32 %r1, %f2, %f3;"},
        {"and.b32 %f1, %r2, %r3;"},
        {"mov.f32 %f1, 1.5;"},
        {"mov.b32 %r1, 0f3F800000;"},
        {"mov.u32 %r1, %envreg3;"},
        {"mov.u64 %rd1, s+4;", ".shared .b32 s[4];"},
        {"ld.global.u16 %r1, [%rd1];"},
        {"ld.shared.u32 %r1, [%r2];"},
        {"ld.global.v2.f32 {%f1, %r1}, [%rd1];"},
        {"st.global.u32 [%rd1], 5;"},
        {"shl.b32 %f1, %f2, 1;"},
        {"popc.b32 %r1, %f2;"},
        {"selp.b32 %r1, 0f3F800000, %r2, !%p1;"},
        {"setp.eq.u32 %p1|%p2, %r1, %r2;"},
        {"setp.lt.and.f32 %p1|_, %f1, %f2, !%p3;"},
        {"mad.wide.u32 %rd1, %r1, %r2, %rd3;"},
        {"min.NaN.f32 %f1, %f2, %f3;"},
        {".reg .v4 .b32 v; mov.u32 v.x, 1; mov.b32 %r1, {%rs1, %rs2};"},
        {"A: { A: bra A; }"},
        {".reg .b32 a; .reg .b16 a<2>; mov.b32 {a0, a1}, a;"},
        {"{ .reg .b32 %r<2>; mov.u32 %r1, 1; }"},
        {"call (%r1), f, (%r2);", ".func (.reg .b32 r) f(.reg .b32 a) { mov.u32 r, a; ret; }"},
        {"{ .param .b64 a; call (a), malloc, (a); }", ".extern .func (.param .b64 r) malloc(.param .b64 a);"},
        {"fence.proxy.async.shared::cta; fence.proxy.tensormap::generic.release.gpu;"},
        {"cvt.pack.sat.s16.s32 %r1, %r2, %r3;"},
        {"wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%rd1], {%r1, %r2, %r3, %r4};"},
        {"wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16 {%f1}, %rd1, %rd2, 1, 1, 1, 0, 0;"},
    };
    for (const auto& row : kCases) EXPECT_EQ(verdict(row.body, row.before), "") << row.body;
}

TEST(Check, LooksAtFunctionsThatNobodyCalls) {
    EXPECT_NE(verdict("", ".func f() { add.u32 %r1, %r2, %r3; ret; }"), "");
}

}  // namespace
}  // namespace recuda::vgpu::ptx
