#include "device/cuda/launcher.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

namespace recuda::cuda {
namespace {

TEST(Launcher, KnowsWhereMachineCodeRuns) {
    struct Case {
        const char *made_for, *target;
        bool runs;
    };
    for (const auto& [made_for, target, runs] : {
             Case{"sm_90", "sm_90", true},
             Case{"sm_90a", "sm_90", true},
             Case{"sm_120", "sm_121", true},
             Case{"sm_121", "sm_120", false},
             Case{"sm_120a", "sm_121", false},
             Case{"sm_100f", "sm_103", true},
             Case{"sm_80", "sm_86", true},
             Case{"sm_80", "sm_90", false},
             Case{"sm_90", "sm_100", false},
             Case{"", "sm_90", false},
             Case{"compute_90", "sm_90", false},
         })
        EXPECT_EQ(runs_on(made_for, target), runs) << made_for << " on " << target;
}

TEST(Launcher, ImagesThatAreCutOffAreNotLoaded) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_shoff = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 1;
    Elf64_Shdr section{};
    section.sh_type = SHT_PROGBITS;
    section.sh_offset = sizeof header + sizeof section;
    section.sh_size = 16;
    std::string image(reinterpret_cast<const char*>(&header), sizeof header);
    image.append(reinterpret_cast<const char*>(&section), sizeof section).append(16, 'x');
    EXPECT_TRUE(is_whole_elf(image));
    for (size_t bytes = 0; bytes < image.size(); ++bytes)
        EXPECT_FALSE(is_whole_elf(std::string_view(image).substr(0, bytes))) << bytes;
    EXPECT_FALSE(is_whole_elf("// PTX" + image));
}

}  // namespace
}  // namespace recuda::cuda
