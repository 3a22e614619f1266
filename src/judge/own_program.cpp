#include "judge/own_program.h"

#include "base/file.h"
#include "build/builder.h"
#include "judge/build.h"
#include "judge/reference.h"
#include "task/catalogue.h"
#include "task/op.h"

namespace recuda {

std::unique_ptr<LoadedProgram> own_program(const OwnPlace& place, const std::filesystem::path& path,
                                           CompileOptions options) {
    options.target = place.target;
    options.candidate = false;
    options.cubin = place.device.info().kind == DeviceKind::cuda;
    std::vector<Order> orders;
    orders.push_back(
        order_of(candidate_from(path, place.axes, place.limits), place.task, place.axes, place.limits, options));
    Built built = std::move(build_all(place.builder, std::move(orders)).front());
    if (built.outcome != Outcome::correct) throw Error("{} is {}: {}", shown(path), name(built.outcome), built.log);
    return std::make_unique<LoadedProgram>(place.device, std::move(built.compilation), std::move(built.binaries),
                                           place.limits);
}

std::optional<std::filesystem::path> seed_named(const Op& op, std::string_view name) {
    for (const std::filesystem::path& path : seed_files(op))
        if (path.stem() == name) return path;
    return std::nullopt;
}

}  // namespace recuda
