#include "retrieval/engine.h"

#include "base/dynamic_library.h"
#include "base/error.h"
#include "base/process.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

constexpr char kLibrary[] = "librecuda_xapian.so";

struct Engine {
    std::string path;
    DynamicLibrary library;
    MakeIndexReader* reader = nullptr;
    MakeIndexWriter* writer = nullptr;
    IndexEngineVersion* version = nullptr;
};

/// In lib/ beside the program (a bundle), else beside the program (a build folder).
fs::path library_path() {
    const fs::path folder = fs::path(this_program()).parent_path();
    std::error_code ignored;
    const fs::path bundled = folder / "lib" / kLibrary;
    return fs::exists(bundled, ignored) ? bundled : folder / kLibrary;
}

Engine open_engine() {
    Engine engine{.path = library_path().native()};
    try {
        engine.library = DynamicLibrary(engine.path);
        engine.reader = engine.library.function<MakeIndexReader>("recuda_index_reader");
        engine.writer = engine.library.function<MakeIndexWriter>("recuda_index_writer");
        engine.version = engine.library.function<IndexEngineVersion>("recuda_index_engine_version");
    } catch (const Error& error) {
        throw Error("the kernel index needs Xapian, which is not usable: {}; install Debian's libxapian30",
                    error.what());
    }
    return engine;
}

const Engine& engine() {
    static const Engine opened = open_engine();
    return opened;
}

}  // namespace

std::unique_ptr<IndexReader> open_index_reader(const fs::path& folder) {
    return std::unique_ptr<IndexReader>(engine().reader(folder.c_str()));
}

std::unique_ptr<IndexWriter> open_index_writer(const fs::path& folder, Opening opening) {
    return std::unique_ptr<IndexWriter>(engine().writer(folder.c_str(), opening == Opening::fresh));
}

EngineFound find_index_engine() { return {.path = engine().path, .version = engine().version()}; }

}  // namespace recuda
