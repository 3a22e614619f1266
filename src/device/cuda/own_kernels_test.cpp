// Our checking kernels give on the virtual GPU what the same rules give on the host.
#include "device/cuda/own_kernels.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/rng.h"
#include "device/hash.h"
#include "device/vgpu/vgpu.h"

namespace recuda {
namespace {

class OwnKernelsTest : public ::testing::Test {
 protected:
    OwnKernelsTest() : device_(make_vgpu()) {
        Binary binary;
        binary.file = "own_kernels.ptx";
        binary.target = "sm_75";
        binary.ptx = cuda::kOwnKernels;
        module_ = device_->load(binary);
    }

    template <typename T>
    static Argument value(T number) {
        const auto bytes = std::as_bytes(std::span(&number, 1));
        return {.value = {bytes.begin(), bytes.end()}};
    }

    BufferId with(std::span<const std::byte> bytes) {
        const BufferId id = device_->allocate("data", bytes.size());
        device_->write(id, 0, bytes);
        return id;
    }

    /// A buffer that a kernel stored its own address into: how a table of addresses is made here.
    uint64_t address_of(BufferId id) {
        Binary binary;
        binary.file = "address.ptx";
        binary.ptx = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry address(.param .u64 of, .param .u64 to)
{
    .reg .u64 %d<3>;
    ld.param.u64 %d1, [of];
    ld.param.u64 %d2, [to];
    st.global.u64 [%d2], %d1;
    ret;
}
)";
        const BufferId to = device_->allocate("to", 8);
        Launch launch{.module = device_->load(binary), .entry = "address", .grid = {1, 1, 1}, .block = {1, 1, 1}};
        launch.arguments = {{.kind = Argument::Kind::buffer, .buffer = id},
                            {.kind = Argument::Kind::buffer, .buffer = to}};
        EXPECT_EQ(device_->run(std::span(&launch, 1)).outcome, Outcome::correct);
        uint64_t address = 0;
        device_->read(to, 0, std::as_writable_bytes(std::span(&address, 1)));
        return address;
    }

    void run(const char* entry, Dim3 grid, uint32_t threads, std::vector<Argument> arguments) {
        Launch launch{.module = module_, .entry = entry, .grid = grid, .block = {threads, 1, 1}};
        launch.arguments = std::move(arguments);
        const Execution execution = device_->run(std::span(&launch, 1));
        EXPECT_EQ(execution.outcome, Outcome::correct)
            << execution.log << (execution.reports.empty() ? "" : execution.reports[0].message);
    }

    template <typename T>
    std::vector<T> content(BufferId id, size_t count) {
        std::vector<T> all(count);
        device_->read(id, 0, std::as_writable_bytes(std::span(all)));
        return all;
    }

    static Argument buffer(BufferId id) { return {.kind = Argument::Kind::buffer, .buffer = id}; }

    std::unique_ptr<Device> device_;
    ModuleId module_ = 0;
};

std::vector<std::byte> random_bytes(size_t count, uint64_t seed) {
    Rng random(seed);
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next() >> 56);
    return bytes;
}

TEST_F(OwnKernelsTest, HashesAsTheHostDoes) {
    std::vector<cuda::Extent> extents;
    std::vector<uint64_t> wanted;
    for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{9}, size_t{4096}, size_t{50001}}) {
        const std::vector<std::byte> bytes = random_bytes(count, count + 1);
        wanted.push_back(hash_of(bytes));
        extents.push_back({address_of(with(bytes)), count});
    }
    const BufferId table = with(std::as_bytes(std::span(extents)));
    const BufferId results = device_->allocate("results", 8 * extents.size());
    device_->fill(results, std::byte{0}, false);
    run("hash", {3, static_cast<uint32_t>(extents.size()), 1}, 256, {buffer(table), buffer(results)});
    EXPECT_EQ(content<uint64_t>(results, extents.size()), wanted);
}

TEST_F(OwnKernelsTest, FindsTheFirstBrokenByte) {
    const std::vector<std::byte> pattern = random_bytes(4096, 3);
    std::vector<std::byte> broken = pattern, short_one(pattern.begin(), pattern.begin() + 100);
    broken[700] ^= std::byte{1};
    broken[3000] ^= std::byte{1};
    const std::vector<cuda::Extent> extents{{address_of(with(pattern)), 4096},
                                            {address_of(with(broken)), 4096},
                                            {address_of(with(short_one)), 100},
                                            {0, 0}};
    const BufferId table = with(std::as_bytes(std::span(extents))), first = device_->allocate("first", 16);
    device_->fill(first, std::byte{0xff}, false);
    run("bands", {4, 1, 1}, 256, {buffer(table), buffer(first), buffer(with(pattern))});
    EXPECT_EQ(content<uint32_t>(first, 4), (std::vector<uint32_t>{0xffffffff, 700, 0xffffffff, 0xffffffff}));
}

TEST_F(OwnKernelsTest, SweepsAndMakesNoiseWithinItsMemory) {
    const BufferId memory = with(std::vector<std::byte>(1 << 14));
    run("sweep", {3, 1, 1}, 256, {buffer(memory), value<uint64_t>((1 << 14) / 16)});
    EXPECT_EQ(content<uint8_t>(memory, 1 << 14), std::vector<uint8_t>(1 << 14));
    run("noise", {2, 1, 1}, 64, {buffer(memory), value<uint32_t>(1 << 12), value<uint64_t>(2000)});
    EXPECT_NE(content<uint8_t>(memory, 1 << 14), std::vector<uint8_t>(1 << 14));
}

TEST(HashOf, TellsWhatDiffersAndWhere) {
    std::vector<std::byte> bytes = random_bytes(100, 9);
    const uint64_t hash = hash_of(bytes);
    for (size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] ^= std::byte{0x80};
        EXPECT_NE(hash_of(bytes), hash) << i;
        bytes[i] ^= std::byte{0x80};
    }
    std::swap_ranges(bytes.begin(), bytes.begin() + 8, bytes.begin() + 8);
    EXPECT_NE(hash_of(bytes), hash) << "two words that changed places";
    EXPECT_NE(hash_of(std::vector<std::byte>(8)), hash_of(std::vector<std::byte>(16)));
}

}  // namespace
}  // namespace recuda
