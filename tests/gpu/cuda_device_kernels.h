// PTX of the kernels that the tests of the CUDA device launch.
#pragma once

namespace recuda {

/// For any GPU.
inline constexpr const char* kPlainKernels = R"(
.version 7.0
.target sm_75
.address_size 64

// c[i] = a[i] + b[i], f32, one thread an element
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %p<2>; .reg .u32 %r<6>; .reg .f32 %f<4>; .reg .u64 %d<5>;
    ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [c]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 ret;
    mul.wide.u32 %d4, %r5, 4;
    add.u64 %d1, %d1, %d4; add.u64 %d2, %d2, %d4; add.u64 %d3, %d3, %d4;
    ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d2];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%d3], %f3;
    ret;
}

// to[i] = from[i] over n pieces of 16 bytes, in strides of the grid
.visible .entry copy(.param .u64 from, .param .u64 to, .param .u32 n)
{
    .reg .pred %p<2>; .reg .u32 %r<11>; .reg .u64 %d<6>;
    ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mov.u32 %r5, %nctaid.x;
    mad.lo.u32 %r6, %r2, %r3, %r4;
    mul.lo.u32 %r5, %r5, %r3;
NEXT:
    setp.ge.u32 %p1, %r6, %r1;
    @%p1 ret;
    mul.wide.u32 %d3, %r6, 16;
    add.u64 %d4, %d1, %d3; add.u64 %d5, %d2, %d3;
    ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%d4];
    st.global.v4.u32 [%d5], {%r7, %r8, %r9, %r10};
    add.u32 %r6, %r6, %r5;
    bra NEXT;
}

// stores 42 at p + offset, a byte
.visible .entry poke(.param .u64 p, .param .s64 offset)
{
    .reg .u32 %r<2>; .reg .u64 %d<3>;
    ld.param.u64 %d1, [p]; ld.param.u64 %d2, [offset];
    add.u64 %d1, %d1, %d2;
    mov.u32 %r1, 42;
    st.global.u8 [%d1], %r1;
    ret;
}

// out[0] = the byte at p + offset
.visible .entry peek(.param .u64 p, .param .s64 offset, .param .u64 out)
{
    .reg .u32 %r<2>; .reg .u64 %d<4>;
    ld.param.u64 %d1, [p]; ld.param.u64 %d2, [offset]; ld.param.u64 %d3, [out];
    add.u64 %d1, %d1, %d2;
    ld.volatile.global.u8 %r1, [%d1];
    st.global.u32 [%d3], %r1;
    ret;
}

// out[0] = 7, but only while state[0] is not 7, which it then is
.visible .entry once(.param .u64 out, .param .u64 state)
{
    .reg .pred %p<2>; .reg .u32 %r<3>; .reg .u64 %d<3>;
    ld.param.u64 %d1, [out]; ld.param.u64 %d2, [state];
    mov.u32 %r1, 7;
    ld.volatile.global.u32 %r2, [%d2];
    setp.eq.u32 %p1, %r2, 7;
    @%p1 ret;
    st.global.u32 [%d1], %r1;
    st.global.u32 [%d2], %r1;
    ret;
}

// waits until *p is 1, which nobody ever stores
.visible .entry endless(.param .u64 p)
{
    .reg .pred %p<2>; .reg .u32 %r<2>; .reg .u64 %d<2>;
    ld.param.u64 %d1, [p];
AGAIN:
    ld.volatile.global.u32 %r1, [%d1];
    setp.ne.u32 %p1, %r1, 1;
    @%p1 bra AGAIN;
    ret;
}

// out[0] = what was stored to the last word of `bytes` dynamic shared memory (the number 77)
.extern .shared .align 16 .b8 dynamic[];
.visible .entry large_shared(.param .u64 out, .param .u32 bytes)
{
    .reg .u32 %r<5>; .reg .u64 %d<2>;
    ld.param.u64 %d1, [out]; ld.param.u32 %r1, [bytes];
    mov.u32 %r2, dynamic;
    add.u32 %r2, %r2, %r1;
    mov.u32 %r3, 77;
    st.volatile.shared.u32 [%r2+-4], %r3;
    ld.volatile.shared.u32 %r4, [%r2+-4];
    st.global.u32 [%d1], %r4;
    ret;
}

// every block counts itself in count[0] and waits for all: ends only when all blocks are resident. count[1] = blocks that came through
.visible .entry meet(.param .u64 count)
{
    .reg .pred %p<2>; .reg .u32 %r<4>; .reg .u64 %d<2>;
    ld.param.u64 %d1, [count];
    mov.u32 %r1, %nctaid.x;
    atom.global.add.u32 %r2, [%d1], 1;
ABSENT:
    ld.volatile.global.u32 %r2, [%d1];
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra ABSENT;
    atom.global.add.u32 %r3, [%d1+4], 1;
    ret;
}

