// One HTTP exchange over libcurl, which is opened at run time: it brings thirty libraries with it, and most processes
// of this program never ask a model. Proxies are taken from the environment as curl does (https_proxy, NO_PROXY …).
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace recuda {

struct HttpRequest {
    std::string url;
    std::vector<std::string> headers;  // "Name: value"
    std::optional<std::string> body;   // POST with one, GET without
    double deadline_s = 600;           // of the whole exchange
    uint64_t body_limit_bytes = 16 << 20;
};

struct HttpReply {
    int status = 0;
    std::string body;
    std::optional<double> retry_after_s;  // of the header, given as seconds or as a date
};

/// Any status is a reply; redirections are not followed, so that no key goes to another host. Throws LmError
/// (unreachable, connection, timed_out, stopped, unreadable for a body above the limit, not_usable where another
/// attempt is vain), whose message holds neither URL nor headers.
HttpReply http_exchange(const HttpRequest& request, const std::stop_token& stop);

/// "" when libcurl is there, else what to do.
std::string why_no_http();

/// Seconds of a Retry-After header: "120" or an HTTP date. None for anything else.
std::optional<double> retry_after(const std::string& header);

}  // namespace recuda
