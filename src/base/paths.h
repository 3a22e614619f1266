// Where things are: the catalogue beside the program, the cache of the user.
#pragma once

#include <filesystem>

namespace recuda {

/// The folder that holds ops/ tasks/ kernels/ presets/ python/: RECUDA_HOME, else found upwards from the program.
/// Throws Error when there is none.
const std::filesystem::path& home_folder();

/// RECUDA_CACHE, else XDG_CACHE_HOME/recuda, else ~/.cache/recuda. Not created here.
std::filesystem::path cache_folder();

}  // namespace recuda
