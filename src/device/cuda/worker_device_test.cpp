// The proxy, the serving loop and the survey, with a device in place of the GPU whose kernels die, hang and fault on
// demand. This program is its own worker, so it has its own main.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/worker_process.h"
#include "device/cuda/cuda.h"
#include "device/cuda/server.h"
#include "device/cuda/wire.h"
#include "device/hash.h"

namespace recuda {
namespace {

using testing::HasSubstr;

/// A device whose "kernels" are named for what they do.
class FakeDevice : public Device {
 public:
    /// `wedged`: its kernels do not do what they must any more.
    explicit FakeDevice(bool wedged = false) : wedged_(wedged) {
        info_.kind = DeviceKind::cuda;
        info_.name = "fake GPU";
        info_.target = "sm_90";
        info_.measures_time = true;
    }
    bool usable() const { return usable_; }
    const DeviceInfo& info() const override { return info_; }
    BufferId allocate(std::string, uint64_t bytes) override {
        if (bytes > 1ull << 40) throw Error("cannot allocate {} bytes", bytes);
        buffers_[next_ += 10].resize(bytes);
        return next_;
    }
    std::vector<uint64_t> hashes(std::span<const Region> regions) override {
        if (wedged_) return std::vector<uint64_t>(regions.size(), 1);
        return Device::hashes(regions);
    }
    void free(BufferId buffer) override {
        if (buffers_.erase(buffer) == 0) throw Error("there is no buffer {}", buffer);
    }
    void write(BufferId buffer, uint64_t offset, std::span<const std::byte> bytes) override {
        std::memcpy(buffers_.at(buffer).data() + offset, bytes.data(), bytes.size());
    }
    void read(BufferId buffer, uint64_t offset, std::span<std::byte> bytes) override {
        std::memcpy(bytes.data(), buffers_.at(buffer).data() + offset, bytes.size());
    }
    void fill(BufferId buffer, std::byte value, bool) override {
        std::fill(buffers_.at(buffer).begin(), buffers_.at(buffer).end(), value);
    }
    ModuleId load(const Binary& binary) override {
        if (binary.ptx.empty() && binary.cubin.empty()) throw Error("cannot load {}: empty", binary.file);
        loaded_ = binary;
        return 77;
    }
    void unload(ModuleId) override {}
    Execution run(std::span<const Launch> launches, const RunOptions&) override {
        Execution execution;
        for (const Launch& launch : launches) run(launch, execution);
        return execution;
    }
    Timing time(const TimingRequest& request) override {
        Execution execution;
        for (const Launch& launch : request.sequences.at(0)) run(launch, execution);
        return {execution.outcome, std::vector<double>(request.samples, 1000), {}, "fake", execution.log};
    }
    ProductAlgorithms product_algorithms(const MatrixProduct& product, uint32_t most, uint64_t limit) override {
        if (product.library.empty()) throw Error("cannot open it");
        return {product.dtype, std::vector<ProductAlgorithm>(most, {{std::byte{4}}, limit, "tile 20"})};
    }

 private:
    void run(const Launch& launch, Execution& execution) {
        if (launch.product) {  // fills its third argument with the first byte of the algorithm
            std::vector<std::byte>& result = buffers_.at(launch.arguments.at(2).buffer);
            std::fill(result.begin(), result.end(), launch.product->algorithm.at(0));
            return;
        }
        if (launch.module != 77) throw Error("there is no module {}", launch.module);
        if (launch.entry == "exit") ::_exit(3);
        if (launch.entry == "crash") ::raise(SIGKILL);
        if (launch.entry == "hang") ::pause();
        if (launch.entry == "fault") {
            usable_ = false;
            execution.outcome = Outcome::faulted;
            execution.log = "CUDA_ERROR_ILLEGAL_ADDRESS";
        }
        if (launch.entry == "add") {  // adds its second argument, a byte, to each byte of its first
            for (std::byte& byte : buffers_.at(launch.arguments.at(0).buffer))
                byte = static_cast<std::byte>(std::to_integer<int>(byte) +
                                              std::to_integer<int>(launch.arguments.at(1).value.at(0)));
            execution.printed = loaded_.ptx + "/" + loaded_.cubin + "/" + loaded_.file;
        }
    }

