#include "tensor/npy.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace recuda {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Code {
    DType type;
    std::string_view code;
};
constexpr Code kCodes[] = {{DType::i8, "|i1"},   {DType::u8, "|u1"},  {DType::i16, "<i2"}, {DType::u16, "<u2"},
                           {DType::i32, "<i4"},  {DType::u32, "<u4"}, {DType::i64, "<i8"}, {DType::u64, "<u8"},
                           {DType::f16, "<f2"},  {DType::f32, "<f4"}, {DType::f64, "<f8"}, {DType::bf16, "<u2"},
                           {DType::e4m3, "|u1"}, {DType::e5m2, "|u1"}};

/// The text between `key` and the first of `ends` behind it in the header's dictionary.
std::string_view value_of(std::string_view header, std::string_view key, std::string_view ends,
                          const std::string& path) {
    const size_t at = header.find(key);
    const size_t colon = at == std::string_view::npos ? at : header.find(':', at);
    const size_t end = colon == std::string_view::npos ? colon : header.find_first_of(ends, colon);
    if (end == std::string_view::npos) throw Error("{} is not an NPY file: its header lacks {}", path, key);
    return trimmed(header.substr(colon + 1, end - colon - 1));
}

Shape parse_shape(std::string_view text, const std::string& path) {
    Shape shape;
    for (std::string_view part : split(text.substr(1), ',')) {
        part = trimmed(part);
        if (part.empty()) continue;
        int64_t extent = 0;
        const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), extent);
        if (problem != std::errc() || end != part.data() + part.size() || extent < 0)
            throw Error("{} is not an NPY file: shape {}", path, text);
        shape.push_back(extent);
    }
    return shape;
}

/// Row-major copy of a tensor whose bytes are column-major.
Tensor transposed(const Tensor& from) {
    Tensor to(from.dtype, from.shape);
    const size_t size = size_bytes(from.dtype);
    std::vector<int64_t> index(from.shape.size(), 0);
    for (int64_t target = 0; target < to.size(); ++target) {
        int64_t source = 0;
        for (size_t d = from.shape.size(); d-- > 0;) source = source * from.shape[d] + index[d];
        std::memcpy(to.bytes.data() + static_cast<size_t>(target) * size,
                    from.bytes.data() + static_cast<size_t>(source) * size, size);
        for (size_t d = from.shape.size(); d-- > 0 && ++index[d] == from.shape[d];) index[d] = 0;
    }
    return to;
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
    const std::string bytes = read_file(path), name = shown(path);
    const std::string_view text = bytes;
    if (text.size() < 12 || !text.starts_with(kMagic)) throw Error("{} is not an NPY file", name);
    const size_t start = text[6] == 1 ? 10 : 12;
    uint32_t length = 0;
    std::memcpy(&length, text.data() + 8, text[6] == 1 ? 2 : 4);
    if (start + length > text.size()) throw Error("{} is not an NPY file: its header is cut off", name);
    const std::string_view header = text.substr(start, length);
    std::string_view code = value_of(header, "'descr'", ",}", name);
    if (code.size() > 2) code = code.substr(1, code.size() - 2);
    std::optional<DType> type;
    for (const Code& row : kCodes)
        if (!type && row.code.substr(1) == code.substr(code.empty() ? 0 : 1) && !code.starts_with('>')) type = row.type;
    if (!type) throw Error("{} has elements of type {}, which is none of ours", name, code);
    Tensor tensor(*type, parse_shape(value_of(header, "'shape'", ")", name), name));
    const std::string_view body = text.substr(start + length);
    if (body.size() != tensor.bytes.size())
        throw Error("{} holds {} bytes of data where its shape needs {}", name, body.size(), tensor.bytes.size());
    std::memcpy(tensor.bytes.data(), body.data(), body.size());
    return value_of(header, "'fortran_order'", ",}", name) == "True" ? transposed(tensor) : tensor;
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
    std::string_view code;
    for (const Code& row : kCodes)
        if (row.type == tensor.dtype) code = row.code;
    std::string shape;
    for (const int64_t extent : tensor.shape) shape += fmt::format("{}, ", extent);
    std::string header =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", code, trimmed(shape));
    header.append(64 - (10 + header.size() + 1) % 64, ' ');
    header += '\n';
    const auto length = static_cast<uint16_t>(header.size());
    std::string file(kMagic);
    file += std::string_view("\x01\x00", 2);
    file.append(reinterpret_cast<const char*>(&length), 2);
    file += header;
    file.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    write_atomically(path, file);
}

}  // namespace recuda
