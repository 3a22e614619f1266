#include "build/nvrtc.h"

#include <nvrtc.h>

#include "base/error.h"
#include "build/standard_headers.h"

namespace recuda {
namespace {

/// An nvrtcProgram that is destroyed with its scope.
class Program {
 public:
    Program(const DynamicLibrary& library, const std::string& source, const std::string& file) : library_(library) {
        const auto create = library.function<decltype(nvrtcCreateProgram)>("nvrtcCreateProgram");
        std::vector<const char*> names, texts;
        for (const StandardHeader& header : standard_headers()) {
            names.push_back(header.name);
            texts.push_back(header.text);
        }
        if (create(&program_, source.c_str(), file.c_str(), static_cast<int>(names.size()), texts.data(),
                   names.data()) != NVRTC_SUCCESS)
            throw Error("NVRTC cannot make a program: out of memory");
    }
    Program(const Program&) = delete;
    ~Program() { library_.function<decltype(nvrtcDestroyProgram)>("nvrtcDestroyProgram")(&program_); }

    nvrtcResult compile(const std::vector<std::string>& options) const {
        std::vector<const char*> pointers;
        for (const std::string& option : options) pointers.push_back(option.c_str());
        const auto compile = library_.function<decltype(nvrtcCompileProgram)>("nvrtcCompileProgram");
        return compile(program_, static_cast<int>(pointers.size()), pointers.data());
    }

    /// One of the texts that NVRTC hands out through a pair of functions; "" where it has none.
    std::string text(const char* size_function, const char* function) const {
        size_t size = 0;
        if (library_.function<decltype(nvrtcGetPTXSize)>(size_function)(program_, &size) != NVRTC_SUCCESS) return "";
        std::string bytes(size, '\0');
        if (size == 0 || library_.function<decltype(nvrtcGetPTX)>(function)(program_, bytes.data()) != NVRTC_SUCCESS)
            return "";
        return bytes;
    }

 private:
    const DynamicLibrary& library_;
    nvrtcProgram program_ = nullptr;
};

/// NVRTC's sizes of texts count the closing zero.
std::string without_zero(std::string text) {
    while (text.ends_with('\0')) text.pop_back();
    return text;
}

DynamicLibrary opened(const std::string& path) { return path.empty() ? DynamicLibrary() : DynamicLibrary(path); }

}  // namespace

Nvrtc::Nvrtc(const std::string& library, const std::string& builtins)
    : builtins_(opened(builtins)), library_(library) {}

Nvrtc::Compilation Nvrtc::compile(const std::string& source, const std::string& file,
                                  const std::vector<std::string>& options) const {
    const Program program(library_, source, file);
    const nvrtcResult result = program.compile(options);
    Compilation compilation{
        .log = without_zero(program.text("nvrtcGetProgramLogSize", "nvrtcGetProgramLog")), .ptx = {}, .cubin = {}};
    if (result == NVRTC_ERROR_INVALID_OPTION) compilation.status = Compilation::Status::bad_option;
    if (result != NVRTC_SUCCESS) {
        if (compilation.log.empty())
            compilation.log = library_.function<decltype(nvrtcGetErrorString)>("nvrtcGetErrorString")(result);
        return compilation;
    }
    compilation.status = Compilation::Status::done;
    compilation.ptx = without_zero(program.text("nvrtcGetPTXSize", "nvrtcGetPTX"));
    compilation.cubin = program.text("nvrtcGetCUBINSize", "nvrtcGetCUBIN");
    return compilation;
}

std::string Nvrtc::banner() const {
    const Compilation empty = compile("", "empty.cu", {"--gpu-architecture=compute_80"});
    if (empty.status != Compilation::Status::done) throw Error("NVRTC cannot compile an empty program: {}", empty.log);
    return empty.ptx;
}

}  // namespace recuda
