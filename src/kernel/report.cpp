#include "kernel/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace recuda {
namespace {

constexpr std::array<std::string_view, 10> kNames{"out_of_bounds", "misaligned",         "uninitialised", "shared_race",
                                                  "global_race",   "divergent_barrier",  "absent_lane",   "deadlock",
                                                  "runaway",       "illegal_instruction"};

Json triple(const Dim3& value) { return Json::array({value.x, value.y, value.z}); }

Dim3 triple(const Json& json) {
    return {json.at(0).get<uint32_t>(), json.at(1).get<uint32_t>(), json.at(2).get<uint32_t>()};
}

}  // namespace

std::string_view name(Check check) { return kNames[static_cast<size_t>(check)]; }

Json to_json(const Report& report) {
    Json json{{"check", name(report.check)},
              {"message", json_text(report.message)},
              {"file", json_text(report.file)},
              {"line", report.line},
              {"kernel", json_text(report.kernel)},
              {"block", triple(report.block)},
              {"thread", triple(report.thread)},
              {"buffer", json_text(report.buffer)},
              {"byte_offset", report.byte_offset},
              {"bytes", report.bytes},
              {"other", nullptr},
              {"count", report.count}};
    if (report.other)
        json["other"] = {{"line", report.other->line},
                         {"block", triple(report.other->block)},
                         {"thread", triple(report.other->thread)}};
    return json;
}

Report report_from_json(const Json& json) {
    Report report;
    const auto check = std::find(kNames.begin(), kNames.end(), json.at("check").get<std::string>());
    if (check == kNames.end()) throw Error("there is no check {}", json.at("check").get<std::string>());
    report.check = static_cast<Check>(check - kNames.begin());
    json.at("message").get_to(report.message);
    json.at("file").get_to(report.file);
    json.at("line").get_to(report.line);
    json.at("kernel").get_to(report.kernel);
    report.block = triple(json.at("block"));
    report.thread = triple(json.at("thread"));
    json.at("buffer").get_to(report.buffer);
    json.at("byte_offset").get_to(report.byte_offset);
    json.at("bytes").get_to(report.bytes);
    json.at("count").get_to(report.count);
    if (const Json& other = json.at("other"); !other.is_null())
        report.other =
            OtherAccess{other.at("line").get<uint32_t>(), triple(other.at("block")), triple(other.at("thread"))};
    return report;
}

}  // namespace recuda
