// The references of the catalogue against what other implementations gave: tests/goldens/README.md says what is there
// and how it compares. Each reference is built twice, with outputs in double and with outputs as the op stores them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/process.h"
#include "device/limits.h"
#include "device/vgpu/vgpu.h"
#include "judge/build.h"
#include "judge/reference.h"
#include "task/catalogue.h"
#include "task/op.h"
#include "tensor/safetensors.h"

namespace recuda {
namespace {

using nlohmann::json;

/// What every case shares: files, device, and the references that were built for it.
class Goldens : public ::testing::Test {
 protected:
    static void SetUpTestSuite() {
        const std::filesystem::path folder = std::filesystem::path(RECUDA_SOURCE_DIR) / "tests/goldens";
        index_ = json::parse(read_file((folder / "index.json").string()));
        tensors_ = read_safetensors(folder / "ops.safetensors");
        for (const json& entry : index_) tasks_.push_back(task_of(entry));
        build();
    }
    static void TearDownTestSuite() {
        programs_.clear();
        tasks_.clear();
        tensors_.clear();
    }

    static Task task_of(const json& entry) {
        static Catalogue catalogue(RECUDA_SOURCE_DIR);
        Task task{.name = entry.at("case"), .op = catalogue.op(entry.at("op"))};
        Axes axes = entry.at("axes").get<std::map<std::string, int64_t, std::less<>>>();
        task.verify = {axes};
        axes.erase("T");
        task.axes = std::move(axes);
        task.scalars = entry.at("scalars").get<std::map<std::string, double>>();
        for (const OptionSpec& option : task.op->options)
            task.options[option.name] = entry.at("options").value(option.name, option.default_value);
        return task;
    }

    /// Cases of one op with the same constants share a program.
    static std::string key_of(const Task& task, OutputTypes outputs) {
        std::string key = fmt::format("{} {} {}", task.op->name, outputs == OutputTypes::exact, shown(task.verify[0]));
        for (const auto& [name, value] : task.options) key += fmt::format(" {}={}", name, value);
        for (const auto& [name, value] : task.scalars) key += fmt::format(" {}={}", name, value);
        return key;
    }

    /// All of them together on the pool of compilers.
    static void build() {
        const TemporaryFolder cache;
        const std::unique_ptr<Builder> builder = make_builder({.workers = 2,
                                                               .cache_folder = cache.path().string(),
                                                               .worker_command = {this_program(), "compile-worker"}});
        const DeviceLimits limits = limits_of(device().info());
        std::vector<std::string> keys;
        std::vector<Order> orders;
        for (const Task& task : tasks_)
            for (const OutputTypes outputs : {OutputTypes::exact, OutputTypes::stored}) {
                const std::string key = key_of(task, outputs);
                if (!programs_.try_emplace(key).second) continue;
                const CompileOptions options{.target = "sm_90",
                                             .outputs = outputs,
                                             .extra = reference_buffers(*task.op, outputs),
                                             .candidate = false,
                                             .cubin = false};
                keys.push_back(key);
                orders.push_back(order_of(candidate_from(task.op->folder / "reference.cu", task.verify, limits), task,
                                          task.verify, limits, options));
            }
        std::vector<Built> all = build_all(*builder, std::move(orders));
        for (size_t i = 0; i < all.size(); ++i) {
            if (all[i].outcome != Outcome::correct) throw Error("{}: {}", keys[i], all[i].log);
            programs_[keys[i]] = std::make_unique<LoadedProgram>(device(), std::move(all[i].compilation),
                                                                 std::move(all[i].binaries), limits);
        }
    }

    static Device& device() {
        static const std::unique_ptr<Device> device = make_vgpu();
        return *device;
    }

    /// Everything that the reference writes for the inputs of a case, its auxiliaries too.
    static Outputs answer(const json& entry, const Task& task, OutputTypes outputs) {
        const Op& op = *task.op;
        const Axes& axes = task.verify[0];
        Buffers buffers(device());
        for (const TensorSpec& input : op.inputs) {
            const Tensor& contents = tensors_.at(entry.at("inputs").at(input.name));
            EXPECT_EQ(contents.dtype, input.dtype) << input.name;
            EXPECT_EQ(contents.size(), buffer_elements(input, axes)) << input.name;
            device().write(buffers.add(input.name, contents.bytes.size()), 0, contents.bytes);
        }
        const ExtraBuffers written = reference_buffers(op, outputs);
        std::map<std::string, TensorSpec> specs;
        for (const TensorSpec* tensor : written_tensors(op))
            specs.emplace(tensor->inout ? tensor->name + "_out" : tensor->name, *tensor);
        for (const TensorSpec& tensor : op.auxiliaries) specs.emplace(tensor.name, tensor);
        for (const auto& [name, dtype] : written)
            buffers.add(name, static_cast<uint64_t>(buffer_elements(specs.at(name), axes)) * size_bytes(dtype));

        const std::vector<Launch> launches = programs_.at(key_of(task, outputs))->launches(0, buffers.places());
        const Execution execution = device().run(launches);
        EXPECT_EQ(execution.outcome, Outcome::correct)
            << (execution.reports.empty() ? execution.log : execution.reports[0].message);
        Outputs answers;
        for (const auto& [name, dtype] : written) {
            Tensor tensor(dtype, shape_of(specs.at(name), axes));
            device().read(buffers.at(name), 0, tensor.bytes);
            answers.emplace(specs.at(name).name, std::move(tensor));
        }
        return answers;
    }

