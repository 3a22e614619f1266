// The addresses of servers.
#pragma once

#include <string>
#include <string_view>

namespace recuda {

/// "" for an address that can be asked, else what is wrong with it. User names and passwords in it are refused: keys
/// come from the environment alone.
std::string why_no_endpoint(std::string_view base_url);

/// Whether something listens there: looked up for a loopback address alone, within 0.2 s; others are believed.
bool is_listening(std::string_view base_url);

}  // namespace recuda
