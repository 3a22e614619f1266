#include "device/cuda/wire.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace recuda::cuda {
namespace {

TEST(Wire, PacksHeaderAndPayload) {
    const std::string payload("\0\xff{}\n", 5);
    const std::string message = packed({{"call", "write"}, {"id", 7}}, payload);
    const Unpacked parts = unpacked(message);
    EXPECT_EQ(Json::parse(parts.header), Json({{"call", "write"}, {"id", 7}}));
    EXPECT_EQ(parts.payload, payload);
}

TEST(Wire, RefusesWhatIsCutShort) {
    const std::string message = packed({{"call", "info"}});
    for (const size_t size : {size_t{0}, size_t{3}, size_t{4}, message.size() - 1})
        EXPECT_THROW(unpacked(std::string_view(message).substr(0, size)), Error) << size;
}

TEST(Wire, ProductComesBackWhole) {
    Launch launch;
    launch.product = std::make_shared<MatrixProduct>(
        MatrixProduct{"/lib/libcublasLt.so.13", "bf16", 8, 2688, 4096, {std::byte{1}, std::byte{0xfe}}, 1 << 20});
    launch.arguments.push_back({Argument::Kind::buffer, 5, 256, {}, {}});
    const Launch back = launch_from_json(Json::parse(dump(to_json(launch))));
    ASSERT_TRUE(back.product);
    EXPECT_EQ(back.product->library, launch.product->library);
    EXPECT_EQ(back.product->dtype, "bf16");
    EXPECT_EQ(back.product->rows, 8u);
    EXPECT_EQ(back.product->columns, 2688u);
    EXPECT_EQ(back.product->inner, 4096u);
    EXPECT_EQ(back.product->algorithm, launch.product->algorithm);
    EXPECT_EQ(back.product->workspace_bytes, 1u << 20);
    EXPECT_EQ(back.arguments.at(0).buffer, 5u);

    const ProductAlgorithms found = product_algorithms_from_json(
        Json::parse(dump(to_json(ProductAlgorithms{"13.0.2", {{{std::byte{7}}, 64, "tile 20"}}}))));
    EXPECT_EQ(found.library_version, "13.0.2");
    ASSERT_EQ(found.algorithms.size(), 1u);
    EXPECT_EQ(found.algorithms[0].algorithm, std::vector{std::byte{7}});
    EXPECT_EQ(found.algorithms[0].workspace_bytes, 64u);
    EXPECT_EQ(found.algorithms[0].words, "tile 20");
}

TEST(Wire, LaunchComesBackWhole) {
    Launch launch;
    launch.module = 3;
    launch.entry = "gemv";
    launch.grid = {70000, 2, 3};
    launch.block = {128, 1, 2};
    launch.cluster = {2, 1, 1};
    launch.shared_bytes = 99000;
    launch.cooperative = true;
    launch.programmatic = true;
    launch.arguments.push_back({Argument::Kind::buffer, 5, 1ull << 40, {}, {}});
    launch.arguments.push_back({Argument::Kind::value, 0, 0, {std::byte{0}, std::byte{0xff}, std::byte{0x1a}}, {}});
    launch.arguments.push_back(
        {Argument::Kind::tensor_map,
         0,
         0,
         {},
         std::make_shared<TensorMap>(TensorMap{9, "bf16", {64, 32}, {256}, {64, 8}, 128, {}, false, 512})});

    const Launch back = launch_from_json(Json::parse(dump(to_json(launch))));

    EXPECT_EQ(back.module, 3u);
    EXPECT_EQ(back.entry, "gemv");
    EXPECT_EQ(back.grid, launch.grid);
    EXPECT_EQ(back.block, launch.block);
    EXPECT_EQ(back.cluster, launch.cluster);
    EXPECT_EQ(back.shared_bytes, 99000u);
    EXPECT_TRUE(back.cooperative);
    EXPECT_TRUE(back.programmatic);
    ASSERT_EQ(back.arguments.size(), 3u);
    EXPECT_EQ(back.arguments[0].kind, Argument::Kind::buffer);
    EXPECT_EQ(back.arguments[0].buffer, 5u);
    EXPECT_EQ(back.arguments[0].offset_bytes, 1ull << 40);
    EXPECT_EQ(back.arguments[1].kind, Argument::Kind::value);
    EXPECT_EQ(back.arguments[1].value, launch.arguments[1].value);
    ASSERT_EQ(back.arguments[2].kind, Argument::Kind::tensor_map);
    const TensorMap& map = *back.arguments[2].tensor_map;
    EXPECT_EQ(map.buffer, 9u);
    EXPECT_EQ(map.dtype, "bf16");
    EXPECT_EQ(map.dims, (std::vector<uint64_t>{64, 32}));
    EXPECT_EQ(map.strides_bytes, (std::vector<uint64_t>{256}));
    EXPECT_EQ(map.box, (std::vector<uint32_t>{64, 8}));
    EXPECT_EQ(map.swizzle, 128u);
    EXPECT_EQ(map.offset_bytes, 512u);
}

TEST(Wire, ExecutionComesBackWhole) {
    Execution execution;
    execution.outcome = Outcome::faulted;
    execution.log = "CUDA_ERROR_ILLEGAL_ADDRESS";
    execution.gpu_ns = 1234.5;
    execution.printed = "not UTF-8: \xff";
    Report& report = execution.reports.emplace_back();
    report.buffer = "y";
    report.byte_offset = -4;
    const Execution back = execution_from_json(Json::parse(dump(to_json(execution))));
    EXPECT_EQ(back.outcome, Outcome::faulted);
    EXPECT_EQ(back.log, "CUDA_ERROR_ILLEGAL_ADDRESS");
    EXPECT_EQ(back.printed, "not UTF-8: \xEF\xBF\xBD");
    ASSERT_EQ(back.reports.size(), 1u);
    EXPECT_EQ(back.reports[0].check, Check::out_of_bounds);
    EXPECT_EQ(back.reports[0].buffer, "y");
    EXPECT_EQ(back.reports[0].byte_offset, -4);
    EXPECT_EQ(back.gpu_ns, 1234.5);
}

TEST(Wire, TimingAndItsRequestComeBackWhole) {
    TimingRequest request;
    request.sequences.resize(2);
    request.sequences[1].resize(1);
    request.sequences[1][0].entry = "k";
    request.samples = 7;
    request.warmups = 2;
    request.runs_per_sample = 20;
    request.cleared = {4, 5};
    request.deadline_s = 1.5;
    request.outputs = {{}, {{{7, 256, 100}, 0xfedcba9876543210, {}}, {{8, 0, 4}, 1, Region{9, 512, 4}}}};
    request.poisoned = {6};
    request.poison = std::byte{0xa5};
    request.cold = false;
    const TimingRequest asked = timing_request_from_json(Json::parse(dump(to_json(request))));
    ASSERT_EQ(asked.sequences.size(), 2u);
    EXPECT_TRUE(asked.sequences[0].empty());
    EXPECT_EQ(asked.sequences[1].at(0).entry, "k");
    EXPECT_EQ(asked.samples, 7u);
    EXPECT_EQ(asked.warmups, 2u);
    EXPECT_EQ(asked.runs_per_sample, 20u);
    EXPECT_EQ(asked.cleared, request.cleared);
    EXPECT_EQ(asked.deadline_s, 1.5);
    ASSERT_EQ(asked.outputs.size(), 2u);
    EXPECT_TRUE(asked.outputs[0].empty());
    const TimedOutput &fresh = asked.outputs[1].at(0), &in_place = asked.outputs[1].at(1);
    EXPECT_EQ(fresh.region.buffer, 7u);
    EXPECT_EQ(fresh.region.offset_bytes, 256u);
    EXPECT_EQ(fresh.region.bytes, 100u);
    EXPECT_EQ(fresh.hash, 0xfedcba9876543210);
    EXPECT_FALSE(fresh.original);
    ASSERT_TRUE(in_place.original);
    EXPECT_EQ(in_place.original->offset_bytes, 512u);
    EXPECT_EQ(asked.poisoned, request.poisoned);
    EXPECT_EQ(asked.poison, std::byte{0xa5});
    EXPECT_FALSE(asked.cold);

    const Timing timing{Outcome::correct, {1234.5, 0.1}, {1980.25}, "graph", "", 40, 3};
    const Timing back = timing_from_json(Json::parse(dump(to_json(timing))));
    EXPECT_EQ(back.outcome, Outcome::correct);
    EXPECT_EQ(back.checked_runs, 40u);
    EXPECT_EQ(back.wrong_sequence, 3u);
    EXPECT_FALSE(timing_from_json(Json::parse(dump(to_json(Timing())))).wrong_sequence);
    EXPECT_EQ(back.samples_ns, timing.samples_ns);
    EXPECT_EQ(back.clock_mhz, timing.clock_mhz);
    EXPECT_EQ(back.method, "graph");
}

TEST(Wire, DeviceInfoComesBackWhole) {
    DeviceInfo info;
    info.kind = DeviceKind::cuda;
    info.name = "NVIDIA GB10";
    info.target = "sm_121";
    info.measures_time = true;
    info.integrated = true;
    info.sm_count = 48;
    info.max_shared_bytes = 101376;
    info.l2_bytes = 25165824;
    info.memory_bytes = 1ull << 37;
    info.memory_bytes_per_ns = 0;
    info.driver = "580.159.04 (CUDA 13.0)";
    const DeviceInfo back = device_info_from_json(Json::parse(dump(to_json(info))));
    EXPECT_EQ(back.kind, DeviceKind::cuda);
    EXPECT_EQ(to_json(back), to_json(info));
    EXPECT_EQ(back.name, "NVIDIA GB10");
    EXPECT_TRUE(back.integrated);
    EXPECT_EQ(back.memory_bytes, 1ull << 37);
}

}  // namespace
}  // namespace recuda::cuda