// p[0] += 1, f32: shows how often it ran since p was cleared
.visible .entry increment(.param .u64 p)
{
    .reg .f32 %f<3>; .reg .u64 %d<2>;
    ld.param.u64 %d1, [p];
    ld.global.f32 %f1, [%d1];
    add.f32 %f2, %f1, 0f3F800000;
    st.global.f32 [%d1], %f2;
    ret;
}

.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 format[14] = {72, 101, 108, 108, 111, 32, 98, 108, 111, 99, 107, 33, 10, 0};
.visible .entry hello()
{
    .reg .u32 %r<2>; .reg .u64 %d<3>;
    mov.u64 %d1, format;
    cvta.global.u64 %d1, %d1;
    mov.u64 %d2, 0;
    { .param .b64 a; .param .b64 b; .param .b32 r;
      st.param.b64 [a], %d1; st.param.b64 [b], %d2;
      call.uni (r), vprintf, (a, b);
      ld.param.b32 %r1, [r]; }
    ret;
}
)";

/// For GPUs with clusters, programmatic dependent launch and tensor maps.
inline constexpr const char* kHopperKernels = R"(
.version 8.0
.target sm_90
.address_size 64

// out[block] = its rank in the cluster * 100 + blocks a cluster
.visible .entry ranks(.param .u64 out)
{
    .reg .u32 %r<5>; .reg .u64 %d<3>;
    ld.param.u64 %d1, [out];
    mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank; mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %r4, %r1, 100, %r2;
    mul.wide.u32 %d2, %r3, 4;
    add.u64 %d1, %d1, %d2;
    st.global.u32 [%d1], %r4;
    ret;
}

// lets its successor start, waits 200 us, then stores 5
.visible .entry first(.param .u64 p)
{
    .reg .pred %p<2>; .reg .u32 %r<2>; .reg .u64 %d<4>;
    ld.param.u64 %d1, [p];
    griddepcontrol.launch_dependents;
    mov.u64 %d2, %globaltimer;
    add.u64 %d2, %d2, 200000;
WAIT:
    mov.u64 %d3, %globaltimer;
    setp.lt.u64 %p1, %d3, %d2;
    @%p1 bra WAIT;
    mov.u32 %r1, 5;
    st.global.u32 [%d1], %r1;
    ret;
}

// q[0] = what p holds at its start, q[1] = what p holds once its predecessor has ended
.visible .entry second(.param .u64 p, .param .u64 q)
{
    .reg .u32 %r<3>; .reg .u64 %d<3>;
    ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q];
    ld.volatile.global.u32 %r1, [%d1];
    st.global.u32 [%d2], %r1;
    griddepcontrol.wait;
    ld.volatile.global.u32 %r2, [%d1];
    st.global.u32 [%d2+4], %r2;
    ret;
}

// copies the 8 x 8 box of f32 at (x, y) through shared memory to out
.visible .entry tile(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 x, .param .u32 y)
{
    .shared .align 128 .b8 box[256];
    .shared .align 8 .b64 arrived;
    .reg .pred %p<2>; .reg .u32 %r<8>; .reg .u64 %d<4>; .reg .b64 %state; .reg .f32 %f<2>;
    ld.param.u64 %d1, [out]; ld.param.u32 %r1, [x]; ld.param.u32 %r2, [y];
    mov.u32 %r3, box; mov.u32 %r4, arrived;
    mov.u64 %d2, map; cvta.param.u64 %d2, %d2;
    mbarrier.init.shared.b64 [%r4], 1;
    fence.proxy.async;
    mbarrier.arrive.expect_tx.shared.b64 %state, [%r4], 256;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%d2, {%r1, %r2}], [%r4];
WAIT:
    mbarrier.try_wait.shared.b64 %p1, [%r4], %state;
    @!%p1 bra WAIT;
    mov.u32 %r5, 0;
NEXT:
    add.u32 %r6, %r3, %r5;
    ld.shared.f32 %f1, [%r6];
    cvt.u64.u32 %d3, %r5;
    add.u64 %d3, %d1, %d3;
    st.global.f32 [%d3], %f1;
    add.u32 %r5, %r5, 4;
    setp.lt.u32 %p1, %r5, 256;
    @%p1 bra NEXT;
    ret;
}
)";

}  // namespace recuda
