// One run of a program over the buffers of a case, and what it left there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/program.h"
#include "tensor/tensor.h"

namespace recuda {

struct Op;
struct TensorSpec;

/// Written tensors by name (outputs, and inputs that are `inout`), rows without what lies between them.
using Outputs = std::map<std::string, Tensor, std::less<>>;

/// Outputs of an op, then its inout inputs.
std::vector<const TensorSpec*> written_tensors(const Op& op);

/// Buffers on a device by name, freed at the end.
class Buffers {
 public:
    explicit Buffers(Device& device) : device_(&device) {}
    Buffers(Buffers&& other) noexcept : device_(other.device_), places_(std::move(other.places_)) {
        other.places_.clear();
    }
    Buffers& operator=(Buffers&&) = delete;
    ~Buffers() { clear(); }

    /// With a guard: against that end of its memory (Device::allocate_guarded).
    BufferId add(const std::string& name, uint64_t bytes, std::optional<Guard> guard = {});
    /// Frees all; does nothing where the device has lost them.
    void clear();
    bool empty() const { return places_.empty(); }
    const Places& places() const { return places_; }
    BufferId at(std::string_view name) const { return places_.find(name)->second.buffer; }

 private:
    Device* device_;
    Places places_;
};

/// The workspace of a plan.
class Scratch {
 public:
    Scratch(Device& device, const LaunchPlan& plan, std::optional<Guard> guard = {});
    /// As every run must find it: zeros where the plan says `zeroed`, else `poison`, uninitialised.
    void reset(std::byte poison);
    const Places& places() const { return buffers_.places(); }
    /// Those that every run must find zeroed.
    const std::vector<BufferId>& zeroed() const { return zeroed_; }
    /// The others: no run may rely on what it finds there.
    const std::vector<BufferId>& others() const { return others_; }

 private:
    Device& device_;
    Buffers buffers_;
    std::vector<BufferId> zeroed_, others_;
};

/// Both; names of `b` that `a` has too are left out.
Places merged(Places a, const Places& b);

}  // namespace recuda
