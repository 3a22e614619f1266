#include "device/cuda/cublas_lt.h"

#include <cstring>
#include <utility>

namespace recuda::cuda {
namespace {

// Names of the library without their prefix, for it has no headers here; values as its documentation lists them.
constexpr int kSuccess = 0, kExecutionFailed = 13, kInternalError = 14;
constexpr int kCompute32F = 68, kTransposed = 1;
constexpr int kR32F = 0, kR16F = 2, kR16BF = 14;
enum DescriptionAttribute : int { desc_transa = 3 };
enum PreferenceAttribute : int { pref_max_workspace_bytes = 1 };
enum AlgorithmAttribute : int { config_id = 0, config_tile = 1, config_splits = 2, config_stages = 6 };

using Algorithm = std::array<uint64_t, 8>;
struct Heuristic {
    Algorithm algorithm;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

int type_of(const std::string& dtype) {
    if (dtype == "bf16") return kR16BF;
    if (dtype == "f16") return kR16F;
    if (dtype == "f32") return kR32F;
    throw Error("no matrix product of cuBLASLt for {} is known here", dtype);
}

}  // namespace

struct CublasLtApi {
    explicit CublasLtApi(const std::string& path) : library(path) {
        const auto find = [&](const char* name, auto& function) {
            function = library.function<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(name);
        };
        find("cublasLtGetVersion", version);
        find("cublasLtGetStatusString", words);
        find("cublasLtCreate", create);
        find("cublasLtDestroy", destroy);
        find("cublasLtMatmulDescCreate", description_create);
        find("cublasLtMatmulDescSetAttribute", description_set);
        find("cublasLtMatmulDescDestroy", description_destroy);
        find("cublasLtMatrixLayoutCreate", layout_create);
        find("cublasLtMatrixLayoutDestroy", layout_destroy);
        find("cublasLtMatmulPreferenceCreate", preference_create);
        find("cublasLtMatmulPreferenceSetAttribute", preference_set);
        find("cublasLtMatmulPreferenceDestroy", preference_destroy);
        find("cublasLtMatmulAlgoGetHeuristic", heuristic);
        find("cublasLtMatmulAlgoConfigGetAttribute", config_get);
        find("cublasLtMatmul", matmul);
    }
    void check(int status, std::string_view what) const {
        if (status != kSuccess) throw Error("cuBLASLt cannot {}: {}", what, words(status));
    }

    DynamicLibrary library;
    size_t (*version)() = nullptr;
    const char* (*words)(int status) = nullptr;
    int (*create)(void** handle) = nullptr;
    int (*destroy)(void* handle) = nullptr;
    int (*description_create)(void** description, int compute, int scale) = nullptr;
    int (*description_set)(void* description, int attribute, const void* value, size_t bytes) = nullptr;
    int (*description_destroy)(void* description) = nullptr;
    int (*layout_create)(void** layout, int type, uint64_t rows, uint64_t columns, int64_t leading) = nullptr;
    int (*layout_destroy)(void* layout) = nullptr;
    int (*preference_create)(void** preference) = nullptr;
    int (*preference_set)(void* preference, int attribute, const void* value, size_t bytes) = nullptr;
    int (*preference_destroy)(void* preference) = nullptr;
    int (*heuristic)(void* handle, void* description, void* a, void* b, void* c, void* d, void* preference, int wanted,
                     Heuristic* found, int* count) = nullptr;
    int (*config_get)(const Algorithm* algorithm, int attribute, void* value, size_t bytes, size_t* written) = nullptr;
    int (*matmul)(void* handle, void* description, const void* alpha, const void* a, void* a_layout, const void* b,
                  void* b_layout, const void* beta, const void* c, void* c_layout, void* d, void* d_layout,
                  const Algorithm* algorithm, void* workspace, size_t workspace_bytes, CUstream stream) = nullptr;
};

/// The library's matrices are column-major, so that ours are their transposes: it computes result^T = right left^T,
/// with right as the transpose of its first operand.
struct CublasLt::Shape {
    Shape(const CublasLtApi& api, const MatrixProduct& product) : api(api) {
        const int type = type_of(product.dtype);
        const auto layout = [&](void*& made, uint64_t rows, uint64_t columns) {
            api.check(api.layout_create(&made, type, rows, columns, static_cast<int64_t>(rows)), "describe a matrix");
        };
        api.check(api.description_create(&description, kCompute32F, kR32F), "describe a product");
        api.check(api.description_set(description, desc_transa, &kTransposed, sizeof kTransposed),
                  "describe a product");
        layout(right, product.inner, product.columns);
        layout(left, product.inner, product.rows);
        layout(result, product.columns, product.rows);
    }
    Shape(const Shape&) = delete;
    ~Shape() {
        for (void* const layout : {right, left, result})
            if (layout != nullptr) api.layout_destroy(layout);
        if (description != nullptr) api.description_destroy(description);
    }

