// What a worker and its parent say to each other.
//
// A message is a little-endian u32, so many bytes of JSON, and a payload of raw bytes to its end. Requests are
// {"call": NAME, …}; replies hold the results, or {"error": TEXT}; a reply with "lost": true is the last that its
// worker gives. Calls and their fields:
//
//   lease                                       → held_by  (first, until nobody else holds the GPU: then "")
//   share descriptor bytes                      →        (once, next: memory for "shared" transfers)
//   info                                        → DeviceInfo
//   allocate name bytes                         → id
//   free id                                     →
//   write id offset bytes                       →        (the bytes lie at the beginning of the shared memory)
//   read id offset bytes                        →        (likewise)
//   allocate_guarded name bytes after           → id
//   fill id value poison                        →
//   hashes regions                              → hashes
//   load target file cubin_bytes, payload = cubin, PTX → id
//   unload id                                   →
//   run launches deadline_s schedule checks count      → Execution
//   time sequences …                            → Timing
//   products product most workspace_limit       → ProductAlgorithms
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "device/device.h"

namespace recuda::cuda {

std::string packed(const nlohmann::json& header, std::string_view payload = {});

/// Parts of a message, within it.
struct Unpacked {
    std::string_view header, payload;
};
/// Throws Error for what is no such message.
Unpacked unpacked(std::string_view message);

/// [buffer, offset, bytes]
nlohmann::json region_to_json(const Region& region);
Region region_from_json(const nlohmann::json& json);

nlohmann::json to_json(const DeviceInfo& info);
DeviceInfo device_info_from_json(const nlohmann::json& json);

nlohmann::json to_json(const Launch& launch);
Launch launch_from_json(const nlohmann::json& json);

nlohmann::json to_json(const MatrixProduct& product);
MatrixProduct matrix_product_from_json(const nlohmann::json& json);

nlohmann::json to_json(const ProductAlgorithms& algorithms);
ProductAlgorithms product_algorithms_from_json(const nlohmann::json& json);

nlohmann::json to_json(const RunOptions& options);
RunOptions run_options_from_json(const nlohmann::json& json);

nlohmann::json to_json(const TimingRequest& request);
TimingRequest timing_request_from_json(const nlohmann::json& json);

nlohmann::json to_json(const Execution& execution);
Execution execution_from_json(const nlohmann::json& json);

nlohmann::json to_json(const Timing& timing);
Timing timing_from_json(const nlohmann::json& json);

}  // namespace recuda::cuda