    DeviceInfo info_;
    std::map<BufferId, std::vector<std::byte>> buffers_;
    BufferId next_ = 100;
    Binary loaded_;
    bool usable_ = true;
    bool wedged_ = false;
};

Binary binary() {
    Binary made;
    made.target = "sm_90";
    made.file = "k.cu";
    made.ptx = "ptx text";
    made.cubin = std::string("\x7f\0ELF", 5);
    return made;
}

Launch launch_of(ModuleId module, std::string entry) {
    Launch launch;
    launch.module = module;
    launch.entry = std::move(entry);
    return launch;
}

std::unique_ptr<Device> open() { return make_cuda({0, {this_program(), "worker"}}); }

TEST(WorkerDevice, ForwardsEveryCall) {
    const auto device = open();
    EXPECT_EQ(device->info().name, "fake GPU");
    const BufferId buffer = device->allocate("x", 4);
    device->fill(buffer, std::byte{1}, true);
    const std::array<std::byte, 2> part = {std::byte{8}, std::byte{9}};
    device->write(buffer, 1, part);
    const ModuleId module = device->load(binary());
    Launch launch = launch_of(module, "add");
    launch.arguments.push_back({Argument::Kind::buffer, buffer, 0, {}, {}});
    launch.arguments.push_back({Argument::Kind::value, 0, 0, {std::byte{5}}, {}});
    const Execution execution = device->run(std::array{launch});
    EXPECT_EQ(execution.outcome, Outcome::correct);
    EXPECT_EQ(execution.printed, std::string("ptx text/\x7f\0ELF/k.cu", 19));
    std::array<std::byte, 4> result{};
    device->read(buffer, 0, result);
    EXPECT_EQ(result, (std::array{std::byte{6}, std::byte{13}, std::byte{14}, std::byte{6}}));

    TimingRequest request;
    request.sequences = {{launch}};
    request.samples = 4;
    const Timing timing = device->time(request);
    EXPECT_EQ(timing.samples_ns, std::vector<double>(4, 1000));
    EXPECT_EQ(timing.method, "fake");
    device->unload(module);
    device->free(buffer);
    EXPECT_THROW(device->free(buffer), Error);
}

TEST(WorkerDevice, AsksForAndLaunchesAProduct) {
    const auto device = open();
    MatrixProduct product{"/lib/libcublasLt.so.13", "bf16", 1, 1, 8, {}, 0};
    const ProductAlgorithms found = device->product_algorithms(product, 2, 1 << 20);
    EXPECT_EQ(found.library_version, "bf16");
    ASSERT_EQ(found.algorithms.size(), 2u);
    EXPECT_EQ(found.algorithms[1].workspace_bytes, 1u << 20);
    product.algorithm = found.algorithms[1].algorithm;
    const BufferId result = device->allocate("y", 2);
    Launch launch{.product = std::make_shared<const MatrixProduct>(product)};
    for (int i = 0; i < 4; ++i) launch.arguments.push_back({Argument::Kind::buffer, result, 0, {}, {}});
    EXPECT_EQ(device->run(std::array{launch}).outcome, Outcome::correct);
    std::array<std::byte, 2> read{};
    device->read(result, 0, read);
    EXPECT_EQ(read, (std::array{std::byte{4}, std::byte{4}}));
    product.library.clear();
    EXPECT_THROW(device->product_algorithms(product, 2, 0), Error);
}

TEST(WorkerDevice, CarriesLargeTensors) {
    const auto device = open();
    std::vector<std::byte> sent(70u << 20), got(sent.size());
    for (size_t i = 0; i < sent.size(); i += 977) sent[i] = static_cast<std::byte>(i >> 10);
    const BufferId buffer = device->allocate("large", sent.size());
    device->write(buffer, 0, sent);
    device->read(buffer, 0, got);
    EXPECT_TRUE(sent == got);
}

TEST(WorkerDevice, WhatTheDeviceThrowsIsAnErrorOfTheCallAlone) {
    const auto device = open();
    const BufferId buffer = device->allocate("x", 1);
    try {
        device->allocate("huge", 1ull << 50);
        FAIL();
    } catch (const DeviceLost&) {
        FAIL() << "the worker is still there";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "cannot allocate 1125899906842624 bytes");
    }
    Binary empty;
    empty.file = "none.cu";
    EXPECT_THROW(device->load(empty), Error);
    device->fill(buffer, std::byte{1}, false);
}

struct Ending {
    const char* entry;
    Outcome outcome;
    const char* log;
};

class WorkerEnds : public testing::TestWithParam<Ending> {};

TEST_P(WorkerEnds, IsTheRunsOutcomeAndTheNextCallHasAnotherWorker) {
    const Ending& ending = GetParam();
    const auto device = open();
    const BufferId buffer = device->allocate("x", 4);
    const ModuleId module = device->load(binary());
    RunOptions options;
    options.deadline_s = -9.5;  // with the proxy's grace: 0.5 s
    if (std::string_view(ending.entry) != "hang") options.deadline_s = 60;

    const Execution execution = device->run(std::array{launch_of(module, ending.entry)}, options);
    EXPECT_EQ(execution.outcome, ending.outcome);
    EXPECT_THAT(execution.log, HasSubstr(ending.log));

    std::array<std::byte, 4> bytes{};
    EXPECT_THROW(device->read(buffer, 0, bytes), DeviceLost);
    EXPECT_THROW(device->run(std::array{launch_of(module, "add")}), DeviceLost);
    device->free(buffer);
    device->unload(module);

    const BufferId next = device->allocate("x", 4);
    EXPECT_NE(next, buffer);
    device->fill(next, std::byte{3}, false);
    device->read(next, 0, bytes);
    EXPECT_EQ(bytes[3], std::byte{3});
    EXPECT_THROW(device->read(buffer, 0, bytes), DeviceLost);
    EXPECT_THROW(device->read(next + 1, 0, bytes), Error);
}

INSTANTIATE_TEST_SUITE_P(
    WorkerDevice, WorkerEnds,
    testing::Values(Ending{"exit", Outcome::faulted, "the process that ran it died: exit status 3"},
                    Ending{"crash", Outcome::faulted, "the process that ran it died: killed by signal 9"},
                    Ending{"hang", Outcome::timed_out, "did not answer within 0.5 s"},
                    Ending{"fault", Outcome::faulted, "CUDA_ERROR_ILLEGAL_ADDRESS"}),
    [](const auto& info) { return info.param.entry; });

TEST(WorkerDevice, TimingThatKillsTheWorkerIsFaulted) {
    const auto device = open();
    TimingRequest request;
    request.sequences = {{launch_of(device->load(binary()), "crash")}};
    const Timing timing = device->time(request);
    EXPECT_EQ(timing.outcome, Outcome::faulted);
    EXPECT_THAT(timing.log, HasSubstr("died"));
    EXPECT_TRUE(timing.samples_ns.empty());
}

TEST(WorkerDevice, HashesRegionsOfItsBuffers) {
    const auto device = open();
    const BufferId buffer = device->allocate_guarded("x", 700, Guard::before);
    std::vector<std::byte> bytes(700, std::byte{3});
    device->write(buffer, 0, bytes);
    const std::array regions = {Region{buffer, 0, 700}, Region{buffer, 256, 100}};
    EXPECT_EQ(device->hashes(regions), (std::vector<uint64_t>{hash_of(bytes), hash_of(std::span(bytes).first(100))}));
}

TEST(WorkerDevice, AGpuThatDoesNotComeBackIsSaidToBeWedged) {
    const TemporaryFolder folder;
    const auto device = make_cuda({0, {this_program(), "worker", "--wedges", (folder.path() / "mark").string()}});
    const ModuleId module = device->load(binary());
    EXPECT_EQ(device->run(std::array{launch_of(module, "crash")}).outcome, Outcome::faulted);
    for (int i = 0; i < 2; ++i) {
        try {
            device->allocate("x", 4);
            FAIL();
        } catch (const DeviceWedged& error) {
            EXPECT_THAT(error.what(), HasSubstr("the last one had ended (killed by signal 9"));
            EXPECT_THAT(error.what(), HasSubstr("a small kernel of our own gives a wrong result"));
        }
    }
}

TEST(WorkerDevice, AGpuThatCannotBeOpenedIsAnError) {
    try {
        make_cuda({0, {this_program(), "worker", "--broken"}});
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "there is no GPU 0");
    }
    EXPECT_THROW(make_cuda({0, {"/bin/false"}}), DeviceLost);
    EXPECT_THROW(make_cuda({0, {"/no/such/program"}}), Error);
}

