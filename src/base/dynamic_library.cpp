#include "base/dynamic_library.h"

#include <dlfcn.h>

#include <utility>

#include "base/error.h"

namespace recuda {

DynamicLibrary::DynamicLibrary(const std::string& path)
    : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)), path_(path) {
    if (handle_ == nullptr) throw Error("cannot open {}: {}", path, ::dlerror());
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(path_, other.path_);
    return *this;
}

DynamicLibrary::~DynamicLibrary() {
    if (handle_ != nullptr) ::dlclose(handle_);
}

bool DynamicLibrary::has(const char* name) const { return ::dlsym(handle_, name) != nullptr; }

void* DynamicLibrary::symbol(const char* name) const {
    void* found = ::dlsym(handle_, name);
    if (found == nullptr) throw Error("{} has no function {}", path_, name);
    return found;
}

}  // namespace recuda
