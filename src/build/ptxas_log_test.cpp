#include "build/ptxas_log.h"

#include <gtest/gtest.h>

namespace recuda {
namespace {

constexpr const char* kLog = R"(k.cu(1): warning #177-D: variable "unused" was declared but never referenced
ptxas info    : 16 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
ptxas         .     400 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 27 registers, used 2 barriers, 400 bytes cumulative stack size, 32 bytes smem, 380 bytes cmem[0]
ptxas info    : Compile time = 11.476 ms
ptxas info    : Function properties for _Z1fPKfi
ptxas         .     8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
ptxas warning : something to know
)";

TEST(PtxasLog, FillsTheResourcesOfEachEntry) {
    std::vector<Entry> entries(2);
    entries[0].name = "second";
    entries[1].name = "k";
    read_resources(kLog, entries);
    EXPECT_EQ(entries[0].resources.registers, 8u);
    EXPECT_EQ(entries[0].resources.shared_bytes, 0u);
    const Resources& k = entries[1].resources;
    EXPECT_EQ(k.registers, 27u);
    EXPECT_EQ(k.spill_bytes, 32u);
    EXPECT_EQ(k.shared_bytes, 32u);
    EXPECT_EQ(k.local_bytes, 400u);
    EXPECT_EQ(k.barriers, 2u);
}

TEST(PtxasLog, LeavesWarningsInTheLog) {
    EXPECT_EQ(without_resources(kLog),
              "k.cu(1): warning #177-D: variable \"unused\" was declared but never referenced\nptxas warning : "
              "something to know");
}

}  // namespace
}  // namespace recuda
