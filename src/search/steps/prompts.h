// The inputs of each step, made of what a search knows. The same findings give the same prompt: it holds no time of
// day, no path of the run and nothing else that another start of the run would change.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lm/adapter.h"
#include "search/documents.h"

namespace recuda {

struct Evaluation;
struct Task;

/// A question to a predictor of the program.
struct Prompt {
    std::string path;  // "propose.predict"
    FieldValues inputs;
    std::vector<std::string> documents;  // that it shows
};

/// A kernel of the model's that failed.
struct Failure {
    std::string digest;  // "" for a file that could not be read
    std::string source, diagnostics;
    std::string query;    // what to look for in the index
    std::string lineage;  // of earlier repairs, a line each
    size_t repairs = 0;   // that led to it
    bool triton = false;
};

/// A right kernel.
struct Shown {
    const Evaluation& evaluation;
    std::string source;
};

class Prompts {
 public:
    struct Parts {
        const Task& task;
        std::string device;    // the GPU and how it is judged, in a few lines
        Documents* documents;  // null: no retrieval
        size_t most_documents = 3;
        bool by_diagnostic = true;
    };
    explicit Prompts(Parts parts);

    Prompt propose(std::span<const Evaluation> screened) const;
    Prompt repair(const Failure& failure) const;
    Prompt improve(const Shown& best, std::span<const Evaluation> screened) const;
    Prompt combine(const Shown& first, const Shown& second, std::span<const Evaluation> screened) const;

 private:
    Prompt begun(const char* path) const;
    void add_notes(Prompt& prompt, const IndexQuery& query) const;

    Parts parts_;
    std::string task_, reference_;
};

}  // namespace recuda
