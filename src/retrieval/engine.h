// The search engine under the kernel index: terms, boolean fields and metadata in a database on the disk. Xapian stands
// behind it, in a library of its own that is opened when an index is first used (docs/decisions/0006).
//
// Terms and fields come as plain words; nothing of them is read as a query language. Errors of the engine are Error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recuda {

/// What the engine keeps of a document.
struct EngineDocument {
    std::string name;                       // unique
    std::map<std::string, uint32_t> terms;  // words with their counts
    std::vector<std::string> fields;        // "op:rmsnorm", matched whole
    std::string same;                       // documents with the same text here are found once; "" for none
    double prior = 0;                       // 0 to 1: what is better of equal matches
    std::string data;                       // given back as it is
};

struct EngineQuery {
    std::vector<std::string> terms;
    /// Fields that raise a document, each by a share of the best match of `terms` (of 1 where there are none).
    std::vector<std::pair<std::string, double>> wanted;
    double prior_share = 0;                        // the same for a prior of 1
    std::vector<std::vector<std::string>> one_of;  // of each list a document has one
    std::vector<std::string> none_of;
    size_t at_most = 10;
};

struct EngineHits {
    struct Hit {
        std::string data;
        double score = 0;
    };
    std::vector<Hit> hits;                 // best first
    std::map<std::string, double> weight;  // of the terms that were searched: log(documents / documents that have it)
};

class IndexReader {
 public:
    virtual ~IndexReader() = default;
    virtual EngineHits search(const EngineQuery& query) = 0;
    virtual std::optional<std::string> data(const std::string& name) = 0;
    virtual uint64_t size() = 0;
};

/// Changes become visible, and durable, all at once by `commit`; without it there were none.
class IndexWriter {
 public:
    virtual ~IndexWriter() = default;
    virtual void put(const EngineDocument& document) = 0;
    virtual void remove(const std::string& name) = 0;
    virtual std::optional<std::string> data(const std::string& name) = 0;
    /// Entries beside the documents; setting one to "" takes it away.
    virtual void set_entry(const std::string& key, const std::string& value) = 0;
    virtual std::map<std::string, std::string> entries() = 0;
    virtual void commit() = 0;
    virtual uint64_t size() = 0;
};

enum class Opening { existing, fresh };

std::unique_ptr<IndexReader> open_index_reader(const std::filesystem::path& folder);
std::unique_ptr<IndexWriter> open_index_writer(const std::filesystem::path& folder, Opening opening);

/// Version and path of the engine's library; throws Error with what to do when it is not usable.
struct EngineFound {
    std::string path, version;
};
EngineFound find_index_engine();

// The functions of the library (xapian/engine.cpp). They throw Error.
extern "C" {
using MakeIndexReader = IndexReader*(const char* folder);
using MakeIndexWriter = IndexWriter*(const char* folder, bool fresh);
using IndexEngineVersion = const char*();
}

}  // namespace recuda
