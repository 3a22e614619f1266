// This test program is its own compile worker: started with "compile-worker" it serves.
#include <cstdlib>
#include <fstream>
#include <string>

#include "build/builder.h"

namespace recuda {
namespace {

const bool kServed = [] {
    std::ifstream arguments("/proc/self/cmdline");
    std::string program, word;
    std::getline(arguments, program, '\0');
    std::getline(arguments, word, '\0');
    if (word == "compile-worker") std::_Exit(serve_compile_worker());
    return true;
}();

}  // namespace
}  // namespace recuda
