#include "lm/http.h"

#define CURL_DISABLE_TYPECHECK  // its macros know the linked functions alone
#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>

#include "base/dynamic_library.h"
#include "base/text.h"
#include "lm/model.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo

namespace recuda {
namespace {

/// The functions of libcurl that are used here.
struct Curl {
    DynamicLibrary library;

#define RECUDA_CURL(name) decltype(&::name) name = library.function<decltype(::name)>(#name)
    RECUDA_CURL(curl_global_init);
    RECUDA_CURL(curl_easy_init);
    RECUDA_CURL(curl_easy_cleanup);
    RECUDA_CURL(curl_easy_setopt);
    RECUDA_CURL(curl_easy_getinfo);
    RECUDA_CURL(curl_easy_strerror);
    RECUDA_CURL(curl_multi_init);
    RECUDA_CURL(curl_multi_cleanup);
    RECUDA_CURL(curl_multi_add_handle);
    RECUDA_CURL(curl_multi_remove_handle);
    RECUDA_CURL(curl_multi_perform);
    RECUDA_CURL(curl_multi_poll);
    RECUDA_CURL(curl_multi_info_read);
    RECUDA_CURL(curl_slist_append);
    RECUDA_CURL(curl_slist_free_all);
    RECUDA_CURL(curl_getdate);
#undef RECUDA_CURL
};

/// Opened once, never closed. The first name is OpenSSL's flavour, which a bundle holds in lib/.
const Curl& curl() {
    static const Curl* opened = [] {
        std::string why;
        for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
            try {
                auto* library = new Curl{.library = DynamicLibrary(name)};
                library->curl_global_init(CURL_GLOBAL_DEFAULT);
                return library;
            } catch (const Error& error) {
                if (why.empty()) why = error.what();
            }
        }
        throw Error("{}; install libcurl4", why);
    }();
    return *opened;
}

/// Where systems keep the certificates they trust: libcurl knows the one of the system that it was built for.
std::string certificates() {
    for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                             "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
        std::error_code ignored;
        if (std::filesystem::exists(path, ignored)) return path;
    }
    return "";
}

struct Incoming {
    HttpReply reply;
    uint64_t limit_bytes = 0;
    bool too_long = false;
};

size_t take_body(char* bytes, size_t, size_t count, void* to) {
    auto& incoming = *static_cast<Incoming*>(to);
    incoming.too_long = incoming.reply.body.size() + count > incoming.limit_bytes;
    if (incoming.too_long) return 0;
    incoming.reply.body.append(bytes, count);
    return count;
}

size_t take_header(char* bytes, size_t, size_t count, void* to) {
    const std::string_view line(bytes, count);
    constexpr std::string_view kName = "retry-after:";
    const bool same =
        line.size() >= kName.size() && std::equal(kName.begin(), kName.end(), line.begin(), [](char a, char b) {
            return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
        });
    if (same)
        static_cast<Incoming*>(to)->reply.retry_after_s = retry_after(std::string(trimmed(line.substr(kName.size()))));
    return count;
}

