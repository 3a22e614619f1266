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

struct Document;

struct Found {
    std::string document;  // stable name: "seed:ops/rmsnorm/seeds/warp.cu", "note:misaligned-address"
    std::string kind;      // "kernel", "seed", "reference", "candidate", "note"
    double score = 0;      // falls from first to last
    std::string excerpt;   // the part that fits the query best, bounded
};

struct IndexQuery {
    std::string text;                           // any text, as words and no more; "" where a task alone is asked for
    std::string task, op, family;               // wanted: raises what has them, the op most; "" for any
    std::string language, target;               // "cuda", "sm_90": wanted, a little
    std::vector<std::string> kinds;             // only these; empty: all
    bool right = false;                         // of the candidates only those that were right
    std::vector<std::string> without_tasks;     // documents of these tasks are left out
    std::vector<std::string> without_families;  // likewise
    size_t at_most = 10;
};

class KernelIndex {
 public:
    /// Opens for reading; throws Error that says how to build one where there is none, for a damaged one, and where
    /// Xapian is missing. Builds and refreshes by other processes do not disturb it.
    explicit KernelIndex(const std::filesystem::path& folder);
    KernelIndex(KernelIndex&&) noexcept;
    ~KernelIndex();

    /// Best first. Of one candidate judged for several tasks the best fit alone; of equal fits the right and fast ones.
    /// A text of any length and content is fine.
    std::vector<Found> query(const IndexQuery& query) const;
    /// The whole text of a document; throws Error for an unknown name.
    std::string text(std::string_view document) const;
    /// The kernel file that a document holds, as it was written; "" where it holds none, or only a part of one. Throws
    /// as `text`.
    std::string kernel(std::string_view document) const;
    size_t size() const;

 private:
    struct Parts;
    Document read(std::string_view document) const;

    std::unique_ptr<Parts> parts_;
};

/// artifacts/kernel_index below the current folder.
std::filesystem::path index_folder();

/// The usual index with what is known by now: builds it where it is missing, else refreshes it. Sources that cannot be
/// read are left out. Throws Error as KernelIndex does. `db` is the main store as --db names it.
void make_index_current(const std::string& db = "");

}  // namespace recuda
