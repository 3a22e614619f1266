// A shared library opened at run time.
#pragma once

#include <string>

namespace recuda {

class DynamicLibrary {
 public:
    DynamicLibrary() = default;
    /// Opens it; throws Error with the loader's reason.
    explicit DynamicLibrary(const std::string& path);
    DynamicLibrary(DynamicLibrary&& other) noexcept;
    DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
    ~DynamicLibrary();

    /// The function of that name; throws Error when the library has none.
    template <typename Function>
    Function* function(const char* name) const {
        return reinterpret_cast<Function*>(symbol(name));
    }
    bool has(const char* name) const;

 private:
    void* symbol(const char* name) const;
    void* handle_ = nullptr;
    std::string path_;
};

}  // namespace recuda
