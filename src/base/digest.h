// SHA-256, as lower-case hexadecimal.
#pragma once

#include <string>
#include <string_view>

namespace recuda {

std::string sha256(std::string_view bytes);

}  // namespace recuda
