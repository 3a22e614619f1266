// A device that passes everything on to another: what changes one thing about a device derives from it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"

namespace recuda {

class ForwardingDevice : public Device {
 public:
    explicit ForwardingDevice(std::unique_ptr<Device> device) : device_(std::move(device)), info_(device_->info()) {}

    const DeviceInfo& info() const override { return info_; }
    BufferId allocate(std::string name, uint64_t bytes) override { return device_->allocate(std::move(name), bytes); }
    BufferId allocate_guarded(std::string name, uint64_t bytes, Guard guard) override {
        return device_->allocate_guarded(std::move(name), bytes, guard);
    }
    void free(BufferId buffer) override { device_->free(buffer); }
    void write(BufferId buffer, uint64_t offset_bytes, std::span<const std::byte> bytes) override {
        device_->write(buffer, offset_bytes, bytes);
    }
    void read(BufferId buffer, uint64_t offset_bytes, std::span<std::byte> bytes) override {
        device_->read(buffer, offset_bytes, bytes);
    }
    void fill(BufferId buffer, std::byte value, bool poison) override { device_->fill(buffer, value, poison); }
    std::vector<uint64_t> hashes(std::span<const Region> regions) override { return device_->hashes(regions); }
    ModuleId load(const Binary& binary) override { return device_->load(binary); }
    void unload(ModuleId module) override { device_->unload(module); }
    Execution run(std::span<const Launch> launches, const RunOptions& options) override {
        return device_->run(launches, options);
    }
    ProductAlgorithms product_algorithms(const MatrixProduct& product, uint32_t most,
                                         uint64_t workspace_limit) override {
        return device_->product_algorithms(product, most, workspace_limit);
    }
    Timing time(const TimingRequest& request) override { return device_->time(request); }
    void renew() override { device_->renew(); }

 protected:
    std::unique_ptr<Device> device_;
    DeviceInfo info_;  // of the other, to be changed by who derives
};

}  // namespace recuda
