// What the program and its compile workers say to each other: length-prefixed messages (base/worker_process.h) over
// stdin and stdout.
//
//   program → worker   Setup, once (CBOR)
//   worker  → program  "+" when it is ready, or "-" and why it cannot be
//   program → worker   a ticket of 32 random characters, and a request
//   worker  → program  "+", the ticket and the answer; "-" where the worker wants to be replaced after it
//   …                  until the program closes the pipe
//
// A CUDA worker gets CudaJob and answers CudaAnswer (CBOR). A worker that is a program (Triton's Python) is put into
// the jail and executed in the worker's place; from then on it speaks for itself (python/triton_adapter.py). The ticket
// says which request is answered: code of a candidate that got hold of the worker's stdout cannot answer for the next
// one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/jail.h"
#include "build/builder.h"
#include "build/nvrtc.h"

namespace recuda {

constexpr size_t kTicketBytes = 32;

struct WorkerSetup {
    std::string nvrtc, builtins;                     // a CUDA worker opens these,
    std::vector<std::string> program;                // another becomes this program
    std::string folder;                              // the working folder
    std::map<std::string, std::string> environment;  // with this environment and no other
    Jail jail;
};

struct CudaJob {
    std::string source, file;
    std::vector<std::string> options;
    double cpu_s = 60;
};

std::string packed(const WorkerSetup& setup);
std::string packed(const CudaJob& job);
std::string packed(const Nvrtc::Compilation& answer);
std::string packed(const BuildResult& result);

/// The reverse; throw Error for bytes that are not what `packed` makes.
WorkerSetup unpacked_setup(std::string_view bytes);
CudaJob unpacked_job(std::string_view bytes);
Nvrtc::Compilation unpacked_compilation(std::string_view bytes);
BuildResult unpacked_result(std::string_view bytes);

}  // namespace recuda
