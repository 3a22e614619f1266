#include "device/cuda/launcher.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/text.h"
#include "device/tensor_map.h"
#include "tensor/dtype.h"

namespace recuda::cuda {
namespace {

constexpr size_t kLogBytes = 16384;
constexpr uint64_t kPortableClusterBlocks = 8;

CUlaunchAttribute attribute(CUlaunchAttributeID id) {
    CUlaunchAttribute made{};
    made.id = id;
    return made;
}

std::vector<std::byte> bytes_of(const void* data, size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    return {first, first + size};
}

/// The element type of a tensor map. FP8 and 8-bit integers travel as bytes.
CUtensorMapDataType tensor_map_type(DType type) {
    switch (type) {
        case DType::i8:
        case DType::u8:
        case DType::e4m3:
        case DType::e5m2:
            return CU_TENSOR_MAP_DATA_TYPE_UINT8;
        case DType::i16:
        case DType::u16:
            return CU_TENSOR_MAP_DATA_TYPE_UINT16;
        case DType::i32:
            return CU_TENSOR_MAP_DATA_TYPE_INT32;
        case DType::u32:
            return CU_TENSOR_MAP_DATA_TYPE_UINT32;
        case DType::i64:
            return CU_TENSOR_MAP_DATA_TYPE_INT64;
        case DType::u64:
            return CU_TENSOR_MAP_DATA_TYPE_UINT64;
        case DType::f16:
            return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
        case DType::bf16:
            return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
        case DType::f32:
            return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
        case DType::f64:
            return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    }
    throw Error("no tensor map has elements of that type");
}

CUtensorMapSwizzle swizzle_of(uint32_t bytes) {
    switch (bytes) {
        case 0:
            return CU_TENSOR_MAP_SWIZZLE_NONE;
        case 32:
            return CU_TENSOR_MAP_SWIZZLE_32B;
        case 64:
            return CU_TENSOR_MAP_SWIZZLE_64B;
        case 128:
            return CU_TENSOR_MAP_SWIZZLE_128B;
    }
    throw Error("a tensor map's swizzle is 0, 32, 64 or 128, not {}", bytes);
}

/// "sm_103a" → 103 and 'a'; number 0 where it is no such name.
struct Target {
    int number = 0;
    char suffix = ' ';
};
Target parsed(std::string_view text) {
    Target target;
    if (!text.starts_with("sm_")) return target;
    text.remove_prefix(3);
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), target.number);
    if (failed != std::errc{}) return {};
    if (end != text.data() + text.size()) target.suffix = *end;
    return target;
}

}  // namespace

bool runs_on(std::string_view made_for, std::string_view target) {
    const Target made = parsed(made_for), here = parsed(target);
    if (made.number == 0) return false;
    if (made.suffix == 'a') return made.number == here.number;
    return made.number / 10 == here.number / 10 && made.number <= here.number;
}

Launcher::Launcher(const Driver& driver, GuardedMemory& memory, std::string target)
    : driver_(driver), memory_(memory), target_(std::move(target)) {}

/// Whether an image's own tables and sections lie within it: the driver (580.159.04) reads past the end of one that was
/// cut off, and dies of it.
bool is_whole_elf(std::string_view image) {
    Elf64_Ehdr header;
    if (image.size() < sizeof header || !image.starts_with(ELFMAG)) return false;
    std::memcpy(&header, image.data(), sizeof header);
    const auto lies_within = [&](uint64_t offset, uint64_t bytes) {
        return offset <= image.size() && bytes <= image.size() - offset;
    };
    if (header.e_shentsize != sizeof(Elf64_Shdr) || !lies_within(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)) ||
        !lies_within(header.e_phoff, uint64_t{header.e_phnum} * header.e_phentsize))
        return false;
    for (size_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section;
        std::memcpy(&section, image.data() + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type != SHT_NOBITS && !lies_within(section.sh_offset, section.sh_size)) return false;
    }
    return true;
}

