// What the kernel index has for a search, remembered in the run's folder (retrieved.jsonl): a run that is resumed sees
// the same documents though the index has grown, and so asks the same questions.
//
//   {"query":{…},"documents":[{"document","kind","score","excerpt","text"}]}     one line a query
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "retrieval/index.h"

namespace recuda {

struct ShownDocument {
    Found found;
    std::string text;  // a kernel file or a whole document; "" where only an excerpt is wanted
};

class Documents {
 public:
    /// `file` may hold what an earlier start was given; a torn last line is left out. `index` must outlive it.
    Documents(const KernelIndex& index, std::filesystem::path file);

    /// The excerpts; with `kernels` those documents alone that hold a kernel file, which is their text.
    const std::vector<ShownDocument>& find(const IndexQuery& query, bool kernels);
    /// The whole text of one, bounded; throws Error for an unknown name.
    const std::string& text(const std::string& document);

 private:
    std::vector<ShownDocument>& keep(const Json& asked, const std::vector<ShownDocument>& documents);

    const KernelIndex& index_;
    std::filesystem::path file_;
    std::map<std::string, std::vector<ShownDocument>> known_;  // by query
};

}  // namespace recuda
