#include "judge/ring.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "base/rng.h"
#include "task/op.h"

namespace recuda {
namespace {

constexpr uint64_t kAlignment = 256;
constexpr uint64_t kCaches = 4;  // see kPeakTolerance in benchmark.cpp
constexpr uint64_t kLimitBytes = uint64_t{4} << 30;
constexpr uint64_t kChunkBytes = uint64_t{16} << 20;
constexpr uint64_t kMostSets = 1 << 16;

uint64_t aligned(uint64_t bytes) { return std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment); }

std::string original_name(std::string_view tensor) { return fmt::format("{} as it was", tensor); }

/// 0 … count-1 in an order that nobody can foresee.
std::vector<uint32_t> shuffled(size_t count) {
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    std::random_device entropy;
    Rng random(uint64_t{entropy()} << 32 | entropy());
    for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    return order;
}

}  // namespace

Ring::Ring(const Task& task, Device& device, const Axes& axes, const std::vector<const InputContents*>& variants,
           uint64_t l2_bytes)
    : task_(task), device_(device), axes_(axes), buffers_(device), variants_(variants.size()) {
    uint64_t set_bytes = 0, touched_bytes = 0;  // gaps between sets are never in the cache
    for (const TensorSpec* tensor : task.op->tensors()) {
        strides_[tensor->name] = aligned(bytes(*tensor));
        set_bytes += aligned(bytes(*tensor));
        touched_bytes += bytes(*tensor);
    }
    const uint64_t wanted = kCaches * l2_bytes / std::max<uint64_t>(1, touched_bytes) + 1;
    const uint64_t allowed = std::max<uint64_t>(2, std::min({wanted, kLimitBytes / set_bytes, kMostSets}));
    sets_ = std::max<size_t>(1, (allowed + variants_ - 1) / variants_) * variants_;
    cold_ = sets_ * touched_bytes > 3 * l2_bytes;
    for (const auto& [name, stride] : strides_) {
        buffers_.add(name, stride * sets_);
        order_[name] = shuffled(sets_);
    }
    for (const TensorSpec& tensor : task.op->auxiliaries) {
        strides_[tensor.name] = 0;
        buffers_.add(tensor.name, bytes(tensor));
    }
    for (const TensorSpec& input : task.op->inputs) write_all(input, variants);
}

uint64_t Ring::bytes(const TensorSpec& tensor) const {
    return static_cast<uint64_t>(buffer_elements(tensor, axes_)) * size_bytes(tensor.dtype);
}

uint64_t Ring::offset(std::string_view name, size_t set) const {
    const uint64_t stride = strides_.find(name)->second;
    return stride == 0 ? 0 : stride * order_.find(name)->second[set % sets_];
}

size_t Ring::take(size_t count) {
    const size_t first = next_;
    next_ = (next_ + count) % sets_;
    return first;
}

Places Ring::places(size_t set) const {
    Places places = buffers_.places();
    std::erase_if(places, [&](const auto& place) { return !strides_.contains(place.first); });
    for (auto& [name, place] : places) place.offset_bytes = offset(name, set);
    for (const TensorSpec& input : task_.op->inputs)
        if (input.inout) places[input.name + "_out"] = places.at(input.name);
    return places;
}

void Ring::reset(size_t first, size_t count, std::byte poison) {
    for (const TensorSpec& output : task_.op->outputs) {
        if (count >= sets_) {
            device_.fill(buffers_.at(output.name), poison, true);
            continue;
        }
        const std::vector<std::byte> filled(bytes(output), poison);
        for (size_t i = 0; i < count; ++i)
            device_.write(buffers_.at(output.name), offset(output.name, first + i), filled);
    }
    for (const TensorSpec& input : task_.op->inputs)
        for (size_t i = 0; input.inout && i < std::min(count, sets_); ++i)
            device_.write(buffers_.at(input.name), offset(input.name, first + i),
                          originals_[variant(first + i)].at(input.name));
}

Outputs Ring::read(size_t set) const {
    Outputs outputs;
    for (const TensorSpec* tensor : written_tensors(*task_.op)) {
        Tensor whole(tensor->dtype, {buffer_elements(*tensor, axes_)});
        device_.read(buffers_.at(tensor->name), offset(tensor->name, set), whole.bytes);
        outputs.emplace(tensor->name, dense_rows(*tensor, axes_, whole));
    }
    return outputs;
}

std::vector<TimedOutput> Ring::outputs(size_t set) const {
    std::vector<TimedOutput> all;
    for (const TensorSpec* tensor : written_tensors(*task_.op)) {
        TimedOutput& output = all.emplace_back();
        output.region = {buffers_.at(tensor->name), offset(tensor->name, set), bytes(*tensor)};
        if (tensor->inout)
            output.original = Region{buffers_.at(original_name(tensor->name)),
                                     variant(set) * strides_.find(tensor->name)->second, bytes(*tensor)};
    }
    return all;
}

std::string Ring::changed_input() const {
    for (const auto& [name, hash] : hashes_) {
        const Region whole{buffers_.at(name), 0, strides_.find(name)->second * sets_};
        if (device_.hashes(std::span(&whole, 1)).front() != hash)
            return fmt::format("a timed run overwrote the input {}", name);
    }
    return "";
}

/// Copies the variants into all sets, many at a time: a write a set would cost more than its bytes.
void Ring::write_all(const TensorSpec& input, const std::vector<const InputContents*>& variants) {
    const uint64_t stride = strides_.at(input.name);
    const BufferId buffer = buffers_.at(input.name);
    const std::vector<uint32_t>& order = order_.at(input.name);
    std::vector<uint32_t> set_at(sets_);
    for (size_t set = 0; set < sets_; ++set) set_at[order[set]] = static_cast<uint32_t>(set);
    const size_t together = std::max<size_t>(1, std::min<size_t>(sets_, kChunkBytes / stride));
    std::vector<std::byte> chunk(stride * together);
    for (size_t done = 0; done < sets_; done += together) {
        const size_t now = std::min(together, sets_ - done);
        for (size_t i = 0; i < now; ++i) {
            const std::vector<std::byte>& bytes = variants[variant(set_at[done + i])]->at(input.name).bytes;
            std::memcpy(chunk.data() + i * stride, bytes.data(), bytes.size());
        }
        device_.write(buffer, done * stride, std::span(chunk).first(now * stride));
    }
    if (!input.inout) {
        const Region whole{buffer, 0, stride * sets_};
        hashes_[input.name] = device_.hashes(std::span(&whole, 1)).front();
        return;
    }
    originals_.resize(variants_);
    const BufferId originals = buffers_.add(original_name(input.name), stride * variants_);
    for (size_t i = 0; i < variants_; ++i) {
        originals_[i][input.name] = variants[i]->at(input.name).bytes;
        device_.write(originals, i * stride, originals_[i][input.name]);
    }
}

}  // namespace recuda
