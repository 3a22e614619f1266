#include <string>

#include "base/error.h"
#include "build/ptx_entries.h"
#include "build/ptx_screen.h"
#include "device/vgpu/decode.h"
#include "device/vgpu/program.h"
#include "device/vgpu/ptx/check.h"
#include "targets.h"

namespace recuda::fuzz {

std::string_view text_of(std::string_view input) { return input.substr(0, input.rfind('\0')); }

void try_parser(std::string_view input) {
    const std::string text(text_of(input));
    if (const std::string problem = read_ptx_entries(text).problem; !problem.empty()) expect_line(problem);
    if (const std::string why = screen_ptx(text); !why.empty()) expect_line(why);
    try {
        const vgpu::ptx::Module module = vgpu::ptx::parse(text, "kernel.cu");
        vgpu::ptx::check(module);
        for (const auto& function : module.functions) {
            if (!function.is_entry || !function.has_body) continue;
            try {
                vgpu::decode(module, function, false);
            } catch (const vgpu::Unsupported& error) {
                expect_line(error.what());
            }
        }
    } catch (const Error& error) {
        expect_line(error.what());
    }
}

}  // namespace recuda::fuzz