ModuleId Launcher::load(const Binary& binary) {
    const bool machine_code = !binary.cubin.empty() && runs_on(binary.target, target_);
    if (!machine_code && binary.ptx.empty())
        throw Error("{} was built for {} and has no PTX that {} could compile", binary.file, binary.target, target_);
    if (machine_code && !is_whole_elf({binary.cubin.data(), binary.cubin.size()}))
        throw Error("{}: its machine code is cut off or no ELF image", binary.file);
    std::string log(kLogBytes, '\0');
    std::array options = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(kLogBytes)};
    CUmodule module = nullptr;
    const CUresult result = driver_.cuModuleLoadDataEx(&module, machine_code ? binary.cubin.data() : binary.ptx.c_str(),
                                                       options.size(), options.data(), values.data());
    if (result != CUDA_SUCCESS) {
        log.resize(std::strlen(log.c_str()));
        throw Error("cannot load {} ({}): {}{}{}", binary.file.empty() ? "a module" : binary.file,
                    machine_code ? "cubin" : "PTX", driver_.words(result), log.empty() ? "" : ": ", trimmed(log));
    }
    modules_.emplace(next_, Loaded{Module(driver_, module), {}});
    return next_++;
}

void Launcher::unload(ModuleId module) {
    if (modules_.erase(module) == 0) throw Error("there is no module {}", module);
}

PreparedRun Launcher::prepare(std::span<const Launch> launches) {
    PreparedRun run;
    for (const Launch& launch : launches) {
        PreparedLaunch& prepared = run.launches.emplace_back();
        run.refusal = launch.product ? prepare_product(launch, prepared) : prepare(launch, prepared);
        if (!run.refusal.empty()) {
            run.refusal = fmt::format("kernel `{}`: {}", launch.entry, run.refusal);
            break;
        }
        if (launch.programmatic && run.launches.size() > 1) {
            CUlaunchAttribute early = attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
            early.value.programmaticStreamSerializationAllowed = 1;
            prepared.attributes.push_back(early);
        }
    }
    return run;
}

std::string Launcher::prepare(const Launch& launch, PreparedLaunch& prepared) {
    const auto module = modules_.find(launch.module);
    if (module == modules_.end()) throw Error("there is no module {}", launch.module);
    Function& function = module->second.functions[launch.entry];
    if (function.handle == nullptr) {
        const CUresult found =
            driver_.cuModuleGetFunction(&function.handle, module->second.module.get(), launch.entry.c_str());
        if (found != CUDA_SUCCESS) return fmt::format("not found in its module: {}", driver_.words(found));
    }
    prepared.function = function.handle;
    prepared.entry = launch.entry;
    prepared.grid = launch.grid;
    prepared.block = launch.block;
    prepared.shared_bytes = launch.shared_bytes;
    std::string refusal = raise_shared_limit(launch, function);
    if (refusal.empty()) refusal = set_attributes(launch, prepared);
    if (refusal.empty()) refusal = set_arguments(launch, prepared);
    return refusal;
}

CublasLt& Launcher::cublas_lt(const std::string& path) { return cublas_lt_.try_emplace(path, path).first->second; }

std::string Launcher::prepare_product(const Launch& launch, PreparedLaunch& prepared) {
    const MatrixProduct& product = *launch.product;
    if (launch.arguments.size() != 4) return "a product takes left, right, result and workspace";
    PreparedProduct made = cublas_lt(product.library).prepare(product);
    const uint64_t element = size_bytes(dtype_named(product.dtype));
    const std::array<std::pair<CUdeviceptr*, uint64_t>, 4> wanted = {{
        {&made.left, product.rows * product.inner * element},
        {&made.right, product.columns * product.inner * element},
        {&made.result, product.rows * product.columns * element},
        {&made.workspace, product.workspace_bytes},
    }};
    for (size_t i = 0; i < wanted.size(); ++i)
        *wanted[i].first =
            memory_.address(launch.arguments[i].buffer, launch.arguments[i].offset_bytes, wanted[i].second);
    prepared.entry = "cuBLASLt";
    prepared.product = made;
    return "";
}

/// Only ever upwards: several launches of one function in a run may ask for different sizes.
std::string Launcher::raise_shared_limit(const Launch& launch, Function& function) const {
    if (launch.shared_bytes <= function.shared_limit) return "";
    const CUresult raised = driver_.cuFuncSetAttribute(function.handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                       static_cast<int>(launch.shared_bytes));
    if (raised != CUDA_SUCCESS)
        return fmt::format("{} bytes of dynamic shared memory: {}", launch.shared_bytes, driver_.words(raised));
    function.shared_limit = launch.shared_bytes;
    return "";
}

