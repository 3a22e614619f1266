#include "device/cuda/launcher.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace recuda::cuda
