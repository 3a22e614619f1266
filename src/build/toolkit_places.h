// Where CUDA's toolkits and other tools may lie: in the environment, on the system, in `.deps`, among Python's
// packages.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

/// The variable's value, or "".
std::string environment(const char* name);

bool is_file(const std::filesystem::path& path);
bool is_program(const std::filesystem::path& path);

/// CUDA toolkits in the order in which they are looked into, Python's packages aside.
std::vector<std::string> toolkit_roots();

/// Folders of this name below `nvidia` in each module folder of `python3`, which this starts.
std::vector<std::string> site_packages_roots(std::string_view name);

/// The first `.deps/NAME` beside or above the program or in the home folder, or "".
std::filesystem::path deps_folder(std::string_view name);

/// Subfolders of a toolkit that may hold its libraries: installers, wheels and Debian-like packages differ.
std::vector<std::filesystem::path> library_folders(const std::filesystem::path& root);

/// A file of the folder whose name begins with `prefix`; several versions side by side: the greatest name. "" where
/// there is none.
std::string file_with_prefix(const std::filesystem::path& folder, std::string_view prefix);

}  // namespace recuda
