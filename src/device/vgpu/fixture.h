// For tests: kernels of tests/fixtures/vgpu on the virtual GPU, with typed buffers by name.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "device/counters.h"
#include "device/vgpu/vgpu.h"

namespace recuda::vgpu {

inline std::string fixture_text(const std::string& name) {
    std::ifstream file(std::string(RECUDA_SOURCE_DIR) + "/tests/fixtures/vgpu/" + name, std::ios::binary);
    EXPECT_TRUE(file.good()) << name;
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Line numbers of a fixture that end in `// <marker>`.
inline std::vector<uint32_t> marked_lines(const std::string& name, const std::string& marker) {
    std::istringstream text(fixture_text(name));
    std::vector<uint32_t> lines;
    std::string line;
    for (uint32_t number = 1; std::getline(text, line); ++number)
        if (line.ends_with("// " + marker)) lines.push_back(number);
    return lines;
}

/// One module on a device of its own.
class Machine {
 public:
    explicit Machine(const std::string& stem, VgpuOptions options = {.seed = 7, .threads = 2})
        : device_(make_vgpu(options)) {
        load(fixture_text(stem + ".ptx"), stem + ".cu");
    }
    /// PTX as text; a file name that ends in .ptx makes reports count its lines.
    Machine(std::string ptx, std::string file, VgpuOptions options) : device_(make_vgpu(options)) {
        load(std::move(ptx), std::move(file));
    }

    template <typename T>
    void buffer(const std::string& name, const std::vector<T>& values) {
        ids_[name] = device_->allocate(name, values.size() * sizeof(T));
        device_->write(ids_[name], 0, std::as_bytes(std::span(values)));
    }
    void unwritten(const std::string& name, uint64_t bytes) { ids_[name] = device_->allocate(name, bytes); }

    template <typename T>
    std::vector<T> values(const std::string& name, size_t count) {
        std::vector<T> values(count);
        device_->read(ids_.at(name), 0, std::as_writable_bytes(std::span(values)));
        return values;
    }

    Argument at(const std::string& name) const { return {.kind = Argument::Kind::buffer, .buffer = ids_.at(name)}; }
    template <typename T>
    static Argument value(T value) {
        Argument argument;
        argument.value.resize(sizeof value);
        std::memcpy(argument.value.data(), &value, sizeof value);
        return argument;
    }

    Execution run(const std::string& entry, Dim3 grid, Dim3 block, std::vector<Argument> arguments, uint32_t shared = 0,
                  RunOptions options = {}) {
        const Launch launch{.module = module_,
                            .entry = entry,
                            .grid = grid,
                            .block = block,
                            .shared_bytes = shared,
                            .arguments = std::move(arguments)};
        return device_->run(std::span(&launch, 1), options);
    }
    Device& device() { return *device_; }

 private:
    void load(std::string ptx, std::string file) {
        Binary binary;
        binary.target = device_->info().target;
        binary.ptx = std::move(ptx);
        binary.file = std::move(file);
        module_ = device_->load(binary);
    }

    std::unique_ptr<Device> device_;
    ModuleId module_ = 0;
    std::map<std::string, BufferId> ids_;
};

template <typename T>
std::vector<T> iota(size_t count, T first = 0) {
    std::vector<T> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(first + static_cast<T>(i));
    return values;
}

inline std::string shown(const Execution& execution) {
    std::string text(name(execution.outcome));
    text += " " + execution.log;
    for (const Report& report : execution.reports)
        text +=
            "\n  " + std::string(name(report.check)) + " line " + std::to_string(report.line) + ": " + report.message;
    return text;
}

}  // namespace recuda::vgpu
