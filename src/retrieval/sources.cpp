#include "retrieval/sources.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/text.h"
#include "kernel/kernel_file.h"
#include "store/store.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLongestFile = uint64_t{1} << 20;

/// Regular files below a folder with one of these endings, by name; links are left out.
std::vector<fs::path> files_below(const fs::path& folder, const std::vector<std::string>& endings) {
    std::vector<fs::path> found;
    std::error_code problem;
    for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, problem), end;
         !problem && at != end; at.increment(problem))
        if (fs::is_regular_file(at->symlink_status()) &&
            std::find(endings.begin(), endings.end(), at->path().extension()) != endings.end())
            found.push_back(at->path());
    std::sort(found.begin(), found.end());
    return found;
}

/// Task and idea of a kernel file; a file that does not parse has none.
void add_directives(const std::string& source, const fs::path& path, Document& document) {
    document.language = path.extension() == ".py" ? "triton" : "cuda";
    try {
        const KernelFile file = parse_kernel_file(source, path.filename().string(),
                                                  document.language == "triton" ? Language::triton : Language::cuda);
        document.task = file.task;
        document.title += " " + file.idea;
    } catch (const Error&) {
        // Its text is found all the same.
    }
}

Source kernel_source(const fs::path& home, const fs::path& path, std::string kind, std::string op,
                     const std::shared_ptr<const KnownTasks>& known) {
    const std::string name = fs::relative(path, home).generic_string();
    const auto summary = known->summaries.find(op);
    const std::string about = summary == known->summaries.end() ? "" : summary->second;
    const auto read = [=](const TakeDocument& take) {
        const std::string source = read_file(path, kLongestFile);
        const auto text = document_text(source);
        if (!text) throw Error("{} is a binary file", shown(path));
        Document document{.name = kind + ":" + name, .kind = kind, .op = op, .title = op + " " + kind, .text = *text};
        document.words = about + " " + name;
        if (source.size() <= kLongestText) document.kernel_at = 0;
        add_directives(source, path, document);
        if (kind != "kernel") document.task.clear();  // a seed is of its op, whatever task it names
        if (const auto task = known->tasks.find(document.task); task != known->tasks.end()) {
            document.op = task->second.op;
            document.family = task->second.family;
            document.title = document.op + " " + document.title;
        }
        take(std::move(document));
    };
    return {.key = "home:" + name, .file = path, .about = about, .read = read};
}

Source note_source(const fs::path& home, const fs::path& path) {
    const auto read = [path](const TakeDocument& take) {
        const auto text = document_text(read_file(path, kLongestFile));
        if (!text) throw Error("{} is a binary file", shown(path));
        const std::string title(trimmed(std::string_view(*text).substr(0, text->find('\n'))));
        take({.name = "note:" + path.stem().string(), .kind = "note", .title = title, .text = *text});
    };
    return {.key = "home:" + fs::relative(path, home).generic_string(), .file = path, .read = read};
}

void add_catalogue(const fs::path& home, const std::shared_ptr<const KnownTasks>& known, std::vector<Source>& all) {
    for (const auto& [op, summary] : known->summaries) {
        const fs::path folder = home / "ops" / op;
        for (const fs::path& seed : files_below(folder / "seeds", {".cu", ".py"}))
            all.push_back(kernel_source(home, seed, "seed", op, known));
        if (const fs::path reference = folder / "reference.cu"; fs::is_regular_file(reference))
            all.push_back(kernel_source(home, reference, "reference", op, known));
    }
    for (const fs::path& kernel : files_below(home / "kernels", {".cu", ".py"}))
        all.push_back(kernel_source(home, kernel, "kernel", "", known));
    for (const fs::path& note : files_below(home / "docs/notes", {".md"})) all.push_back(note_source(home, note));
}

}  // namespace

IndexPlaces usual_places(const std::string& db) {
    return {.home = home_folder(), .artifacts = "artifacts", .store = main_store(db)};
}

KnownTasks known_tasks(const fs::path& home) {
    KnownTasks known;
    Catalogue catalogue(home);
    for (const Task& task : catalogue.tasks()) {
        known.tasks[task.name] = {.op = task.op->name, .family = task.family};
        known.summaries[task.op->name] = task.op->summary;
    }
    return known;
}

std::vector<Source> sources(const IndexPlaces& places, const std::shared_ptr<const KnownTasks>& known) {
    std::vector<Source> all;
    add_catalogue(places.home, known, all);
    for (Source& run : run_sources(places.artifacts, known)) all.push_back(std::move(run));
    std::error_code ignored;
    if (!places.store.empty() && fs::is_regular_file(places.store, ignored))
        all.push_back(store_source(places.store, known));
    std::sort(all.begin(), all.end(), [](const Source& a, const Source& b) { return a.key < b.key; });
    return all;
}

}  // namespace recuda
