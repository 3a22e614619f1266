#include "device/vgpu/ptx/test_support.h"

namespace recuda::vgpu::ptx {
namespace {

TEST(SourceLines, NvrtcWithChainsOfInlining) {
    const Module module = parse(fixture("nvrtc_inlined.ptx"), "inlined.cu");
    const Function& kernel = *module.find("_Z6kernelILi32EEvPKfP14__nv_bfloat162P6__halfi");
    // load() inside twice() inside the kernel's line 29.
    EXPECT_EQ(find(kernel, "ld.global.nc.f32").place.source_line, 29u);
    EXPECT_EQ(find(kernel, "ld.global.nc.f32").place.source_file, "/kernels/inlined.cu");
    EXPECT_EQ(find(kernel, "bar.sync").place.source_line, 30u);
    EXPECT_EQ(find(kernel, "trap").place.source_line, 37u);
    // __floats2bfloat162_rn of cuda_bf16.h
    EXPECT_EQ(find(kernel, "cvt.rn.bf16x2.f32").place.source_line, 35u);
    EXPECT_EQ(find(*module.find("_Z4slowfi"), "sin.approx.f32").place.source_line, 19u);
}

TEST(SourceLines, TritonSaysItInComments) {
    const Module module = parse(fixture("triton_softmax.ptx"), "softmax.py");
    const Function& kernel = *module.find("softmax");
    // tl.max inside helper() inside outer(), called at line 20.
    EXPECT_EQ(find(kernel, "max.f32").place.source_line, 20u);
    EXPECT_EQ(find(kernel, "ex2.approx.f32").place.source_line, 20u);
    EXPECT_EQ(find(kernel, "ld.global.b16").place.source_line, 19u);
    EXPECT_EQ(find(kernel, "st.global.b16").place.source_line, 21u);
}

TEST(SourceLines, TheUsersFileIsTheOneNamed) {
    const std::string text =
        ".version 9.0\n.target sm_90\n.address_size 64\n.func f() {\n"
        ".loc 1 3 1\n.loc 1 9 1, function_name $a, inlined_at 2 40 7\n"
        "add.u32 a, a, a;\n.loc 2 41 3\nsub.u32 a, a, a;\n.loc 2 0 3\nmin.u32 a, a, a;\n.loc 1 5 1\nmul.u32 a, a, "
        "a;\n}\n"
        ".file 1 \"/include/header.h\"\n.file 2 \"/home/user/kernel.cu\"\n";
    const Module module = parse(text, "kernel.cu");
    const auto& body = module.functions[0].body;
    EXPECT_EQ(body[0].place.source_line, 40u);
    EXPECT_EQ(body[1].place.source_line, 41u);
    EXPECT_EQ(body[2].place.source_line, 41u);  // line 0 stays with the line before
    EXPECT_EQ(body[3].place.source_line, 0u);   // of the header alone
    EXPECT_EQ(parse(text).functions[0].body[3].place.source_line, 5u);
}

}  // namespace
}  // namespace recuda::vgpu::ptx
