// The kernel index: what was written and found before, searchable by words, op and task. On the disk with Xapian
// (`artifacts/kernel_index`); documents are seeds, references, checked-in kernels, judged candidates of earlier runs
// with how they fared, and notes on hardware and on error messages.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

struct Found {
    std::string document;  // stable name: "seed:ops/rmsnorm/seeds/warp.cu", "note:misaligned-address"
    std::string kind;      // "kernel", "seed", "reference", "candidate", "note"
    double score = 0;      // falls from first to last
    std::string excerpt;   // the part that fits the query best, bounded
};

struct IndexQuery {
    std::string text;                        // words; "" where a task alone is asked for
    std::string task, op, family;            // wanted: what has them comes first; "" for any
    std::string language, target;            // "cuda", "sm_90": wanted
    std::vector<std::string> kinds;          // only these; empty: all
    std::vector<std::string> without_tasks;  // documents of these tasks are left out
    size_t at_most = 10;
};

class KernelIndex {
 public:
    /// Opens for reading; throws Error that says how to build one where there is none, and for a damaged one.
    explicit KernelIndex(const std::filesystem::path& folder);
    KernelIndex(KernelIndex&&) noexcept;
    ~KernelIndex();

    std::vector<Found> query(const IndexQuery& query) const;
    /// The whole text of a document; throws Error for an unknown name.
    std::string text(std::string_view document) const;
    size_t size() const;

 private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

/// artifacts/kernel_index below the current folder.
std::filesystem::path index_folder();

}  // namespace recuda