TEST(Serve, AnswersNonsenseAndGoesOn) {
    int requests[2], replies[2];
    ASSERT_EQ(::pipe(requests), 0);
    ASSERT_EQ(::pipe(replies), 0);
    std::thread server([&] {
        FakeDevice device;
        cuda::serve(device, requests[0], replies[1], [] { return true; });
    });
    const auto ask = [&](std::string_view message) {
        write_message(requests[1], message);
        return Json::parse(cuda::unpacked(*read_message(replies[0])).header);
    };
    EXPECT_THAT(ask("x").at("error"), HasSubstr("cut short"));
    EXPECT_THAT(ask(cuda::packed({{"call", "dance"}})).at("error"), HasSubstr("there is no call `dance`"));
    EXPECT_TRUE(ask(cuda::packed({{"call", "free"}})).contains("error"));
    EXPECT_EQ(ask(cuda::packed({{"call", "info"}})).at("name"), "fake GPU");
    EXPECT_FALSE(ask(cuda::packed({{"call", "info"}})).contains("lost"));
    ::close(requests[1]);
    server.join();
}

TEST(Survey, SaysWhatToDoWithoutADriver) {
    const CudaSurvey survey = survey_cuda({this_program(), "worker", "--survey"});
    if (!survey.devices.empty()) GTEST_SKIP() << "this machine has a GPU";
    EXPECT_FALSE(survey.problem.empty());
    if (survey.driver_path.empty() && survey.problem.find("libcuda") != std::string::npos) {
        EXPECT_THAT(survey.problem,
                    HasSubstr("no libcuda.so.1: install NVIDIA's driver (580 or newer), or use --device vgpu"));
    }
}

