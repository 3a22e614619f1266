// The kernel index on Xapian: the whole of the library librecuda_xapian.so, and the only file that includes Xapian.
//
// Words are terms with the prefix Z, boolean fields terms with the prefix X, a document's name is its term Q. BM25
// ranks words; wanted fields and the prior add fixed weights. A term in more than a quarter of a large index tells
// nothing and costs most of the time, so it is left out as long as rarer ones are there.
#include <xapian.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "retrieval/engine.h"

namespace recuda {
namespace {

constexpr size_t kLongestTerm = 200;  // Xapian allows 245 bytes, and escapes some
constexpr size_t kMostTerms = 40;
constexpr double kTellsNothing = 0.25, kLargeIndex = 2000;
constexpr Xapian::valueno kSame = 0, kPrior = 1;

std::string term(char prefix, std::string_view word) {
    std::string made = prefix + std::string(word);
    if (made.size() > kLongestTerm) {
        const size_t hash = std::hash<std::string_view>{}(word);
        made = made.substr(0, kLongestTerm - 20) + "#" + std::to_string(hash);
    }
    return made;
}

/// Runs it with Xapian's exceptions turned into ours.
template <typename Function>
auto guarded(Function&& function) {
    try {
        return function();
    } catch (const Xapian::Error& error) {
        throw Error("{}: {}", error.get_type(), error.get_msg());
    }
}

Xapian::docid find(const Xapian::Database& database, const std::string& name) {
    const std::string unique = term('Q', name);
    const auto found = database.postlist_begin(unique);
    return found == database.postlist_end(unique) ? 0 : *found;
}

std::optional<std::string> data_of(const Xapian::Database& database, const std::string& name) {
    const Xapian::docid found = find(database, name);
    if (found == 0) return std::nullopt;
    return database.get_document(found).get_data();
}

Xapian::Query any_of(const std::vector<std::string>& fields) {
    std::vector<std::string> terms;
    for (const std::string& field : fields) terms.push_back(term('X', field));
    return {Xapian::Query::OP_OR, terms.begin(), terms.end()};
}

/// The words worth searching, with their weights: rare ones first.
std::vector<std::pair<double, std::string>> useful_terms(const Xapian::Database& database,
                                                         const std::vector<std::string>& words) {
    const double documents = database.get_doccount();
    std::vector<std::pair<double, std::string>> found;
    for (const std::string& word : words)
        if (const double with = database.get_termfreq(term('Z', word)); with > 0)
            found.emplace_back(std::log((documents + 1) / with), word);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    if (found.size() > kMostTerms) found.resize(kMostTerms);
    const double least = documents > kLargeIndex ? -std::log(kTellsNothing) : 0;
    while (found.size() > 1 && found.back().first < least) found.pop_back();
    return found;
}

class XapianReader final : public IndexReader {
 public:
    explicit XapianReader(const char* folder) : database_(folder) {}

    EngineHits search(const EngineQuery& query) override {
        return guarded([&] { return searched(query); });
    }
    std::optional<std::string> data(const std::string& name) override {
        return guarded([&] { return data_of(database_, name); });
    }
    uint64_t size() override {
        return guarded([&] { return uint64_t{database_.get_doccount()}; });
    }

 private:
    static Xapian::Query filtered(Xapian::Query wanted, const EngineQuery& query) {
        for (const auto& fields : query.one_of)
            wanted = Xapian::Query(Xapian::Query::OP_FILTER, wanted, any_of(fields));
        if (query.none_of.empty()) return wanted;
        return {Xapian::Query::OP_AND_NOT, wanted, any_of(query.none_of)};
    }

    Xapian::MSet matches(const Xapian::Query& query, size_t at_most) {
        Xapian::Enquire enquire(database_);
        enquire.set_query(query);
        enquire.set_collapse_key(kSame);
        return enquire.get_mset(0, static_cast<Xapian::doccount>(at_most));
    }

