#include "device/cuda/server.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/worker_process.h"
#include "device/cuda/shared_memory.h"
#include "device/cuda/wire.h"

namespace recuda::cuda {
namespace {

/// What requests of one parent act on.
struct Session {
    Device& device;
    SharedMemory shared;
};

/// Header of the reply to a request.
using Call = Json (*)(Session& session, const Json& request, std::string_view payload);

/// The part of the shared memory that a transfer uses.
std::span<std::byte> transfer(const Session& session, const Json& request) {
    const size_t bytes = request.at("bytes");
    if (bytes > session.shared.bytes().size())
        throw Error("a transfer of {} bytes is larger than the shared memory", bytes);
    return session.shared.bytes().first(bytes);
}

/// Who serves has the GPU already.
Json lease(Session&, const Json&, std::string_view) { return {{"held_by", ""}}; }

Json share(Session& session, const Json& request, std::string_view) {
    session.shared = SharedMemory::inherited(request.at("descriptor"), request.at("bytes"));
    return Json::object();
}

Json info(Session& session, const Json&, std::string_view) { return to_json(session.device.info()); }

Json allocate(Session& session, const Json& request, std::string_view) {
    return {{"id", session.device.allocate(request.at("name"), request.at("bytes"))}};
}

Json allocate_guarded(Session& session, const Json& request, std::string_view) {
    const Guard guard = request.at("after").get<bool>() ? Guard::after : Guard::before;
    return {{"id", session.device.allocate_guarded(request.at("name"), request.at("bytes"), guard)}};
}

Json hashes(Session& session, const Json& request, std::string_view) {
    std::vector<Region> regions;
    for (const Json& region : request.at("regions")) regions.push_back(region_from_json(region));
    return {{"hashes", session.device.hashes(regions)}};
}

Json free_buffer(Session& session, const Json& request, std::string_view) {
    session.device.free(request.at("id"));
    return Json::object();
}

Json write(Session& session, const Json& request, std::string_view) {
    session.device.write(request.at("id"), request.at("offset"), transfer(session, request));
    return Json::object();
}

Json read(Session& session, const Json& request, std::string_view) {
    session.device.read(request.at("id"), request.at("offset"), transfer(session, request));
    return Json::object();
}

Json fill(Session& session, const Json& request, std::string_view) {
    session.device.fill(request.at("id"), static_cast<std::byte>(request.at("value").get<unsigned>()),
                        request.at("poison"));
    return Json::object();
}

Json load(Session& session, const Json& request, std::string_view payload) {
    const size_t cubin_bytes = request.at("cubin_bytes");
    Binary binary;
    binary.target = request.at("target");
    binary.file = request.at("file");
    binary.cubin = payload.substr(0, cubin_bytes);
    binary.ptx = payload.substr(cubin_bytes);
    return {{"id", session.device.load(binary)}};
}

Json unload(Session& session, const Json& request, std::string_view) {
    session.device.unload(request.at("id"));
    return Json::object();
}

Json run(Session& session, const Json& request, std::string_view) {
    std::vector<Launch> launches;
    for (const Json& launch : request.at("launches")) launches.push_back(launch_from_json(launch));
    return to_json(session.device.run(launches, run_options_from_json(request)));
}

Json time(Session& session, const Json& request, std::string_view) {
    return to_json(session.device.time(timing_request_from_json(request)));
}

Json products(Session& session, const Json& request, std::string_view) {
    return to_json(session.device.product_algorithms(matrix_product_from_json(request.at("product")),
                                                     request.at("most"), request.at("workspace_limit")));
}

constexpr std::array<std::pair<std::string_view, Call>, 15> kCalls = {{
    {"lease", lease},
    {"share", share},
    {"info", info},
    {"allocate", allocate},
    {"allocate_guarded", allocate_guarded},
    {"free", free_buffer},
    {"write", write},
    {"read", read},
    {"fill", fill},
    {"hashes", hashes},
    {"load", load},
    {"unload", unload},
    {"run", run},
    {"time", time},
    {"products", products},
}};

Json answer(Session& session, std::string_view message) {
    try {
        const Unpacked parts = unpacked(message);
        const Json request = parse_json(parts.header, "a request");
        const std::string& wanted = request.at("call").get_ref<const std::string&>();
        for (const auto& [name, call] : kCalls)
            if (name == wanted) return call(session, request, parts.payload);
        throw Error("there is no call `{}`", wanted);
    } catch (const std::exception& error) {
        return {{"error", json_text(error.what())}};
    }
}

}  // namespace

void serve(Device& device, int in, int out, const std::function<bool()>& usable) {
    Session session{device, {}};
    while (const std::optional<std::string> message = read_message(in)) {
        Json reply = answer(session, *message);
        const bool lost = !usable();
        if (lost) reply["lost"] = true;
        write_message(out, packed(reply));
        if (lost) return;
    }
}

void serve_failure(int in, int out, std::string_view reason) {
    if (read_message(in)) write_message(out, packed({{"error", json_text(reason)}, {"lost", true}}));
}

}  // namespace recuda::cuda
