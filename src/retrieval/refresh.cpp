#include "retrieval/refresh.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "retrieval/engine.h"
#include "retrieval/generations.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kDigested = uint64_t{64} << 20;  // a larger file is told by size and time alone
constexpr int64_t kNever = -1;                      // the time of a source that must be read again
constexpr size_t kLongestKey = 80;                  // of an entry; Xapian allows 245 bytes

/// What a source was when it was read, and the names of its documents.
struct Stamp {
    uint64_t bytes = 0;
    int64_t changed_ns = 0;
    std::string digest, about;
    std::vector<std::string> documents;

    std::string text(const std::string& key) const {
        return dump({{"key", json_text(key)},
                     {"bytes", bytes},
                     {"changed_ns", changed_ns},
                     {"digest", digest},
                     {"about", about},
                     {"documents", documents}});
    }
};

struct Known {
    std::string entry;  // its key in the index
    Stamp stamp;
};

Stamp stamp_from(const Json& json) {
    return {.bytes = json.at("bytes"),
            .changed_ns = json.at("changed_ns"),
            .digest = json.at("digest"),
            .about = json.at("about"),
            .documents = json.at("documents")};
}

std::string entry_of(const std::string& key) { return "source:" + (key.size() > kLongestKey ? sha256(key) : key); }

std::optional<Stamp> stamp_of(const Source& source) {
    struct stat found {};
    if (::stat(source.file.c_str(), &found) != 0) return std::nullopt;
    return Stamp{.bytes = static_cast<uint64_t>(found.st_size),
                 .changed_ns = int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec,
                 .about = sha256(source.about)};
}

class Refresh {
 public:
    Refresh(IndexWriter& writer, IndexReport& report) : writer_(writer), report_(report) {
        for (const auto& [entry, text] : writer.entries())
            if (entry.starts_with("source:"))
                known_[entry] = stamp_from(parse_json(text, "an entry of the kernel index"));
    }

    void run(const std::vector<Source>& sources) {
        for (const Source& source : sources) take(source);
        for (const auto& [entry, stamp] : known_)
            if (!seen_.contains(entry)) {
                for (const std::string& name : stamp.documents) doubtful_.insert(name);
                writer_.set_entry(entry, "");
            }
        for (const std::string& name : doubtful_)
            if (!held_.contains(name)) {
                writer_.remove(name);
                ++report_.removed;
            }
        report_.documents = writer_.size();
    }

 private:
    void take(const Source& source) {
        const std::string entry = entry_of(source.key);
        const auto known = known_.find(entry);
        const Stamp* before = known == known_.end() ? nullptr : &known->second;
        std::optional<Stamp> now = stamp_of(source);
        if (!now) return;  // vanished since it was listed
        seen_.insert(entry);
        if (before != nullptr && unchanged(*before, *now, source)) {
            ++report_.sources_unchanged;
            hold(*before);
            if (before->changed_ns != now->changed_ns) {
                now->digest = before->digest;
                now->documents = before->documents;
                writer_.set_entry(entry, now->text(source.key));
            }
            return;
        }
        read(source, entry, before, *now);
    }

    static std::string digest_of_file(const Source& source, const Stamp& now) {
        return now.bytes > kDigested ? "" : sha256(read_file(source.file));
    }

    static bool unchanged(const Stamp& before, const Stamp& now, const Source& source) {
        if (before.bytes != now.bytes || before.about != now.about) return false;
        if (before.changed_ns == now.changed_ns) return true;
        return !before.digest.empty() && before.digest == digest_of_file(source, now);
    }

    void read(const Source& source, const std::string& entry, const Stamp* before, Stamp now) {
        std::set<std::string> names;
        try {
            now.digest = digest_of_file(source, now);
            source.read([&](Document document) {
                names.insert(document.name);
                put(document);
            });
            ++report_.sources_read;
        } catch (const Error& error) {
            report_.skipped.push_back({source.key.substr(source.key.find(':') + 1), error.what()});
            if (before != nullptr) names.insert(before->documents.begin(), before->documents.end());
            now.changed_ns = kNever;
            now.digest.clear();
            before = nullptr;
        }
        now.documents.assign(names.begin(), names.end());
        writer_.set_entry(entry, now.text(source.key));
        hold(now);
        if (before != nullptr) doubtful_.insert(before->documents.begin(), before->documents.end());
    }

    void hold(const Stamp& stamp) { held_.insert(stamp.documents.begin(), stamp.documents.end()); }

    /// A candidate may come from several runs and the main store: its newest evaluation stands for it.
    void put(const Document& document) {
        const EngineDocument made = engine_document(document);
        const auto there = writer_.data(document.name);
        if (there) {
            if (*there == made.data) return;
            if (document_from_data(*there).when > document.when) return;
        }
        writer_.put(made);
        ++(there ? report_.changed : report_.added);
    }

    IndexWriter& writer_;
    IndexReport& report_;
    std::map<std::string, Stamp> known_;
    std::set<std::string> seen_;      // entries of sources that are still there
    std::set<std::string> held_;      // documents that some source has
    std::set<std::string> doubtful_;  // documents that a source had
};

IndexReport refreshed(IndexWriter& writer, const std::vector<Source>& sources) {
    IndexReport report;
    Refresh(writer, report).run(sources);
    writer.commit();
    return report;
}

std::vector<Source> sources_of(const IndexPlaces& places) {
    return sources(places, std::make_shared<const KnownTasks>(known_tasks(places.home)));
}

IndexReport built(const fs::path& folder, const IndexPlaces& places) {
    const fs::path generation = new_generation(folder);
    const IndexReport report = refreshed(*open_index_writer(generation, Opening::fresh), sources_of(places));
    publish_generation(folder, generation);
    return report;
}

bool changes(const IndexReport& report) {
    return report.added + report.changed + report.removed + report.sources_read > 0;
}

}  // namespace

IndexReport build_index(const fs::path& folder, const IndexPlaces& places) {
    refuse_foreign_folder(folder);
    make_folder(folder);
    const FileLock lock(folder / ".lock");
    return built(folder, places);
}

IndexReport refresh_index(const fs::path& folder, const IndexPlaces& places) {
    refuse_foreign_folder(folder);
    make_folder(folder);
    const FileLock lock(folder / ".lock");
    std::error_code ignored;
    if (!fs::exists(folder / "index.json", ignored)) return built(folder, places);
    const std::optional<fs::path> current = current_generation(folder);
    if (!current) return built(folder, places);
    remove_other_generations(folder, *current);
    const std::vector<Source> sources = sources_of(places);
    find_index_engine();
    const fs::path generation = new_generation(folder);
    try {
        fs::copy(*current, generation);
        const IndexReport report = refreshed(*open_index_writer(generation, Opening::existing), sources);
        if (changes(report))
            publish_generation(folder, generation);
        else
            remove_other_generations(folder, *current);
        return report;
    } catch (const fs::filesystem_error& error) {
        throw Error("cannot copy {}: {}", shown(*current), error.code().message());
    } catch (const std::exception& error) {
        throw damaged_index(folder, error.what());
    }
}

fs::path index_database(const fs::path& folder) {
    if (const auto current = current_generation(folder)) return *current;
    throw Error("the kernel index {} is of another version; `cuda-rlm index build` makes it anew", shown(folder));
}

}  // namespace recuda
