#include "device/vgpu/printf.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/access.h"

namespace recuda::vgpu {
namespace {

constexpr int32_t kMaxWidth = 500;  // of one conversion

/// Bytes at a generic address, without checks of initialisation; false where they lie nowhere.
bool peek(Warp& warp, uint32_t lane, uint64_t generic, void* to, uint32_t bytes) {
    uint64_t address;
    switch (space_of(generic, &address)) {
        case ptx::Space::local: {
            const Frame* frame = warp.frame_at(address);
            if (frame == nullptr || address - frame->local_base + bytes > frame->function->local_bytes) return false;
            std::memcpy(to, frame->local + size_t{lane} * frame->function->local_bytes + (address - frame->local_base),
                        bytes);
            return true;
        }
        case ptx::Space::shared:
            if (bytes > warp.block->shared.size() || address > warp.block->shared.size() - bytes) return false;
            std::memcpy(to, warp.block->shared.data() + address, bytes);
            return true;
        case ptx::Space::global: {
            const Buffer* buffer = warp.block->launch->memory->find(address);
            if (buffer == nullptr || buffer->size - (address - buffer->base) < bytes) return false;
            std::memcpy(to, buffer->data + (address - buffer->base), bytes);
            return true;
        }
        default:
            return false;
    }
}

/// Whether a width or precision is larger than a conversion's result may be.
bool has_wide_field(std::string_view spec) {
    int32_t value = 0;
    for (const char c : spec) {
        value = c >= '0' && c <= '9' ? value * 10 + (c - '0') : 0;
        if (value > kMaxWidth) return true;
    }
    return false;
}

}  // namespace

std::string text_at(Warp& warp, uint32_t lane, uint64_t address) {
    std::string text;
    for (char c; text.size() < 4096 && peek(warp, lane, address, &c, 1) && c != 0; ++address) text += c;
    return text;
}

int print(Warp& warp, uint32_t lane, uint64_t format, uint64_t arguments, std::string* out) {
    const std::string text = text_at(warp, lane, format);
    if (text.empty()) return -1;
    int used = 0;
    uint64_t at = arguments;
    const auto next = [&](uint32_t bytes) {
        at = (at + bytes - 1) / bytes * bytes;
        uint64_t value = 0;
        peek(warp, lane, at, &value, bytes);
        at += bytes;
        ++used;
        return value;
    };
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            *out += text[i];
            continue;
        }
        std::string spec = "%";
        bool wide = false;
        size_t j = i + 1;
        for (; j < text.size() && std::strchr("-+ #0123456789.*hljztL", text[j]) != nullptr; ++j) {
            if (text[j] == '*')
                spec += std::to_string(std::clamp(static_cast<int32_t>(next(4)), -kMaxWidth, kMaxWidth));
            else if (std::strchr("hljztL", text[j]) == nullptr)
                spec += text[j];
            wide = wide || text[j] == 'l' || text[j] == 'j' || text[j] == 'z' || text[j] == 't';
        }
        if (j >= text.size() || spec.size() > 32 || has_wide_field(spec)) {
            *out += text.substr(i);
            break;
        }
        const char kind = text[j];
        i = j;
        char line[512];
        int written = 0;
        if (kind == '%') {
            *out += '%';
            continue;
        } else if (std::strchr("di", kind) != nullptr) {
            const int64_t value = wide ? static_cast<int64_t>(next(8)) : static_cast<int32_t>(next(4));
            written = std::snprintf(line, sizeof line, (spec + "lld").c_str(), static_cast<long long>(value));
        } else if (std::strchr("uoxX", kind) != nullptr) {
            const uint64_t value = wide ? next(8) : next(4);
            written =
                std::snprintf(line, sizeof line, (spec + "ll" + kind).c_str(), static_cast<unsigned long long>(value));
        } else if (std::strchr("fFeEgGaA", kind) != nullptr) {
            double value;
            const uint64_t bits = next(8);
            std::memcpy(&value, &bits, 8);
            written = std::snprintf(line, sizeof line, (spec + kind).c_str(), value);
        } else if (kind == 'c') {
            written = std::snprintf(line, sizeof line, (spec + 'c').c_str(), static_cast<int>(next(4)));
        } else if (kind == 'p') {
            written = std::snprintf(line, sizeof line, "0x%llx", static_cast<unsigned long long>(next(8)));
        } else if (kind == 's') {
            *out += text_at(warp, lane, next(8));
            continue;
        } else {
            *out += spec + kind;
            continue;
        }
        if (written > 0) out->append(line, std::min<size_t>(written, sizeof line - 1));
    }
    return used;
}

}  // namespace recuda::vgpu