    const CublasLtApi& api;
    void *description = nullptr, *right = nullptr, *left = nullptr, *result = nullptr;
};

CublasLt::CublasLt(const std::string& path) : api_(std::make_unique<CublasLtApi>(path)) {
    api_->check(api_->create(&handle_), "be used on this GPU");
}

CublasLt::~CublasLt() {
    shapes_.clear();
    if (handle_ != nullptr) api_->destroy(handle_);
}

const CublasLt::Shape& CublasLt::shape(const MatrixProduct& product) {
    std::unique_ptr<Shape>& shape =
        shapes_[fmt::format("{} {} {} {}", product.dtype, product.rows, product.columns, product.inner)];
    if (!shape) shape = std::make_unique<Shape>(*api_, product);
    return *shape;
}

ProductAlgorithms CublasLt::algorithms(const MatrixProduct& product, uint32_t most, uint64_t workspace_limit) {
    const size_t version = api_->version();
    ProductAlgorithms answer{fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100), {}};
    const Shape& described = shape(product);
    void* preference = nullptr;
    api_->check(api_->preference_create(&preference), "choose an algorithm");
    std::vector<Heuristic> found(most);
    int count = 0;
    int status = api_->preference_set(preference, pref_max_workspace_bytes, &workspace_limit, sizeof workspace_limit);
    if (status == kSuccess)
        status = api_->heuristic(handle_, described.description, described.right, described.left, described.result,
                                 described.result, preference, static_cast<int>(most), found.data(), &count);
    api_->preference_destroy(preference);
    api_->check(status, "choose an algorithm");
    for (int i = 0; i < count; ++i) {
        const Heuristic& one = found[static_cast<size_t>(i)];
        if (one.state != kSuccess) continue;
        const auto attribute = [&](AlgorithmAttribute which) {
            uint32_t value = 0;
            size_t written = 0;
            api_->config_get(&one.algorithm, which, &value, sizeof value, &written);
            return value;
        };
        const auto* const bytes = reinterpret_cast<const std::byte*>(one.algorithm.data());
        answer.algorithms.push_back(
            {{bytes, bytes + sizeof one.algorithm},
             one.workspace_bytes,
             fmt::format("algorithm {}, tile {}, stages {}, K split {}", attribute(config_id), attribute(config_tile),
                         attribute(config_stages), attribute(config_splits))});
    }
    return answer;
}

PreparedProduct CublasLt::prepare(const MatrixProduct& product) {
    PreparedProduct prepared;
    if (product.algorithm.size() != sizeof prepared.algorithm)
        throw Error("an algorithm of cuBLASLt has {} bytes, not {}", sizeof prepared.algorithm,
                    product.algorithm.size());
    prepared.library = this;
    prepared.shape = &shape(product);
    std::memcpy(prepared.algorithm.data(), product.algorithm.data(), sizeof prepared.algorithm);
    prepared.workspace_bytes = product.workspace_bytes;
    return prepared;
}

CUresult CublasLt::enqueue(const PreparedProduct& product, CUstream stream) const {
    const auto& described = *static_cast<const Shape*>(product.shape);
    const auto pointer = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
    const float one = 1, zero = 0;
    const int status = api_->matmul(handle_, described.description, &one, pointer(product.right), described.right,
                                    pointer(product.left), described.left, &zero, pointer(product.result),
                                    described.result, pointer(product.result), described.result, &product.algorithm,
                                    pointer(product.workspace), product.workspace_bytes, stream);
    if (status == kSuccess) return CUDA_SUCCESS;
    return status == kExecutionFailed || status == kInternalError ? CUDA_ERROR_LAUNCH_FAILED : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace recuda::cuda