    /// The words, wanted fields and the prior as one query.
    Xapian::Query whole(const Xapian::Query& words, const EngineQuery& query) {
        double best = 1;
        if (!words.empty()) {
            const Xapian::MSet found = matches(filtered(words, query), 1);
            if (found.get_max_attained() > 0) best = found.get_max_attained();
        }
        std::vector<Xapian::Query> parts;
        if (!words.empty()) parts.push_back(words);
        for (const auto& [field, share] : query.wanted)
            parts.push_back(
                Xapian::Query(Xapian::Query::OP_FILTER,
                              Xapian::Query((new Xapian::FixedWeightPostingSource(best * share))->release()),
                              Xapian::Query(term('X', field))));
        Xapian::Query all = parts.empty() ? Xapian::Query(Xapian::Query::OP_SCALE_WEIGHT, Xapian::Query::MatchAll, 0.0)
                                          : Xapian::Query(Xapian::Query::OP_OR, parts.begin(), parts.end());
        if (query.prior_share > 0)
            all = Xapian::Query(Xapian::Query::OP_AND_MAYBE, all,
                                Xapian::Query(Xapian::Query::OP_SCALE_WEIGHT,
                                              Xapian::Query((new Xapian::ValueWeightPostingSource(kPrior))->release()),
                                              best * query.prior_share));
        return filtered(all, query);
    }

    EngineHits searched(const EngineQuery& query) {
        EngineHits found;
        std::vector<std::string> terms;
        for (const auto& [weight, word] : useful_terms(database_, query.terms)) {
            found.weight[word] = weight;
            terms.push_back(term('Z', word));
        }
        if (!query.terms.empty() && terms.empty() && query.wanted.empty()) return found;
        const Xapian::Query words(Xapian::Query::OP_OR, terms.begin(), terms.end());
        const Xapian::MSet hits = matches(whole(words, query), query.at_most);
        for (auto hit = hits.begin(); hit != hits.end(); ++hit)
            found.hits.push_back({hit.get_document().get_data(), hit.get_weight()});
        return found;
    }

    Xapian::Database database_;
};

class XapianWriter final : public IndexWriter {
 public:
    XapianWriter(const char* folder, bool fresh)
        : database_(folder, fresh ? Xapian::DB_CREATE_OR_OVERWRITE | Xapian::DB_BACKEND_GLASS : Xapian::DB_OPEN) {
        database_.begin_transaction();
    }

    void put(const EngineDocument& document) override {
        guarded([&] {
            Xapian::Document made;
            made.set_data(document.data);
            for (const auto& [word, count] : document.terms) made.add_term(term('Z', word), count);
            for (const std::string& field : document.fields) made.add_boolean_term(term('X', field));
            made.add_value(kPrior, Xapian::sortable_serialise(document.prior));
            if (!document.same.empty()) made.add_value(kSame, document.same);
            const std::string unique = term('Q', document.name);
            made.add_boolean_term(unique);
            database_.replace_document(unique, made);
        });
    }
    void remove(const std::string& name) override {
        guarded([&] { database_.delete_document(term('Q', name)); });
    }
    std::optional<std::string> data(const std::string& name) override {
        return guarded([&] { return data_of(database_, name); });
    }
    void set_entry(const std::string& key, const std::string& value) override {
        guarded([&] { database_.set_metadata(key, value); });
    }
    std::map<std::string, std::string> entries() override {
        return guarded([&] {
            std::map<std::string, std::string> all;
            for (auto key = database_.metadata_keys_begin(); key != database_.metadata_keys_end(); ++key)
                all[*key] = database_.get_metadata(*key);
            return all;
        });
    }
    void commit() override {
        guarded([&] {
            database_.commit_transaction();
            database_.begin_transaction();
        });
    }
    uint64_t size() override {
        return guarded([&] { return uint64_t{database_.get_doccount()}; });
    }

 private:
    Xapian::WritableDatabase database_;
};

}  // namespace

extern "C" {

IndexReader* recuda_index_reader(const char* folder) {
    return guarded([&] { return new XapianReader(folder); });
}

IndexWriter* recuda_index_writer(const char* folder, bool fresh) {
    return guarded([&] { return new XapianWriter(folder, fresh); });
}

const char* recuda_index_engine_version() { return Xapian::version_string(); }
}

}  // namespace recuda
