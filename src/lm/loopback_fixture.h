// A server on loopback for tests: answers each connection's one request with the next of its scripted replies, the last
// one for ever, byte for byte.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace recuda {

/// What a connection gets.
struct ScriptedReply {
    std::string bytes;     // all of it, status line included
    double pause_s = 0;    // before each of `pieces`
    unsigned pieces = 1;   // parts that the bytes are sent in
    bool hangs = false;    // sends nothing more and keeps the connection
    bool endless = false;  // goes on sending
};

/// A whole HTTP reply with a length and a JSON type.
inline ScriptedReply http_reply(int status, const std::string& body, const std::string& headers = "");

/// A chat completion that says `text`, with 900 input and 300 output tokens.
inline std::string completion(const std::string& text);

class LoopbackServer {
 public:
    explicit LoopbackServer(std::vector<ScriptedReply> replies);
    LoopbackServer(const LoopbackServer&) = delete;
    ~LoopbackServer();

    std::string url() const;  // "http://127.0.0.1:PORT/v1"
    /// The requests so far, headers and body.
    std::vector<std::string> requests() const;

 private:
    void serve(int connection);

    int listener_ = -1;
    std::atomic<bool> closing_ = false;
    mutable std::mutex mutex_;
    std::vector<ScriptedReply> replies_;
    std::vector<std::string> requests_;
    std::vector<std::thread> connections_;
    std::thread thread_;
};

/// Reads a request whole: headers, then as many bytes as they say.
inline std::string read_request(int connection) {
    std::string text;
    char part[4096];
    size_t wanted = std::string::npos;
    while (text.size() < wanted) {
        const ssize_t count = ::recv(connection, part, sizeof part, 0);
        if (count <= 0) break;
        text.append(part, static_cast<size_t>(count));
        const size_t head = text.find("\r\n\r\n");
        if (head == std::string::npos) continue;
        const size_t length = text.find("Content-Length: ");
        wanted = head + 4 + (length < head ? std::stoul(text.substr(length + 16)) : 0);
    }
    return text;
}

inline ScriptedReply http_reply(int status, const std::string& body, const std::string& headers) {
    return {.bytes = "HTTP/1.1 " + std::to_string(status) +
                     " Word\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                     "\r\n" + headers + "Connection: close\r\n\r\n" + body};
}

inline std::string completion(const std::string& text) {
    return nlohmann::json{
        {"model", "tiny-1"},
        {"choices", {{{"message", {{"role", "assistant"}, {"content", text}}}, {"finish_reason", "stop"}}}},
        {"usage", {{"prompt_tokens", 900}, {"completion_tokens", 300}}}}
        .dump();
}

inline LoopbackServer::LoopbackServer(std::vector<ScriptedReply> replies) : replies_(std::move(replies)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 16);
    thread_ = std::thread([this] {
        pollfd wanted{listener_, POLLIN, 0};
        while (!closing_) {
            if (::poll(&wanted, 1, 20) != 1) continue;
            const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            if (connection >= 0) connections_.emplace_back([this, connection] { serve(connection); });
        }
    });
}

inline LoopbackServer::~LoopbackServer() {
    closing_ = true;
    thread_.join();
    for (std::thread& connection : connections_) connection.join();
    ::close(listener_);
}

inline std::string LoopbackServer::url() const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    return "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/v1";
}

inline std::vector<std::string> LoopbackServer::requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
}

inline void LoopbackServer::serve(int connection) {
    const std::string request = read_request(connection);
    ScriptedReply reply;
    {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
        reply = replies_.front();
        if (replies_.size() > 1) replies_.erase(replies_.begin());
    }
    const auto pause = [&](double seconds) {
        for (; seconds > 0 && !closing_; seconds -= 0.01) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    };
    const size_t size = std::max<size_t>(1, (reply.bytes.size() + reply.pieces - 1) / reply.pieces);
    for (size_t at = 0; at < reply.bytes.size() && !closing_; at += size) {
        pause(reply.pause_s);
        const std::string part = reply.bytes.substr(at, size);
        if (::send(connection, part.data(), part.size(), MSG_NOSIGNAL) < 0) break;
    }
    const std::string filler(1 << 16, 'x');
    while (reply.endless && !closing_ && ::send(connection, filler.data(), filler.size(), MSG_NOSIGNAL) > 0) {
    }
    char part[64];
    while (reply.hangs && !closing_) pause(0.05);
    ::shutdown(connection, SHUT_WR);
    pollfd wanted{connection, POLLIN, 0};
    if (::poll(&wanted, 1, 100) == 1) (void)!::recv(connection, part, sizeof part, MSG_DONTWAIT);
    ::close(connection);
}

}  // namespace recuda
