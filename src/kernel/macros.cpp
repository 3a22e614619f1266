#include "kernel/macros.h"

#include <algorithm>

#include "base/error.h"
#include "task/op.h"
#include "task/task.h"

namespace recuda {
namespace {

std::string option_name(const OptionSpec& option, const std::string& value) {
    std::string name = option.name + "_" + value;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    return name;
}

}  // namespace

std::string cuda_type(DType type) {
    switch (type) {
        case DType::i8:
            return "signed char";
        case DType::u8:
            return "unsigned char";
        case DType::i16:
            return "short";
        case DType::u16:
            return "unsigned short";
        case DType::i32:
            return "int";
        case DType::u32:
            return "unsigned int";
        case DType::i64:
            return "long long";
        case DType::u64:
            return "unsigned long long";
        case DType::f16:
            return "__half";
        case DType::bf16:
            return "__nv_bfloat16";
        case DType::f32:
            return "float";
        case DType::f64:
            return "double";
        case DType::e4m3:
            return "__nv_fp8_e4m3";
        case DType::e5m2:
            return "__nv_fp8_e5m2";
    }
    throw Error("a type without a CUDA name");
}

std::map<std::string, std::string> macros(const KernelFile& file, const Point& point, const Task& task,
                                          const Variables& axes, OutputTypes outputs) {
    const Op& op = *task.op;
    std::map<std::string, std::string> defined;
    for (const auto& [name, ignored] : task.axes) defined[name] = fmt::format("{}", axes.at(name));
    for (const Tunable& tunable : file.tunables) defined[tunable.name] = fmt::format("{}", point.at(tunable.name));
    for (const TensorSpec* tensor : op.tensors()) defined[tensor->name + "_t"] = cuda_type(tensor->dtype);
    for (const TensorSpec& tensor : op.auxiliaries) defined[tensor.name + "_t"] = cuda_type(tensor.dtype);
    for (const TensorSpec* tensor : op.tensors()) {
        const bool is_input =
            std::any_of(op.inputs.begin(), op.inputs.end(), [&](const TensorSpec& input) { return &input == tensor; });
        const DType written = outputs == OutputTypes::exact && is_floating(tensor->dtype) ? DType::f64 : tensor->dtype;
        if (tensor->inout) defined[tensor->name + "_out_t"] = cuda_type(written);
        if (!is_input) defined[tensor->name + "_t"] = cuda_type(written);
    }
    for (const auto& [name, value] : option_values(task)) defined[name] = fmt::format("{}", value);
    return defined;
}

Variables option_values(const Task& task) {
    Variables values;
    for (const OptionSpec& option : task.op->options)
        for (const std::string& value : option.values)
            values[option_name(option, value)] = task.options.at(option.name) == value ? 1 : 0;
    return values;
}

std::vector<std::string> option_names(const Op& op) {
    std::vector<std::string> names;
    for (const OptionSpec& option : op.options)
        for (const std::string& value : option.values) names.push_back(option_name(option, value));
    return names;
}

}  // namespace recuda
