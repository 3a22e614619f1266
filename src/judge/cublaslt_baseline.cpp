#include "judge/cublaslt_baseline.h"

#include <array>

#include "build/cublas_lt_library.h"
#include "judge/benchmark.h"
#include "judge/tuned_baseline.h"
#include "task/op.h"

namespace recuda {
namespace {

constexpr uint32_t kMostAlgorithms = 16;
constexpr uint64_t kWorkspaceLimit = uint64_t{32} << 20;  // what PyTorch gives the library on data-centre cards
constexpr const char* kWorkspace = "workspace of cuBLASLt";

MatrixProduct product_of(const Task& task, const std::string& library, const Axes& axes) {
    const ProductSpec& spec = *task.op->product;
    const TensorSpec& left = *task.op->tensor(spec.left);
    const Shape left_shape = shape_of(left, axes), right_shape = shape_of(*task.op->tensor(spec.right), axes);
    return {.library = library,
            .dtype = std::string(name(left.dtype)),
            .rows = static_cast<uint64_t>(left_shape[0]),
            .columns = static_cast<uint64_t>(right_shape[0]),
            .inner = static_cast<uint64_t>(left_shape[1])};
}

/// A product by one algorithm at one workload, timed like any program.
class ProductProgram : public LoadedProgram {
 public:
    ProductProgram(Device& device, const Axes& axes, const ProductSpec& spec, MatrixProduct product)
        : LoadedProgram(device, planned(axes, product.workspace_bytes)),
          names_{spec.left, spec.right, spec.result, kWorkspace},
          product_(std::make_shared<const MatrixProduct>(std::move(product))) {}

    std::vector<Launch> launches(size_t, const Places& places) override {
        Launch launch{.product = product_};
        for (const std::string& name : names_) {
            const Place& place = places.find(name)->second;
            launch.arguments.push_back({Argument::Kind::buffer, place.buffer, place.offset_bytes, {}, {}});
        }
        return {launch};
    }

 private:
    static Compilation planned(const Axes& axes, uint64_t workspace_bytes) {
        LaunchPlan plan;
        plan.launches.push_back({.kernel = "cuBLASLt"});
        plan.scratch.push_back({.name = kWorkspace, .bytes = workspace_bytes});
        return {{}, {{axes, std::move(plan), 0}}};
    }

    std::array<std::string, 4> names_;
    std::shared_ptr<const MatrixProduct> product_;
};

std::vector<Way> ways(const BaselineParts& parts, const std::string& library, const Axes& axes) {
    const MatrixProduct product = product_of(parts.place.task, library, axes);
    const ProductAlgorithms found = parts.place.device.product_algorithms(product, kMostAlgorithms, kWorkspaceLimit);
    if (found.algorithms.empty()) throw Error("its heuristics know no algorithm for {}", shown(axes));
    std::vector<Way> all;
    for (const ProductAlgorithm& algorithm : found.algorithms) {
        MatrixProduct chosen = product;
        chosen.algorithm = algorithm.algorithm;
        chosen.workspace_bytes = algorithm.workspace_bytes;
        auto program = std::make_shared<ProductProgram>(parts.place.device, axes, *parts.place.task.op->product,
                                                        std::move(chosen));
        all.push_back({algorithm.words, [program = std::move(program), &benchmark = parts.benchmark](uint32_t samples) {
                           return benchmark.time(*program, 0, samples);
                       }});
    }
    return all;
}

}  // namespace

Offer offer_cublaslt(const BaselineParts& parts) {
    const Task& task = parts.place.task;
    if (!task.op->product) return {nullptr, fmt::format("op {} is no matrix product", task.op->name)};
    const Tool& library = cublas_lt();
    if (library.state != Tool::State::ok) return {nullptr, "cuBLASLt is missing: " + library.advice};
    std::string version;
    try {
        version = parts.place.device
                      .product_algorithms(product_of(task, library.path, parts.place.axes.front()), 1, kWorkspaceLimit)
                      .library_version;
    } catch (const DeviceLost&) {
        throw;
    } catch (const Error& error) {
        return {nullptr, error.what()};
    }
    return {
        make_tuned_baseline(
            {.name = "cublaslt",
             .about = fmt::format("cuBLASLt {} ({}), f32 sums, the fastest of its heuristics' first {} algorithms at "
                                  "each workload, workspace up to {} MiB",
                                  version, library.path, kMostAlgorithms, kWorkspaceLimit >> 20),
             .ways = [parts, path = library.path](const Axes& axes) { return ways(parts, path, axes); },
             .forget = [] {}}),
        ""};
}

}  // namespace recuda
