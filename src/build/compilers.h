// One source through its compiler, without the cache. Outcomes are data; Error means that there is no compiler to ask.
#pragma once

#include <string>
#include <vector>

#include "build/builder.h"
#include "build/pool.h"
#include "build/toolchain.h"

namespace recuda {

/// Logs are cut to this: they go into prompts and files.
constexpr uint64_t kBuildLogLimitBytes = 16 << 10;

/// NVRTC's options for a request: a real architecture gives PTX and cubin, a virtual one PTX alone.
enum class Architecture { real, compute };
std::vector<std::string> nvrtc_options(const BuildRequest& request, const Toolchain& chain, Architecture architecture);

BuildResult compile_cuda(const BuildRequest& request, const Toolchain& chain, WorkerPool& pool);

/// Triton through its Python (python/triton_adapter.py): one binary a kernel.
BuildResult compile_triton(const BuildRequest& request, WorkerPool& pool);

/// A PTX text as it stands, assembled by ptxas where there is one.
BuildResult compile_ptx(const BuildRequest& request, const Toolchain& chain);

/// "build_failed" with the log, cut.
BuildResult failed_build(std::string log);
BuildResult refused_build(std::string why, std::string_view log = {});

/// The outcome of a reply that is no answer: the compiler was stopped or died.
BuildResult unanswered_build(const WorkerPool::Reply& reply, double deadline_s);

}  // namespace recuda
