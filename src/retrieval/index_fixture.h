// What the tests of the kernel index share: a small catalogue, runs, and an index of them in a temporary folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "evaluation/evaluation.h"
#include "retrieval/index.h"
#include "retrieval/refresh.h"

namespace recuda {

namespace fs = std::filesystem;

inline constexpr char kOp[] = R"(summary = "{} of a row"
[axes]
T = "tokens"
[inputs]
x = {{ dtype = "f32", shape = ["T"], fill = "iota" }}
[outputs]
y = {{ dtype = "f32", shape = ["T"] }}
)";
inline constexpr char kTasks[] = R"(family = "fam"
model = "none"
[one]
op = "alpha"
verify = { T = [1] }
bench = { T = [1] }
[two]
op = "beta"
verify = { T = [1] }
bench = { T = [1] }
)";

inline void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

inline std::string kernel(const std::string& idea) {
    return "//! idea " + idea +
           "\n//! launch k<<<T, 32>>>(x, y)\nextern \"C\" __global__ void k(const float* x, float* y) {}\n";
}

/// A catalogue of two ops, some notes, and a folder for runs.
class IndexFixture : public testing::Test {
 protected:
    void SetUp() override {
        for (const char* op : {"alpha", "beta"}) {
            write(home() / "ops" / op / "op.toml", fmt::format(kOp, op));
            write(home() / "ops" / op / "reference.cu", kernel(std::string("the truth of ") + op));
            write(home() / "ops" / op / "seeds/plain.cu", kernel(std::string("plain ") + op + " with shuffles"));
        }
        write(home() / "tasks/fam.toml", kTasks);
        write(home() / "docs/notes/misaligned-address.md", "# Misaligned address\n\nAn access needs alignment.\n");
    }

    fs::path home() const { return root_.path() / "home"; }
    fs::path folder() const { return root_.path() / "artifacts/kernel_index"; }
    IndexPlaces places() const { return {.home = home(), .artifacts = root_.path() / "artifacts", .store = {}}; }
    IndexReport build() const { return build_index(folder(), places()); }
    IndexReport refresh() const { return refresh_index(folder(), places()); }

    std::vector<std::string> names(const IndexQuery& query) const {
        std::vector<std::string> found;
        for (const Found& one : KernelIndex(folder()).query(query)) found.push_back(one.document);
        return found;
    }

    /// A run's folder below artifacts/ with one candidate; gives back the candidate's digest.
    std::string add_run(const std::string& run, const std::string& source, Evaluation evaluation) const {
        evaluation.digest = sha256(source);
        evaluation.language = "cuda";
        evaluation.target = "sm_90";
        evaluation.id = run + "-1";
        if (evaluation.when.empty()) evaluation.when = "2026-11-30T10:00:00Z";
        const fs::path run_folder = root_.path() / "artifacts/runs" / run;
        write(run_folder / "candidates" / (evaluation.digest + ".cu"), source);
        std::ofstream(run_folder / "evaluations.jsonl", std::ios::app) << dump(to_json(evaluation)) << "\n";
        return evaluation.digest;
    }

    std::string why_not_opened() const {
        try {
            KernelIndex index(folder());
            index.query({.text = "alpha"});
            index.text("note:misaligned-address");
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }

    TemporaryFolder root_;
};

}  // namespace recuda
