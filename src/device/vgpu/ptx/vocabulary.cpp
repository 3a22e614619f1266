#include "device/vgpu/ptx/vocabulary.h"

#include <unordered_set>

namespace recuda::vgpu::ptx {
namespace {

using Words = std::unordered_set<std::string_view>;

constexpr std::string_view kOpcodes =
    "abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call "
    "clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit "
    "fence fma fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match "
    "max mbarrier membar min mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch "
    "prefetchu prmt rcp red redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st "
    "stackrestore stacksave stmatrix sub subc suld suq sured sust szext tanh tcgen05 tensormap testp tex tld4 "
    "trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 "
    "vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma xor ";

constexpr std::string_view kModifiers =
    "128x128b 128x256b 16x128b 16x256b 16x32bx2 16x64b 1d 2d 2dms 32x128b 32x32b 3d 4d 4x256b 5d 64x128b L1 "
    "L1::evict_first L1::evict_last L1::evict_normal L1::evict_unchanged L1::no_allocate L2 L2::128B L2::256B "
    "L2::64B L2::cache_hint L2::evict_first L2::evict_last L2::evict_normal L2::evict_unchanged NaN a a1d a2d "
    "a2dms abs acc::f16 acc::f32 acq_rel acquire acube add addr_mode_0 addr_mode_1 addr_mode_2 after_thread_sync "
    "alias aligned all alloc and any approx array_size arrive arrive_drop ashift async async.global "
    "async::generic b b1 b1024 b128 b16 b2 b3 b32 b4 b4e b4x16_p64 b64 b6x16_p32 b8 b8x16 ballot bar base "
    "before_thread_sync bf16 bf16x2 bfly block16 block32 block_scale box_dim bulk bulk_group c ca cas cc cg "
    "channel_data_type channel_order clamp cluster col collector::a::discard collector::a::fill "
    "collector::a::lastuse collector::a::use collector::b0::discard collector::b0::fill collector::b0::lastuse "
    "collector::b0::use collector::b1::discard collector::b1::fill collector::b1::lastuse collector::b1::use "
    "collector::b2::discard collector::b2::fill collector::b2::lastuse collector::b2::use collector::b3::discard "
    "collector::b3::fill collector::b3::lastuse collector::b3::use commit commit_group complete_tx const cp "
    "cp_fenceproxy cp_mask cs cta cta_group::1 cta_group::2 cube cv cvt d dealloc dec depth disable_output_lane "
    "down e2m1 e2m1x2 e2m1x4 e2m3 e2m3x2 e2m3x4 e3m2 e3m2x2 e3m2x4 e4m3 e4m3x2 e4m3x4 e5m2 e5m2x2 e5m2x4 ecl ecr "
    "element_stride elemtype eq equ evict_first evict_last evict_normal evict_unchanged exch exclusive expect_tx "
    "f16 f16x2 f32 f32x2 f4e f64 fence fence::after_thread_sync fence::before_thread_sync fill_mode filter_mode "
    "finite force_unnormalized_coords fractional ftz full g ge get_first_ctaid get_first_ctaid::x "
    "get_first_ctaid::y get_first_ctaid::z geu gl global global_address global_dim global_stride gpu grad gt gtu "
    "height hi hs idx im2col im2col::w im2col::w::128 im2col_no_offs inc infinite init interleave_layout inval "
    "is_canceled kind::f16 kind::f8f6f4 kind::i8 kind::mxf4 kind::mxf4nvf4 kind::mxf8f6f4 kind::tf32 l "
    "launch_dependents ld ld_reduce le leu level lo load local ls lt ltu lu m16n16 m16n16k16 m16n16k8 m16n8 "
    "m16n8k128 m16n8k16 m16n8k256 m16n8k32 m16n8k4 m16n8k64 m16n8k8 m32n8k16 m64n128k16 m64n16k16 m64n256k16 "
    "m64n256k32 m64n256k64 m64n8k16 m64n8k32 m64n8k8 m8n16 m8n32k16 m8n8 m8n8k128 m8n8k16 m8n8k32 m8n8k4 mask max "
    "mbarrier mbarrier::arrive::one mbarrier::complete_tx::bytes mbarrier_init memory_layout min mma mma_async "
    "mmio multicast::cluster multicast::cluster::all nan nc ne neg neu noComplete noftz noinc normal "
    "normalized_coords notanumber num num_mipmap_levels num_samples number oob or p pack pack::16b param "
    "param::entry param::func parity pending_count po popc pred prefetch proxy proxy::alias query_cancel r range "
    "rank rc16 rc8 read red reduce reg relaxed release relinquish_alloc_permit relu replace rm rmi rn rna rni row "
    "rp rpi rs rz rzi s16 s16x2 s2 s32 s4 s64 s8 samplerref sat satfinite sc scale_vec::1X scale_vec::2X "
    "scale_vec::4X shared shared::cluster shared::cta shift shiftamt shr15 shr7 sp sp::ordered_metadata st store "
    "subnormal surfref swizzle_atomicity swizzle_mode sync sync_restrict::shared::cluster "
    "sync_restrict::shared::cta sys tensor tensormap tensormap::generic test_wait texref tf32 tile tile::gather4 "
    "tile::scatter4 to trans trap try_cancel try_wait u u16 u16x2 u2 u32 u4 u64 u8 ue4m3 ue8m0 ue8m0x2 uni "
    "unified unpack::16b up v2 v4 v8 volatile wait wait::ld wait::st wait_all wait_group warp warp::16x2 "
    "warpx2::01_23 warpx2::02_13 warpx4 wb weak wide width wrap ws wt x x1 x128 x16 x2 x32 x4 x64 x8 xor xorsign "
    "zero ";

constexpr std::string_view kVectorRegisters =
    "%tid %ntid %ctaid %nctaid %clusterid %nclusterid %cluster_ctaid %cluster_nctaid ";

constexpr std::string_view kPlainRegisters =
    "%laneid %warpid %nwarpid %smid %nsmid %gridid %is_explicit_cluster %cluster_ctarank %cluster_nctarank "
    "%lanemask_eq %lanemask_le %lanemask_lt %lanemask_ge %lanemask_gt %clock %clock_hi %clock64 %globaltimer "
    "%globaltimer_lo %globaltimer_hi %reserved_smem_offset_begin %reserved_smem_offset_end "
    "%reserved_smem_offset_cap %total_smem_size %aggr_smem_size %dynamic_smem_size %current_graph_exec ";

constexpr std::string_view kNumberedRegisters = "%envreg %pm %reserved_smem_offset_ ";

Words words_of(std::string_view text) {
    Words words;
    for (size_t space; (space = text.find(' ')) != std::string_view::npos; text.remove_prefix(space + 1))
        words.insert(text.substr(0, space));
    return words;
}

bool all_digits(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }

/// The name without a trailing number: "%envreg" of "%envreg3".
std::string_view without_number(std::string_view name) {
    return name.substr(0, name.find_last_not_of("0123456789") + 1);
}

}  // namespace

bool is_opcode(std::string_view name) {
    static const Words kWords = words_of(kOpcodes);
    return kWords.contains(name);
}

bool is_modifier(std::string_view name) {
    static const Words kWords = words_of(kModifiers);
    // wgmma has a shape for every eighth width.
    return name.starts_with("m64n") || kWords.contains(name);
}

bool is_special_register(std::string_view name) {
    static const Words kVectors = words_of(kVectorRegisters), kPlain = words_of(kPlainRegisters),
                       kNumbered = words_of(kNumberedRegisters);
    if (const size_t dot = name.find('.'); dot != std::string_view::npos) {
        const std::string_view element = name.substr(dot + 1);
        return kVectors.contains(name.substr(0, dot)) && element.size() == 1 && element.find_first_of("xyzwrgba") == 0;
    }
    if (kVectors.contains(name) || kPlain.contains(name)) return true;
    if (name.starts_with("%pm") && name.ends_with("_64")) return all_digits(name.substr(3, name.size() - 6));
    return kNumbered.contains(without_number(name));
}

}  // namespace recuda::vgpu::ptx
