#include "lm/endpoint.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>

namespace recuda {
namespace {

struct Address {
    std::string_view user, host;
    uint16_t port = 0;  // 0: none that can be read
};

Address address_of(std::string_view url) {
    const bool secure = url.starts_with("https://");
    url.remove_prefix(secure ? 8 : 7);
    url = url.substr(0, url.find_first_of("/?#"));
    Address address{.port = static_cast<uint16_t>(secure ? 443 : 80)};
    if (const size_t at = url.rfind('@'); at != std::string_view::npos) {
        address.user = url.substr(0, at);
        url.remove_prefix(at + 1);
    }
    const size_t colon = url.ends_with(']') ? std::string_view::npos : url.rfind(':');
    address.host = url.substr(0, colon);
    if (colon == std::string_view::npos) return address;
    const std::string_view port = url.substr(colon + 1);
    const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (problem != std::errc() || end != port.data() + port.size()) address.port = 0;
    return address;
}

/// Tries to connect within 0.2 s.
bool connects(const sockaddr* to, socklen_t size) {
    const int socket = ::socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket < 0) return false;
    (void)::connect(socket, to, size);  // goes on by itself; the socket tells how it ended
    pollfd wanted{socket, POLLOUT, 0};
    int problem = -1;
    socklen_t length = sizeof problem;
    const bool answered =
        ::poll(&wanted, 1, 200) == 1 && ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &problem, &length) == 0;
    ::close(socket);
    return answered && problem == 0;
}

}  // namespace

std::string why_no_endpoint(std::string_view base_url) {
    if (!base_url.starts_with("http://") && !base_url.starts_with("https://"))
        return "the address of a server begins with http:// or https://";
    const Address address = address_of(base_url);
    if (!address.user.empty()) return "the address of a server holds no user name or password";
    if (address.host.empty() || address.port == 0) return "the address of a server is http://HOST:PORT/PATH";
    return "";
}

bool is_listening(std::string_view base_url) {
    const Address address = address_of(base_url);
    const bool both = address.host == "localhost";
    if (address.host == "[::1]" || both) {
        sockaddr_in6 to{};
        to.sin6_family = AF_INET6;
        to.sin6_port = htons(address.port);
        to.sin6_addr = IN6ADDR_LOOPBACK_INIT;
        if (connects(reinterpret_cast<const sockaddr*>(&to), sizeof to)) return true;
    }
    if (address.host == "127.0.0.1" || both) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(address.port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return connects(reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
    return address.host != "[::1]";
}

}  // namespace recuda
