// Who may use a GPU: one worker process at a time on this machine, by a lock on a file that the GPU's UUID names.
//
// The lock is the system's (flock): it ends with the process that holds it, however that ends. The file lies in /tmp
// for all users alike, since a lock below a user's own folder would not hold off another's; it tells who holds it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace recuda::cuda {

std::filesystem::path lease_path(const std::string& uuid);

class Lease {
 public:
    Lease() = default;
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();

    /// Takes the lease for the process `owner`, or says who holds it: "process 4711 (cuda-rlm run --task …)". Another
    /// worker of the same owner does not stand in its way. Throws Error when the file cannot be opened.
    static std::optional<Lease> take(const std::filesystem::path& path, int owner, std::string& held_by);

 private:
    explicit Lease(int descriptor) : descriptor_(descriptor) {}
    int descriptor_ = -1;
};

/// Who holds it, "" where nobody does.
std::string lease_holder(const std::filesystem::path& path);

/// A worker's side: answers `lease` requests on the pipe until it has the lease, which it keeps; each after waiting up
/// to half a second. False where the parent has gone.
bool await_lease(int in, int out, const std::filesystem::path& path, int owner, Lease& lease);

}  // namespace recuda::cuda
