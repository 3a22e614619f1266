// The mailbox: whoever answers is no program of ours. A prompt is complete when its file is there under its name; an
// answer may be written in place by an editor, so that it is taken once it has rested.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "lm/back_ends.h"
#include "lm/conversation.h"
#include "lm/record.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kPrompt = ".prompt.md", kAnswer = ".answer.md";
constexpr auto kPoll = std::chrono::milliseconds(100), kRest = std::chrono::milliseconds(300);
constexpr uint64_t kLimitBytes = 16 << 20;

/// The number of "0012.prompt.md", else 0.
uint64_t number_of(const std::string& name) {
    uint64_t number = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    return problem == std::errc() && std::string_view(end) == kPrompt ? number : 0;
}

/// An answer's file as it was seen, to tell whether it still changes.
struct Seen {
    uint64_t bytes = 0;
    fs::file_time_type written;
    bool operator==(const Seen&) const = default;
};

class Mailbox final : public BackEnd {
 public:
    Mailbox(const fs::path& folder, double wait_s) : folder_(folder), wait_s_(wait_s) { make_folder(folder_); }

    LmResponse complete(const LmRequest& request, const std::stop_token& stop) override {
        const uint64_t number = post(readable(request.messages) + mark(request));
        const std::string answer = await(number, stop);
        return {.text = answer, .finish = "stop", .model = "mailbox"};
    }

    std::string model() const override { return "mailbox"; }
    bool tells_cost() const override { return true; }

 private:
    /// A line by which a question is known again: two that ask for different answers have the same words.
    static std::string mark(const LmRequest& request) {
        return fmt::format("<!-- question {} -->\n", question_of(request));
    }

    fs::path path(uint64_t number, std::string_view ending) const {
        return folder_ / fmt::format("{:04}{}", number, ending);
    }

    /// Puts the prompt into the folder, or finds it there from a run that was interrupted; its number.
    uint64_t post(const std::string& prompt) {
        const std::lock_guard lock(mutex_);
        uint64_t last = 0;
        std::error_code problem;
        for (fs::directory_iterator entry(folder_, problem), end; !problem && entry != end; entry.increment(problem)) {
            const uint64_t number = number_of(entry->path().filename());
            last = std::max(last, number);
            if (number != 0 && same(entry->path(), prompt)) return number;
        }
        const fs::path part = folder_ / fmt::format(".{}.part", ::getpid());
        write_atomically(part, prompt);
        // The file takes its name whole, and no other run's: a link fails where a rename would replace.
        while (::link(part.c_str(), path(++last, kPrompt).c_str()) != 0) {
            if (errno == EEXIST) continue;
            // A file system without links.
            if (::rename(part.c_str(), path(last, kPrompt).c_str()) != 0)
                throw Error("cannot write {}: {}", shown(path(last, kPrompt)), std::strerror(errno));
            return last;
        }
        ::unlink(part.c_str());
        return last;
    }

    static bool same(const fs::path& file, const std::string& prompt) {
        std::error_code problem;
        if (fs::file_size(file, problem) != prompt.size() || problem) return false;
        try {
            return read_file(file) == prompt;
        } catch (const Error&) {
            return false;
        }
    }

    std::string await(uint64_t number, const std::stop_token& stop) const {
        const fs::path file = path(number, kAnswer);
        const Clock::time_point began = Clock::now();
        std::mutex mutex;
        std::condition_variable_any never;
        std::optional<Seen> before;
        Clock::time_point since;
        while (true) {
            const std::optional<Seen> now = look(file);
            if (now != before) since = Clock::now();
            before = now;
            const bool rested = now && has_rested(*now, since);
            if (std::string text = rested ? read(file) : ""; !trimmed(text).empty()) return text;
            const bool over = wait_s_ >= 0 && Clock::now() - began >= std::chrono::duration<double>(wait_s_);
            if (over && (!now || rested))
                throw open(LmError(LmFault::waiting, "{} has no answer yet; write {} beside it and go on with --resume",
                                   shown(path(number, kPrompt)), shown(file.filename())));
            if (stop.stop_requested()) throw open(LmError(LmFault::stopped, "the wait for {} was ended", shown(file)));
            std::unique_lock lock(mutex);
            never.wait_for(lock, stop, kPoll, [] { return false; });
        }
    }

    static LmError open(LmError error) {
        error.open = true;
        return error;
    }

    static std::string read(const fs::path& file) {
        try {
            return valid_utf8(read_file(file, kLimitBytes));
        } catch (const Error& error) {
            throw LmError(LmFault::unreadable, "{}", error.what());
        }
    }

    /// The answer's file when there is one with something in it.
    static std::optional<Seen> look(const fs::path& file) {
        std::error_code problem;
        if (!fs::is_regular_file(file, problem)) return std::nullopt;
        Seen seen{.bytes = fs::file_size(file, problem)};
        if (problem || seen.bytes == 0) return std::nullopt;
        seen.written = fs::last_write_time(file, problem);
        if (problem) return std::nullopt;
        return seen;
    }

    /// Whether the file stopped changing a while ago: by its own time, or by ours where clocks differ.
    static bool has_rested(const Seen& seen, Clock::time_point since) {
        return fs::file_time_type::clock::now() - seen.written >= kRest || Clock::now() - since >= kRest;
    }

    const fs::path folder_;
    const double wait_s_;
    std::mutex mutex_;
};

}  // namespace

std::unique_ptr<BackEnd> make_mailbox(const fs::path& folder, double wait_s) {
    return std::make_unique<Mailbox>(folder, wait_s);
}

}  // namespace recuda