    static void expect_bits(const Tensor& seen, const Tensor& golden) {
        ASSERT_EQ(seen.size(), golden.size());
        const size_t width = size_bytes(golden.dtype);
        Tensor rounded(golden.dtype, golden.shape);
        for (int64_t i = 0; i < seen.size(); ++i) rounded.set(i, seen.at(i));
        for (int64_t i = 0; i < seen.size(); ++i) {
            const auto* bits = rounded.bytes.data() + static_cast<size_t>(i) * width;
            ASSERT_TRUE(std::equal(bits, bits + width, golden.bytes.data() + static_cast<size_t>(i) * width))
                << "element " << i << ": " << seen.at(i) << ", golden " << golden.at(i);
        }
    }

    static void expect_close(const Tensor& seen, const Tensor& golden, double tolerance) {
        ASSERT_EQ(seen.size(), golden.size());
        for (int64_t i = 0; i < seen.size(); ++i)
            ASSERT_LE(std::abs(seen.at(i) - golden.at(i)), tolerance * std::abs(golden.at(i)))
                << "element " << i << ": " << seen.at(i) << ", golden " << golden.at(i);
    }

    /// The k-th of both has one score: among equal scores either order is right.
    static void expect_choice(const Tensor& seen, const Tensor& golden, const Tensor& scores, double tolerance) {
        ASSERT_EQ(seen.shape, golden.shape);
        const int64_t chosen = seen.shape.back(), of = scores.shape.back();
        for (int64_t i = 0; i < seen.size(); ++i) {
            const int64_t row = i / chosen * of;
            const auto at = static_cast<int64_t>(seen.at(i)), wanted = static_cast<int64_t>(golden.at(i));
            ASSERT_TRUE(at >= 0 && at < of) << "element " << i << ": " << at;
            const double score = scores.at(row + wanted);
            ASSERT_LE(std::abs(scores.at(row + at) - score), tolerance * std::abs(score)) << "element " << i;
        }
    }

    static json index_;
    static std::map<std::string, Tensor> tensors_;
    static std::vector<Task> tasks_;
    static std::map<std::string, std::unique_ptr<LoadedProgram>> programs_;
};
json Goldens::index_;
std::map<std::string, Tensor> Goldens::tensors_;
std::vector<Task> Goldens::tasks_;
std::map<std::string, std::unique_ptr<LoadedProgram>> Goldens::programs_;

TEST_F(Goldens, ReferencesAgreeWithOtherImplementations) {
    std::map<std::string, int> compared;
    for (size_t i = 0; i < tasks_.size(); ++i) {
        const json& entry = index_[i];
        SCOPED_TRACE(tasks_[i].name);
        const Outputs exact = answer(entry, tasks_[i], OutputTypes::exact);
        const Outputs stored = answer(entry, tasks_[i], OutputTypes::stored);
        for (const json& output : entry.at("outputs")) {
            const std::string name = output.at("tensor"), how = output.at("compare");
            SCOPED_TRACE(name + " " + how);
            const Tensor& golden = tensors_.at(output.at("golden"));
            ++compared[how];
            if (how == "bitwise") {
                expect_bits(exact.at(name), golden);
                expect_bits(stored.at(name), golden);
            } else if (how == "close") {
                expect_close(exact.at(name), golden, output.at("tolerance"));
            } else {
                ASSERT_EQ(how, "choice");
                const Tensor& scores = exact.at(output.at("score").get<std::string>());
                expect_choice(exact.at(name), golden, scores, output.at("tolerance"));
                EXPECT_EQ(stored.at(name).bytes, exact.at(name).bytes);
            }
        }
    }
    std::map<std::string, int> cases;
    for (const Task& task : tasks_) ++cases[task.op->name];
    for (const auto& folder : std::filesystem::directory_iterator(std::filesystem::path(RECUDA_SOURCE_DIR) / "ops")) {
        const std::string op = folder.path().filename().string();
        EXPECT_EQ(cases[op] > 0, op != "zero_centred_add_rmsnorm") << op;  // of that one both halves are covered
    }
    EXPECT_EQ(tasks_.size(), 31u);
    EXPECT_EQ(compared, (std::map<std::string, int>{{"bitwise", 30}, {"close", 18}, {"choice", 1}}));
}

}  // namespace
}  // namespace recuda
