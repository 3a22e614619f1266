// For the parser's tests: modules around a few lines, and what is in them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "base/error.h"
#include "device/vgpu/ptx/ptx.h"

namespace recuda::vgpu::ptx {

using Kind = Operand::Kind;

// From testdata/inlined.cu with NVRTC 13.0 (-lineinfo, compute_90) and from testdata/softmax.py with Triton 3.6.
inline std::string fixture(const std::string& name) {
    std::ifstream file(std::string(RECUDA_SOURCE_DIR) + "/src/device/vgpu/ptx/testdata/" + name);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_FALSE(text.str().empty()) << name;
    return text.str();
}

inline Module parse_module(const std::string& rest) {
    return parse(".version 9.0\n.target sm_90a\n.address_size 64\n" + rest);
}

// The body's lines begin at line 5 of the module.
inline Module parse_body(const std::string& body) {
    return parse_module(".visible .entry k(.param .u64 out)\n{" + body + "\n}\n");
}

inline const Statement& only(const Module& module) {
    EXPECT_EQ(module.functions.at(0).body.size(), 1u);
    return module.functions.at(0).body.at(0);
}

inline const Statement& find(const Function& function, std::string_view text) {
    const auto found =
        std::find_if(function.body.begin(), function.body.end(), [&](const Statement& s) { return s.text() == text; });
    EXPECT_NE(found, function.body.end()) << text;
    return *found;
}

inline std::string error_of(const std::string& text) {
    try {
        parse(text);
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace recuda::vgpu::ptx