/// A request on its way; all of libcurl's handles.
class Transfer {
 public:
    Transfer(const HttpRequest& request, Incoming& incoming)
        : easy_(curl().curl_easy_init()), multi_(curl().curl_multi_init()) {
        for (const std::string& header : request.headers) headers_ = curl().curl_slist_append(headers_, header.c_str());
        set(CURLOPT_URL, request.url.c_str());
        set(CURLOPT_HTTPHEADER, headers_);
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_CONNECTTIMEOUT, 20L);
        set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::clamp(request.deadline_s, 0.001, 1e6) * 1000));
        set(CURLOPT_ACCEPT_ENCODING, "");
        if (request.body) {
            set(CURLOPT_POST, 1L);
            set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body->size()));
            set(CURLOPT_POSTFIELDS, request.body->data());
        }
        const std::string trusted = certificates();
        if (!trusted.empty()) set(CURLOPT_CAINFO, trusted.c_str());
        incoming.limit_bytes = request.body_limit_bytes;
        set(CURLOPT_WRITEFUNCTION, &take_body);
        set(CURLOPT_WRITEDATA, static_cast<void*>(&incoming));
        set(CURLOPT_HEADERFUNCTION, &take_header);
        set(CURLOPT_HEADERDATA, static_cast<void*>(&incoming));
        curl().curl_multi_add_handle(multi_, easy_);
    }
    Transfer(const Transfer&) = delete;
    ~Transfer() {
        curl().curl_multi_remove_handle(multi_, easy_);
        curl().curl_easy_cleanup(easy_);
        curl().curl_multi_cleanup(multi_);
        curl().curl_slist_free_all(headers_);
    }

    /// Runs it to its end; throws LmError when stop is requested.
    CURLcode run(const std::stop_token& stop) {
        constexpr int kLookAtStopMs = 100;
        while (true) {
            int running = 0;
            curl().curl_multi_perform(multi_, &running);
            int queued = 0;
            while (const CURLMsg* message = curl().curl_multi_info_read(multi_, &queued))
                if (message->msg == CURLMSG_DONE) return message->data.result;
            if (stop.stop_requested()) throw LmError(LmFault::stopped, "the call was ended");
            curl().curl_multi_poll(multi_, nullptr, 0, kLookAtStopMs, nullptr);
        }
    }

    int status() const {
        long status = 0;
        curl().curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
        return static_cast<int>(status);
    }

 private:
    template <typename Value>
    void set(CURLoption option, Value value) {
        curl().curl_easy_setopt(easy_, option, value);
    }

    CURL* easy_;
    CURLM* multi_;
    curl_slist* headers_ = nullptr;
};

/// What a code of libcurl says of another attempt.
LmFault fault_of(CURLcode code) {
    constexpr std::array kVain{CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT, CURLE_PEER_FAILED_VERIFICATION,
                               CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR};
    constexpr std::array kNobody{CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY};
    if (code == CURLE_OPERATION_TIMEDOUT) return LmFault::timed_out;
    if (std::find(kNobody.begin(), kNobody.end(), code) != kNobody.end()) return LmFault::unreachable;
    return std::find(kVain.begin(), kVain.end(), code) != kVain.end() ? LmFault::not_usable : LmFault::connection;
}

}  // namespace

HttpReply http_exchange(const HttpRequest& request, const std::stop_token& stop) {
    if (const std::string why = why_no_http(); !why.empty()) throw LmError(LmFault::not_usable, "{}", why);
    Incoming incoming;
    Transfer transfer(request, incoming);
    const CURLcode code = transfer.run(stop);
    if (incoming.too_long)
        throw LmError(LmFault::unreadable, "the answer is longer than {} MiB", request.body_limit_bytes >> 20);
    if (code == CURLE_OPERATION_TIMEDOUT)
        throw LmError(LmFault::timed_out, "no whole answer in its time (at most {:.3g} s)", request.deadline_s);
    if (code != CURLE_OK) throw LmError(fault_of(code), "{}", curl().curl_easy_strerror(code));
    incoming.reply.status = transfer.status();
    return std::move(incoming.reply);
}

std::string why_no_http() {
    try {
        curl();
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

std::optional<double> retry_after(const std::string& header) {
    double seconds = 0;
    const char* end = header.data() + header.size();
    if (const auto [rest, problem] = std::from_chars(header.data(), end, seconds, std::chars_format::fixed);
        problem == std::errc() && rest == end)
        return seconds >= 0 ? std::optional(seconds) : std::nullopt;
    const time_t when = why_no_http().empty() ? curl().curl_getdate(header.c_str(), nullptr) : -1;
    if (when < 0) return std::nullopt;
    return std::max(0.0, static_cast<double>(when - std::time(nullptr)));
}

}  // namespace recuda
