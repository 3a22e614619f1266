// What the driver says of a GPU.
#include <algorithm>
#include <array>

#include "device/cuda/in_process.h"

namespace recuda::cuda {
namespace {

/// 16 blocks a cluster, as a kernel may opt in to on data-centre Hopper and Blackwell (CUDA C++ Programming Guide,
/// thread block clusters); 8 is what every card with clusters has.
uint32_t max_cluster_blocks(bool has_clusters, int major) {
    if (!has_clusters) return 1;
    return major == 9 || major == 10 ? 16 : 8;
}

/// "GPU-8f3c2a10-…", as nvidia-smi prints it.
std::string uuid_of(const Driver& driver, CUdevice device) {
    CUuuid uuid{};
    if (driver.cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS) return "";
    std::string text = "GPU";
    for (size_t i = 0; i < sizeof uuid.bytes; ++i)
        text += fmt::format("{}{:02x}", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                            static_cast<unsigned char>(uuid.bytes[i]));
    return text;
}

}  // namespace

int count_gpus(const Driver& driver) {
    int count = 0;
    driver.check(driver.cuDeviceGetCount(&count), "count the GPUs");
    return count;
}

DeviceInfo describe(const Driver& driver, int ordinal) {
    if (const int count = count_gpus(driver); ordinal < 0 || ordinal >= count)
        throw Error("there is no GPU {}: the driver shows {}", ordinal, count);
    CUdevice device = 0;
    driver.check(driver.cuDeviceGet(&device, ordinal), "open the GPU");
    // An attribute that the driver does not know, or a card does not have (a GB10's memory clock), is 0.
    const auto attribute = [&](CUdevice_attribute which) -> uint32_t {
        int value = 0;
        return driver.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS
                   ? static_cast<uint32_t>(std::max(value, 0))
                   : 0;
    };
    std::array<char, 256> name{};
    driver.check(driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()), device), "ask for the GPU's name");
    size_t memory_bytes = 0;
    driver.check(driver.cuDeviceTotalMem(&memory_bytes, device), "ask for the GPU's memory");
    const uint32_t major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);

    DeviceInfo info;
    info.kind = DeviceKind::cuda;
    info.name = name.data();
    info.target = fmt::format("sm_{}{}", major, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    info.measures_time = true;
    info.integrated = attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0;
    info.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    info.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    info.max_threads_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    info.max_blocks_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    info.max_shared_bytes = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    info.shared_bytes_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    info.registers_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    info.max_cluster_blocks =
        max_cluster_blocks(attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) != 0, static_cast<int>(major));
    info.clock_mhz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000;
    info.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    info.memory_bytes = memory_bytes;
    // Clock in kHz, bus in bits, two transfers a cycle.
    info.memory_bytes_per_ns = 2.0 * attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                               (attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8.0) / 1e6;
    info.driver = driver.version();
    info.uuid = uuid_of(driver, device);
    info.ordinal = ordinal;
    return info;
}

}  // namespace recuda::cuda
