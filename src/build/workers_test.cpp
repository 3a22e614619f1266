// This test program is its own compile worker: started with "compile-worker" it serves, with "bad-worker" it hangs,
// crashes, retires or answers for the next request as the source of a request asks it to.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "base/worker_process.h"
#include "build/builder.h"
#include "build/messages.h"

namespace recuda {
namespace {

int serve_badly() {
    read_message(STDIN_FILENO);
    write_message(STDOUT_FILENO, "+");
    while (const std::optional<std::string> message = read_message(STDIN_FILENO)) {
        const std::string ticket = message->substr(0, kTicketBytes);
        const CudaJob job = unpacked_job(std::string_view(*message).substr(kTicketBytes));
        if (job.source == "hang") ::pause();
        if (job.source == "crash") ::signal(SIGSEGV, SIG_DFL), ::raise(SIGSEGV);
        const std::string ptx = ".version 9.0\n.target sm_90\n.entry p" + std::to_string(::getpid()) + "() { ret; }";
        std::string answer = job.source == "retire" ? "-" : "+";
        answer += ticket + packed(Nvrtc::Compilation{
                               .status = Nvrtc::Compilation::Status::done, .log = {}, .ptx = ptx, .cubin = {}});
        write_message(STDOUT_FILENO, answer);
        if (job.source == "forge") write_message(STDOUT_FILENO, answer);
    }
    return 0;
}

const bool kServed = [] {
    std::ifstream arguments("/proc/self/cmdline");
    std::string program, word;
    std::getline(arguments, program, '\0');
    std::getline(arguments, word, '\0');
    if (word == "compile-worker") std::_Exit(serve_compile_worker());
    if (word == "bad-worker") std::_Exit(serve_badly());
    return true;
}();

}  // namespace
}  // namespace recuda
