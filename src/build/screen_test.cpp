#include "build/screen.h"

#include <gtest/gtest.h>

#include "build/ptx_screen.h"

namespace recuda {
namespace {

TEST(ScreenSource, AcceptsWhatIsDeviceCodeAlone) {
    const char* cases[] = {
        "#include <cuda_bf16.h>\n#include \"cuda_fp16.h\"\n#include <cub/block/block_reduce.cuh>\n",
        "// #include \"/etc/passwd\"\n/* static int x; */ const char* text();",
        "__device__ const float t[4] = {1, 2, 3, 4};",
        "static __device__ const float t[4] = {1, 2, 3, 4};",
        "__constant__ float t[4];",
        "constexpr int n = 4; const int m = 5;",
        "__device__ constexpr float k = 1.f;",
        "__device__ __forceinline__ float f(float x) { return x; }",
        "static __device__ __inline__ float f(const float* x) { return *x; }",
        "template <int N, typename T> __device__ T f(T x) { return x; }",
        "struct S { int v; __device__ S() : v(1) {} __device__ S& operator=(const S& o) { v = o.v; return *this; } "
        "static constexpr int n = 1; };",
        "__device__ [[nodiscard]] int f(int x) { return x; }",
        "[[nodiscard]] static __device__ int f(int x) { return x; }",
        "extern \"C\" __global__ void __launch_bounds__(256) k(int* p) { static const int t[2] = {1, 2}; static "
        "__shared__ int s[4]; *p = t[*p]; }",
        "__device__ void f() { static constexpr int t[] = {1, 2}; auto g = [] __device__(int x) { return x; }; }",
        "static_assert(sizeof(int) == 4);",
        "__device__ const float* const p = nullptr;",
        "__device__ alignas(16) const int x[4] = {};",
        "extern __shared__ float s[];",
        "#if __has_include(<cuda_fp8.h>)\n#endif",
        "int n = 1'000; const char* s = R\"x(#include \"/etc/passwd\" __device__ int g;)x\";",
    };
    for (const char* text : cases) EXPECT_EQ(screen_source(text, "k.cu"), "") << text;
}

TEST(ScreenSource, RefusesFilesAndState) {
    const struct {
        const char *text, *begins;
    } cases[] = {
        {"#include \"/etc/passwd\"", "k.cu:1: #include of '/etc/passwd'"},
        {"\n#  include <../secret.h>", "k.cu:2: #include of '../secret.h'"},
        {"#include <a/../../b>", "k.cu:1: #include of"},
        {"%:include \"/etc/passwd\"", "k.cu:1: #include of"},
        {"#inc\\\nlude \"/etc/passwd\"", "k.cu:1: #include of"},
        {"#define X \"/etc/passwd\"\n#include X", "k.cu:2: #include of a macro"},
        {"__device__ const char x[] = {\n#embed \"/etc/hostname\"\n};", "k.cu:2: #embed"},
        {"#if __has_include(\"/etc/passwd\")\n#endif", "k.cu:1: __has_include"},
        {"#define A __has_include(\"/etc/passwd\")\n", "k.cu:1: __has_include"},
        {"__device__ void f() { asm(\".incbin \\\"/etc/passwd\\\"\"); }", "k.cu:1: .incbin"},
        {"//! x\n__device__ int g;", "k.cu:2: a variable in device memory"},
        {"__device__ float cache[1024];", "k.cu:1: a variable"},
        {"__device__ float lut[4] = {1, 2, 3, 4};", "k.cu:1: a variable"},
        {"__device__ float x{1};", "k.cu:1: a variable"},
        {"int __device__ g;", "k.cu:1: a variable"},
        {"__device__ const float* p;", "k.cu:1: a variable"},
        {"__device__ alignas(16) int x[4];", "k.cu:1: a variable"},
        {"__managed__ int g;", "k.cu:1: a variable"},
        {"namespace a {\nextern \"C\" __device__ unsigned long long g;\n}", "k.cu:2: a variable"},
        {"__global__ void k(int* p) {\n  static int n;\n  *p = n++;\n}", "k.cu:2: a variable"},
        {"inline __device__ volatile int g = 1;", "k.cu:1: a variable"},
    };
    for (const auto& c : cases)
        EXPECT_TRUE(screen_source(c.text, "k.cu").starts_with(c.begins)) << c.text << "\n"
                                                                         << screen_source(c.text, "k.cu");
}

TEST(ScreenDiagnostics, KnowsWhatNvrtcSays) {
    EXPECT_TRUE(
        screen_diagnostics(
            "k.cu(7): error: A function without execution space annotations (__host__/__device__/__global__) is "
            "considered a host function, and host functions are not allowed in JIT mode.",
            "k.cu")
            .starts_with("k.cu:7: a host function is refused"));
    EXPECT_TRUE(screen_diagnostics("k.cu(2): catastrophic error: cannot open source file \"vector\"", "k.cu")
                    .starts_with("k.cu:2: a file outside CUDA's headers is refused"));
    EXPECT_EQ(screen_diagnostics("/x/cub.cuh(2): catastrophic error: cannot open source file \"vector\"", "k.cu"), "");
    EXPECT_EQ(screen_diagnostics("k.cu(3): error: identifier \"exq\" is undefined", "k.cu"), "");
}

/// A module with the given declarations and the given body of its one kernel.
std::string module_with(const std::string& declarations, const std::string& body) {
    return ".version 9.0\n.target sm_90\n.address_size 64\n\t.file 1 \"k.cu\"\n" + declarations +
           "\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\t.reg .b64 %rd<9>;\n" + body + "\nret;\n}\n";
}

TEST(ScreenPtx, AcceptsTables) {
    const std::string table = ".global .align 4 .b8 t[16] = {1, 2};";
    const std::string cases[] = {
        module_with("", "st.global.u32 [%rd1], %r1;"),
        module_with(table,
                    ".loc 1 2 3\nmov.u64 %rd4, t;\nadd.s64 %rd5, %rd4, %rd3;\nld.global.nc.u32 %r1, "
                    "[%rd5];\nst.global.u32 [%rd2], %r1;"),
        module_with(".const .align 4 .b8 c[16] = {1, 2};", "ld.const.u32 %r1, [c+4];\nst.global.u32 [%rd2], %r1;"),
        module_with(".global .align 1 .b8 $str[3] = {104, 10};\n.extern .func (.param .b32 r) vprintf (.param .b64 a, "
                    ".param .b64 b);",
                    "mov.u64 %rd4, $str;\ncvta.global.u64 %rd5, %rd4;\n{ // callseq 0\n.param .b64 p0;\nst.param.b64 "
                    "[p0+0], %rd5;\n"
                    "call.uni (r0), vprintf, (p0, p1);\n}"),
    };
    for (const std::string& ptx : cases) EXPECT_EQ(screen_ptx(ptx), "") << ptx;
}

TEST(ScreenPtx, RefusesState) {
    const std::string variable = ".global .align 4 .u32 g;";
    const struct {
        std::string ptx, says;
    } cases[] = {
        {module_with(variable, "st.global.u32 [g], %r1;"), "writes to 'g'"},
        {module_with(variable, "mov.u64 %rd1, g;\natom.global.add.u32 %r1, [%rd1], 1;"), "writes to 'g'"},
        {module_with(variable, "red.global.add.u32 [g+4], 1;"), "writes to 'g'"},
        // The address is taken behind the store in the text: a loop may run them in the other order.
        {module_with(variable,
                     "$L1:\n@%p1 st.u32 [%rd3], %r1;\n.loc 1 2 3\ncvta.global.u64 %rd2, %rd1; add.s64 %rd3, %rd2, "
                     "4;\nmov.u64 %rd1, g;\nbra $L1;"),
         "writes to 'g'"},
        {module_with(variable, ".loc 1 1 1 st.global.u32 [g], %r1;"), "writes to 'g'"},
        {module_with(variable, ".loc 1 16 0, function_name $L__i + 12, inlined_at 1 9 3 st.global.u32 [g], %r1;"),
         "writes to 'g'"},
        {module_with(variable, "mov.u64 %rd1, g;\nst.global.u64 [%rd2], %rd1;"), "lets go of the address of 'g'"},
        {module_with(variable, "mov.u64 %rd1, g;\n{ .param .b64 p0; st.param.b64 [p0], %rd1; call f, (p0); }"),
         "lets go of the address of 'g'"},
        {module_with(variable, "cp.async.bulk.global.shared::cta.bulk_group [g], [%r1], 16;"), "writes to 'g'"},
        {module_with(variable + "\n.global .u64 table[1] = {generic(g)};",
                     "mov.u64 %rd1, table; ld.global.u64 %rd2, [%rd1]; st.u32 [%rd2], 1;"),
         "writes to 'g'"},
        {module_with(".const .align 4 .u32 c;", "cvta.const.u64 %rd1, c;\natom.add.u32 %r1, [%rd1], 1;"),
         "writes to 'c'"},
        {module_with(".global .attribute(.managed) .align 4 .u32 g;", ""), "managed variable 'g'"},
        {module_with("", "// begin inline asm\n.global .u32 zz;\nst.global.u32 [zz],1;\n// end inline asm"),
         "inline assembly declares"},
        {module_with("", "} .visible .global .u32 zz; .visible .entry foo() {"), "inline assembly declares"},
        {module_with(".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2 (.param .b64 a);", ""),
         "launch from the device"},
        {module_with(".extern .func (.param .b64 r) malloc (.param .b64 a);", ""), "device's heap"},
    };
    for (const auto& c : cases)
        EXPECT_NE(screen_ptx(c.ptx).find(c.says), std::string::npos) << c.ptx << "\n" << screen_ptx(c.ptx);
}

}  // namespace
}  // namespace recuda
