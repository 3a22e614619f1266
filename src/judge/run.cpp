#include "judge/run.h"

#include "task/op.h"

namespace recuda {

std::vector<const TensorSpec*> written_tensors(const Op& op) {
    std::vector<const TensorSpec*> written;
    for (const TensorSpec& output : op.outputs) written.push_back(&output);
    for (const TensorSpec& input : op.inputs)
        if (input.inout) written.push_back(&input);
    return written;
}

BufferId Buffers::add(const std::string& name, uint64_t bytes, std::optional<Guard> guard) {
    const BufferId buffer = guard ? device_->allocate_guarded(name, bytes, *guard) : device_->allocate(name, bytes);
    places_[name] = {buffer, 0};
    return buffer;
}

void Buffers::clear() {
    for (const auto& [name, place] : places_) {
        try {
            device_->free(place.buffer);
        } catch (const Error&) {
            // A device that is gone holds nothing.
        }
    }
    places_.clear();
}

Scratch::Scratch(Device& device, const LaunchPlan& plan, std::optional<Guard> guard)
    : device_(device), buffers_(device) {
    for (const PlannedScratch& scratch : plan.scratch)
        (scratch.zeroed ? zeroed_ : others_).push_back(buffers_.add(scratch.name, scratch.bytes, guard));
}

void Scratch::reset(std::byte poison) {
    for (const BufferId buffer : zeroed_) device_.fill(buffer, std::byte{0}, false);
    for (const BufferId buffer : others_) device_.fill(buffer, poison, true);
}

Places merged(Places a, const Places& b) {
    a.insert(b.begin(), b.end());
    return a;
}

}  // namespace recuda