std::string Launcher::set_attributes(const Launch& launch, PreparedLaunch& prepared) const {
    if (launch.cluster.volume() > 1) {
        if (launch.cluster.volume() > kPortableClusterBlocks) {
            const CUresult large =
                driver_.cuFuncSetAttribute(prepared.function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
            if (large != CUDA_SUCCESS)
                return fmt::format("a cluster of {} blocks: {}", launch.cluster.volume(), driver_.words(large));
        }
        CUlaunchAttribute cluster = attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
        cluster.value.clusterDim = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
        prepared.attributes.push_back(cluster);
    }
    if (launch.cooperative) {
        CUlaunchAttribute cooperative = attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
        cooperative.value.cooperative = 1;
        prepared.attributes.push_back(cooperative);
    }
    return "";
}

/// The driver reads as many bytes as the kernel's parameters have, whatever it is given: number and sizes must agree.
std::string Launcher::set_arguments(const Launch& launch, PreparedLaunch& prepared) const {
    for (const Argument& argument : launch.arguments) {
        std::vector<std::byte>& bytes = prepared.arguments.emplace_back();
        if (argument.kind == Argument::Kind::value) {
            bytes = argument.value;
        } else if (argument.kind == Argument::Kind::buffer) {
            const CUdeviceptr address = memory_.address(argument.buffer, argument.offset_bytes, 0);
            bytes = bytes_of(&address, sizeof address);
        } else {
            std::string refusal = tensor_map_bytes(*argument.tensor_map, bytes);
            if (!refusal.empty()) return refusal;
        }
    }
    size_t offset = 0, size = 0, count = 0;
    while (driver_.cuFuncGetParamInfo(prepared.function, count, &offset, &size) == CUDA_SUCCESS) {
        if (count < prepared.arguments.size() && prepared.arguments[count].size() != size)
            return fmt::format("parameter {} has {} bytes and was given {}", count, size,
                               prepared.arguments[count].size());
        ++count;
    }
    if (count != prepared.arguments.size())
        return fmt::format("it takes {} parameters and was given {}", count, prepared.arguments.size());
    return "";
}

std::string Launcher::tensor_map_bytes(const TensorMap& map, std::vector<std::byte>& bytes) const {
    const DType type = dtype_named(map.dtype);
    const size_t rank = map.dims.size();
    const CUdeviceptr address = memory_.address(map.buffer, map.offset_bytes, 0);
    if (std::string why = tensor_map_refusal(map, address); !why.empty())
        return fmt::format("a tensor map over `{}`: {}", memory_.at(map.buffer).name, why);
    const std::vector<uint64_t> dense = tensor_map_strides(map);
    const std::vector<cuuint64_t> dims(map.dims.begin(), map.dims.end());
    // One dimension has no strides; the driver gets a pointer all the same, as it may refuse a null one.
    std::vector<cuuint64_t> strides(dense.begin(), dense.end());
    strides.resize(rank);
    const std::vector<cuuint32_t> box(map.box.begin(), map.box.end());
    std::vector<cuuint32_t> steps(map.element_strides.begin(), map.element_strides.end());
    if (steps.empty()) steps.assign(rank, 1);
    CUtensorMap made;
    const CUresult result = driver_.cuTensorMapEncodeTiled(
        &made, tensor_map_type(type), static_cast<cuuint32_t>(rank), reinterpret_cast<void*>(address), dims.data(),
        strides.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(map.swizzle),
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        map.nan_fill ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS)
        return fmt::format("a tensor map over `{}`: {}", memory_.at(map.buffer).name, driver_.words(result));
    bytes = bytes_of(&made, sizeof made);
    return "";
}

CUresult Launcher::enqueue(PreparedLaunch& launch, CUstream stream) const {
    if (launch.product) return launch.product->library->enqueue(*launch.product, stream);
    std::vector<void*> arguments;
    for (std::vector<std::byte>& bytes : launch.arguments) arguments.push_back(bytes.data());
    CUlaunchConfig config{};
    config.gridDimX = launch.grid.x;
    config.gridDimY = launch.grid.y;
    config.gridDimZ = launch.grid.z;
    config.blockDimX = launch.block.x;
    config.blockDimY = launch.block.y;
    config.blockDimZ = launch.block.z;
    config.sharedMemBytes = launch.shared_bytes;
    config.hStream = stream;
    config.attrs = launch.attributes.data();
    config.numAttrs = static_cast<unsigned>(launch.attributes.size());
    return driver_.cuLaunchKernelEx(&config, launch.function, arguments.data(), nullptr);
}

}  // namespace recuda::cuda
