#include "base/paths.h"

#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

bool is_home(const fs::path& folder) {
    std::error_code ignored;
    return fs::is_directory(folder / "ops", ignored) && fs::is_directory(folder / "tasks", ignored);
}

fs::path find_home() {
    if (const char* chosen = std::getenv("RECUDA_HOME"); chosen != nullptr && *chosen != '\0') {
        if (!is_home(chosen)) throw Error("RECUDA_HOME is {}, which holds no ops/ and tasks/", shown(chosen));
        return chosen;
    }
    for (fs::path folder = fs::path(this_program()).parent_path();; folder = folder.parent_path()) {
        if (is_home(folder)) return folder;
        if (folder == folder.parent_path()) break;
    }
    throw Error("no ops/ and tasks/ beside the program; set RECUDA_HOME to the folder that holds them");
}

}  // namespace

const fs::path& home_folder() {
    static const fs::path home = find_home();
    return home;
}

fs::path cache_folder() {
    const auto from = [](const char* name) {
        const char* value = std::getenv(name);
        return fs::path(value == nullptr ? "" : value);
    };
    if (const fs::path chosen = from("RECUDA_CACHE"); !chosen.empty()) return chosen;
    if (const fs::path shared = from("XDG_CACHE_HOME"); shared.is_absolute()) return shared / "recuda";
    if (const fs::path home = from("HOME"); !home.empty()) return home / ".cache" / "recuda";
    return fs::temp_directory_path() / "recuda-cache";
}

}  // namespace recuda
