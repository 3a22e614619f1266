// What the tests of the CUDA device share: a device on the first GPU with our kernels loaded, or a skip with the
// reason.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "cuda_device_kernels.h"
#include "device/cuda/cuda.h"

namespace recuda {

inline Argument buffer(BufferId id, uint64_t offset = 0) { return {Argument::Kind::buffer, id, offset, {}, {}}; }

template <typename T>
Argument value(T number) {
    Argument argument;
    argument.value.resize(sizeof number);
    std::memcpy(argument.value.data(), &number, sizeof number);
    return argument;
}

class CudaDevice : public testing::Test {
 protected:
    void SetUp() override {
        static const CudaSurvey survey = survey_cuda();
        if (survey.devices.empty()) GTEST_SKIP() << "no GPU: " << survey.problem;
        device_ = make_cuda();
        load();
    }

    void load() { plain_ = load(kPlainKernels); }

    ModuleId load(const char* ptx) {
        Binary binary;
        binary.target = "sm_75";
        binary.ptx = ptx;
        binary.file = "kernels.ptx";
        return device_->load(binary);
    }

    bool has_clusters() const { return std::atoi(device_->info().target.c_str() + 3) >= 90; }

    template <typename T>
    BufferId with(std::string name, const std::vector<T>& content) {
        const BufferId id = device_->allocate(std::move(name), content.size() * sizeof(T));
        device_->write(id, 0, std::as_bytes(std::span(content)));
        return id;
    }

    template <typename T>
    std::vector<T> content(BufferId id, size_t count) {
        std::vector<T> numbers(count);
        device_->read(id, 0, std::as_writable_bytes(std::span(numbers)));
        return numbers;
    }

    Launch launch(const char* entry, uint32_t blocks, uint32_t threads, std::vector<Argument> arguments) const {
        Launch made;
        made.module = plain_;
        made.entry = entry;
        made.grid = {blocks, 1, 1};
        made.block = {threads, 1, 1};
        made.arguments = std::move(arguments);
        return made;
    }

    Execution run(const Launch& launch, double deadline_s = 60) {
        RunOptions options;
        options.deadline_s = deadline_s;
        return device_->run(std::array{launch}, options);
    }

    void expect_works() {
        const BufferId a = with<float>("a", {1, 2}), b = with<float>("b", {10, 20}), c = device_->allocate("c", 8);
        const Execution execution = run(launch("add", 1, 32, {buffer(a), buffer(b), buffer(c), value<uint32_t>(2)}));
        EXPECT_EQ(execution.outcome, Outcome::correct) << execution.log;
        EXPECT_EQ(content<float>(c, 2), (std::vector<float>{11, 22}));
        for (const BufferId id : {a, b, c}) device_->free(id);
    }

    std::unique_ptr<Device> device_;
    ModuleId plain_ = 0;
};

}  // namespace recuda
