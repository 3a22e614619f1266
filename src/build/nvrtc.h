// NVRTC, opened at run time: CUDA C++ text in, PTX and cubin out.
#pragma once

#include <string>
#include <vector>

#include "base/dynamic_library.h"

namespace recuda {

class Nvrtc {
 public:
    /// Opens the library, its builtins first: NVRTC asks for them by name, and a folder that the loader does not know
    /// holds both. Throws Error when one cannot be opened.
    Nvrtc(const std::string& library, const std::string& builtins);

    struct Compilation {
        enum class Status { done, rejected, bad_option } status = Status::rejected;
        std::string log;
        std::string ptx;    // when done
        std::string cubin;  // when done for a real architecture
    };

    /// Compiles one text; `file` is the name that diagnostics and line tables give it.
    Compilation compile(const std::string& source, const std::string& file,
                        const std::vector<std::string>& options) const;

    /// The head of the PTX of an empty program: "… Cuda compilation tools, release 13.0, V13.0.88 …".
    std::string banner() const;

 private:
    DynamicLibrary builtins_, library_;
};

}  // namespace recuda
