// The folder of the kernel index on the disk.
//
//   index.json   {"format", "version", "database", "files"}: which folder beside it holds the documents, and of each of
//                its files "name", "bytes", "changed_ns" and "sha256"
//   g-…          a generation: a Xapian database that never changes once index.json names it
//   .lock        held by the process that writes here
//
// Xapian can crash on a damaged database, so its files are compared with index.json before it opens them.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"

namespace recuda {

Error damaged_index(const std::filesystem::path& folder, const std::string& why);

/// Throws Error for a folder that holds what no index has.
void refuse_foreign_folder(const std::filesystem::path& folder);

/// The generation in use, its files looked at; nullopt for an index of another version. Throws Error that says what to
/// do where there is none or it is damaged. Files of a large database are read again only when their time or size has
/// changed since they were written.
std::optional<std::filesystem::path> current_generation(const std::filesystem::path& folder);

/// The name of a generation that is not there yet.
std::filesystem::path new_generation(const std::filesystem::path& folder);

/// Puts a generation in use and takes the others away. On the disk when it returns.
void publish_generation(const std::filesystem::path& folder, const std::filesystem::path& generation);

/// Takes away what is not in use: what a process that was killed left. Who has it open keeps it.
void remove_other_generations(const std::filesystem::path& folder, const std::filesystem::path& generation);

}  // namespace recuda
