#include "tensor/safetensors.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace recuda {
namespace {

const std::map<std::string, DType>& types() {
    static const std::map<std::string, DType> kTypes{
        {"BF16", DType::bf16},    {"F16", DType::f16},      {"F32", DType::f32}, {"F64", DType::f64},
        {"I8", DType::i8},        {"U8", DType::u8},        {"I16", DType::i16}, {"U16", DType::u16},
        {"I32", DType::i32},      {"U32", DType::u32},      {"I64", DType::i64}, {"U64", DType::u64},
        {"F8_E4M3", DType::e4m3}, {"F8_E5M2", DType::e5m2}, {"BOOL", DType::u8}};
    return kTypes;
}

Tensor read_tensor(const Json& entry, std::string_view body, const std::string& where) {
    const auto type = types().find(entry.at("dtype").get<std::string>());
    if (type == types().end())
        throw Error("{} has the type {}, which is none of ours", where, entry.at("dtype").get<std::string>());
    Tensor tensor(type->second, entry.at("shape").get<Shape>());
    const auto [begin, end] = entry.at("data_offsets").get<std::pair<uint64_t, uint64_t>>();
    if (begin > end || end > body.size() || end - begin != tensor.bytes.size())
        throw Error("{} lies outside of its file", where);
    std::memcpy(tensor.bytes.data(), body.data() + begin, tensor.bytes.size());
    return tensor;
}

}  // namespace

std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path) {
    const std::string bytes = read_file(path), name = shown(path);
    uint64_t length = 0;
    if (bytes.size() >= sizeof length) std::memcpy(&length, bytes.data(), sizeof length);
    if (bytes.size() < sizeof length || length > bytes.size() - sizeof length)
        throw Error("{} is not a safetensors file", name);
    const Json header = parse_json(std::string_view(bytes).substr(sizeof length, length), name);
    const std::string_view body = std::string_view(bytes).substr(sizeof length + length);
    std::map<std::string, Tensor> tensors;
    try {
        for (const auto& [key, entry] : header.items())
            if (key != "__metadata__") tensors.emplace(key, read_tensor(entry, body, name + ": " + key));
    } catch (const Json::exception& problem) {
        throw Error("{} is not a safetensors file: {}", name, problem.what());
    }
    return tensors;
}

}  // namespace recuda
