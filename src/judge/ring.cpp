#include "judge/ring.h"

#include <algorithm>
#include <cstring>

#include "task/op.h"

namespace recuda {
namespace {

constexpr uint64_t kAlignment = 256;
constexpr uint64_t kLimitBytes = uint64_t{4} << 30;
constexpr uint64_t kChunkBytes = uint64_t{16} << 20;
constexpr uint64_t kMostSets = 1 << 16;

uint64_t aligned(uint64_t bytes) { return std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment); }

}  // namespace

Ring::Ring(const Task& task, Device& device, const Case& contents, uint64_t l2_bytes)
    : task_(task), device_(device), axes_(contents.axes), contents_(contents.inputs), buffers_(device) {
    uint64_t set_bytes = 0, touched_bytes = 0;  // gaps between sets are never in the cache
    for (const TensorSpec* tensor : task.op->tensors()) {
        const uint64_t bytes = static_cast<uint64_t>(buffer_elements(*tensor, axes_)) * size_bytes(tensor->dtype);
        strides_[tensor->name] = aligned(bytes);
        set_bytes += aligned(bytes);
        touched_bytes += bytes;
    }
    const uint64_t wanted = 3 * l2_bytes / std::max<uint64_t>(1, touched_bytes) + 1;
    sets_ = static_cast<size_t>(std::max<uint64_t>(2, std::min({wanted, kLimitBytes / set_bytes, kMostSets})));
    cold_ = sets_ * touched_bytes > 3 * l2_bytes;
    for (const auto& [name, stride] : strides_) buffers_.add(name, stride * sets_);
    for (const TensorSpec& tensor : task.op->auxiliaries) {
        strides_[tensor.name] = 0;
        buffers_.add(tensor.name, static_cast<uint64_t>(buffer_elements(tensor, axes_)) * size_bytes(tensor.dtype));
    }
    for (const TensorSpec& input : task.op->inputs) write(input.name, 0, sets_);
}

size_t Ring::take(size_t count) {
    const size_t first = next_;
    next_ = (next_ + count) % sets_;
    return first;
}

Places Ring::places(size_t set) const {
    Places places = buffers_.places();
    for (auto& [name, place] : places) place.offset_bytes = strides_.find(name)->second * (set % sets_);
    for (const TensorSpec& input : task_.op->inputs)
        if (input.inout) places[input.name + "_out"] = places.at(input.name);
    return places;
}

void Ring::reset(size_t first, size_t count, std::byte poison) {
    count = std::min(count, sets_);
    for (const TensorSpec& output : task_.op->outputs) device_.fill(buffers_.at(output.name), poison, true);
    const size_t before_end = std::min(count, sets_ - first);
    for (const TensorSpec& input : task_.op->inputs) {
        if (!input.inout) continue;
        write(input.name, first, before_end);
        write(input.name, 0, count - before_end);
    }
}

Outputs Ring::read(size_t set) const {
    Outputs outputs;
    for (const TensorSpec* tensor : written_tensors(*task_.op)) {
        Tensor whole(tensor->dtype, {buffer_elements(*tensor, axes_)});
        device_.read(buffers_.at(tensor->name), strides_.find(tensor->name)->second * (set % sets_), whole.bytes);
        outputs.emplace(tensor->name, dense_rows(*tensor, axes_, whole));
    }
    return outputs;
}

/// Copies the contents into sets [first, first + count), many at a time: a write a set would cost more than its bytes.
void Ring::write(const std::string& name, size_t first, size_t count) {
    const std::vector<std::byte>& bytes = contents_.at(name).bytes;
    const uint64_t stride = strides_.at(name);
    const size_t together = std::max<size_t>(1, std::min<size_t>(count, kChunkBytes / stride));
    std::vector<std::byte> chunk(stride * together);
    for (size_t i = 0; i < together; ++i) std::memcpy(chunk.data() + i * stride, bytes.data(), bytes.size());
    for (size_t done = 0; done < count; done += together) {
        const size_t now = std::min(together, count - done);
        device_.write(buffers_.at(name), (first + done) * stride, std::span(chunk).first(now * stride));
    }
}

}  // namespace recuda
