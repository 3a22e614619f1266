#include "device/cuda/server.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/process.h"
#include "device/cuda/wire.h"

namespace recuda::cuda {
namespace {

struct Reply {
    Json header = Json::object();
    std::string payload;
};

using Call = Reply (*)(Device& device, const Json& request, std::string_view payload);

Reply info(Device& device, const Json&, std::string_view) { return {to_json(device.info()), ""}; }

Reply allocate(Device& device, const Json& request, std::string_view) {
    return {{{"id", device.allocate(request.at("name"), request.at("bytes"))}}, ""};
}

Reply free_buffer(Device& device, const Json& request, std::string_view) {
    device.free(request.at("id"));
    return {};
}

Reply write(Device& device, const Json& request, std::string_view payload) {
    device.write(request.at("id"), request.at("offset"), std::as_bytes(std::span(payload)));
    return {};
}

Reply read(Device& device, const Json& request, std::string_view) {
    Reply reply;
    reply.payload.resize(request.at("bytes").get<size_t>());
    device.read(request.at("id"), request.at("offset"), std::as_writable_bytes(std::span(reply.payload)));
    return reply;
}

Reply fill(Device& device, const Json& request, std::string_view) {
    device.fill(request.at("id"), static_cast<std::byte>(request.at("value").get<unsigned>()), request.at("poison"));
    return {};
}

Reply load(Device& device, const Json& request, std::string_view payload) {
    const size_t cubin_bytes = request.at("cubin_bytes");
    Binary binary;
    binary.target = request.at("target");
    binary.file = request.at("file");
    binary.cubin = payload.substr(0, cubin_bytes);
    binary.ptx = payload.substr(cubin_bytes);
    return {{{"id", device.load(binary)}}, ""};
}

Reply unload(Device& device, const Json& request, std::string_view) {
    device.unload(request.at("id"));
    return {};
}

Reply run(Device& device, const Json& request, std::string_view) {
    std::vector<Launch> launches;
    for (const Json& launch : request.at("launches")) launches.push_back(launch_from_json(launch));
    return {to_json(device.run(launches, run_options_from_json(request))), ""};
}

Reply time(Device& device, const Json& request, std::string_view) {
    return {to_json(device.time(timing_request_from_json(request))), ""};
}

constexpr std::array<std::pair<std::string_view, Call>, 10> kCalls = {{
    {"info", info},
    {"allocate", allocate},
    {"free", free_buffer},
    {"write", write},
    {"read", read},
    {"fill", fill},
    {"load", load},
    {"unload", unload},
    {"run", run},
    {"time", time},
}};

Reply answer(Device& device, std::string_view message) {
    try {
        const Unpacked parts = unpacked(message);
        const Json request = parse_json(parts.header, "a request");
        const std::string& wanted = request.at("call").get_ref<const std::string&>();
        for (const auto& [name, call] : kCalls)
            if (name == wanted) return call(device, request, parts.payload);
        throw Error("there is no call `{}`", wanted);
    } catch (const std::exception& error) {
        return {{{"error", json_text(error.what())}}, ""};
    }
}

}  // namespace

void serve(Device& device, int in, int out, const std::function<bool()>& usable) {
    while (const std::optional<std::string> message = read_message(in)) {
        Reply reply = answer(device, *message);
        const bool lost = !usable();
        if (lost) reply.header["lost"] = true;
        write_message(out, packed(reply.header, reply.payload));
        if (lost) return;
    }
}

void serve_failure(int in, int out, std::string_view reason) {
    if (read_message(in)) write_message(out, packed({{"error", json_text(reason)}, {"lost", true}}));
}

}  // namespace recuda::cuda