TEST(Survey, AProcessThatFailsIsAProblem) {
    EXPECT_THAT(survey_cuda({"/bin/sh", "-c", "echo broken >&2; exit 7"}).problem, HasSubstr("status 7: broken"));
    EXPECT_THAT(survey_cuda({"/bin/sh", "-c", "kill -SEGV $$"}).problem, HasSubstr("status 139"));
    EXPECT_THAT(survey_cuda({"/bin/echo", "{]"}).problem, HasSubstr("cannot ask NVIDIA's driver"));
    EXPECT_THAT(survey_cuda({"/bin/echo", "{}"}).problem, HasSubstr("cannot ask NVIDIA's driver"));
    EXPECT_THAT(survey_cuda({"/no/such/program"}).problem, HasSubstr("cannot ask NVIDIA's driver"));
}

TEST(Survey, ReadsWhatTheWorkerPrints) {
    DeviceInfo info;
    info.name = "NVIDIA H200";
    info.target = "sm_90";
    const Json printed = {{"devices", {cuda::to_json(info)}},
                          {"driver_version", "580 (CUDA 13.0)"},
                          {"driver_path", "/x/libcuda.so.580"},
                          {"problem", ""}};
    const CudaSurvey survey = survey_cuda({"/bin/echo", dump(printed)});
    ASSERT_EQ(survey.devices.size(), 1u);
    EXPECT_EQ(survey.devices[0].name, "NVIDIA H200");
    EXPECT_EQ(survey.devices[0].kind, DeviceKind::cuda);
    EXPECT_EQ(survey.driver_version, "580 (CUDA 13.0)");
    EXPECT_EQ(survey.driver_path, "/x/libcuda.so.580");
    EXPECT_EQ(survey.problem, "");
}

int serve_fake_worker(bool wedged = false) {
    FakeDevice device(wedged);
    cuda::serve(device, STDIN_FILENO, STDOUT_FILENO, [&device] { return device.usable(); });
    return 0;
}

}  // namespace
}  // namespace recuda

int main(int argc, char** argv) {
    const std::string_view role = argc > 1 ? argv[1] : "", option = argc > 2 ? argv[2] : "";
    if (role == "worker" && option == "--survey") return recuda::print_cuda_survey();
    if (role == "worker" && option == "--broken") {
        recuda::cuda::serve_failure(STDIN_FILENO, STDOUT_FILENO, "there is no GPU 0");
        return 1;
    }
    if (role == "worker" && option == "--wedges") {  // all but the first
        const bool wedged = std::filesystem::exists(argv[3]);
        recuda::write_atomically(argv[3], "");
        return recuda::serve_fake_worker(wedged);
    }
    if (role == "worker") return recuda::serve_fake_worker();
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
