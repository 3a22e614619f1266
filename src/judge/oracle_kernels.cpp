#include "judge/oracle_kernels.h"

#include <array>

#include "base/error.h"

namespace recuda {
namespace {

struct SumForm {
    const char* name;
    bool honest;
    const char* body;  // of a function that returns the sum of TERM over COUNT values of i
};

// Sums that must not be contracted to fused multiply-adds use __fadd_rn. The half types are made from bits and by PTX,
// so that a seed need not include their headers.
constexpr std::array<SumForm, 12> kSumForms{{
    {"sum one after the other", true, "float s = 0; for (int i = 0; i < COUNT; ++i) s = __fadd_rn(s, TERM); return s;"},
    {"sum backwards", true, "float s = 0; for (int i = COUNT; i-- > 0;) s = __fadd_rn(s, TERM); return s;"},
    {"sum by one chain of fused multiply-adds", true,
     "float s = 0; for (int i = 0; i < COUNT; ++i) s += TERM; return s;"},
    {"sum by four chains", true,
     "float s[4] = {}; for (int i = 0; i < COUNT; ++i) s[i % 4] += TERM; return (s[3] + s[1]) + (s[0] + s[2]);"},
    {"sum by pairs", true,
     "float part[32]; int n = 0; for (int i = 0; i < COUNT; ++i) { float t = TERM; for (int m = i; m & 1; m >>= 1) "
     "t = __fadd_rn(part[--n], t); part[n++] = t; } float s = 0; while (n > 0) s = __fadd_rn(s, part[--n]); return s;"},
    {"sum in bf16", false,
     "float s = 0; for (int i = 0; i < COUNT; ++i) { s = __fadd_rn(s, TERM); unsigned b = __float_as_uint(s); "
     "if (s == s) s = __uint_as_float((b + 0x7fff + (b >> 16 & 1)) & 0xffff0000u); } return s;"},
    {"sum in half precision", false,
     "float s = 0; for (int i = 0; i < COUNT; ++i) { s = __fadd_rn(s, TERM); unsigned short h; "
     "asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(s)); asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(s) : \"h\"(h)); } "
     "return s;"},
    {"terms in half precision", false,
     "float s = 0; for (int i = 0; i < COUNT; ++i) { float t = TERM; unsigned short h; "
     "asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(t)); asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(t) : \"h\"(h)); "
     "s += t; } return s;"},
    {"sum without the first term", false, "float s = 0; for (int i = 1; i < COUNT; ++i) s += TERM; return s;"},
    {"sum without the last term", false, "float s = 0; for (int i = 0; i < COUNT - 1; ++i) s += TERM; return s;"},
    {"sum without the term at a tile's edge", false,
     "float s = 0; for (int i = 0; i < COUNT; ++i) if (i != 1 << (31 - __clz(COUNT - 1))) s += TERM; return s;"},
    {"sum with the last term twice", false,
     "float s = 0; for (int j = 0; j <= COUNT; ++j) { const int i = j < COUNT ? j : COUNT - 1; s += TERM; } return s;"},
}};

std::string replaced(std::string text, const std::string& old, const std::string& by) {
    for (size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += by.size())
        text.replace(at, old.size(), by);
    return text;
}

/// With its only `old` replaced.
std::string edited(const Op& op, std::string text, const std::string& old, const std::string& by) {
    const size_t at = text.find(old);
    if (old.empty() || at == std::string::npos || text.find(old, at + 1) != std::string::npos)
        throw Error("[tests] of op {}: `{}` does not stand exactly once in its plain seed", op.name, old);
    return text.replace(at, old.size(), by);
}

}  // namespace

std::vector<OracleKernel> oracle_kernels(const Op& op, const std::string& plain) {
    std::vector<OracleKernel> kernels{{"the plain seed", true, plain}};
    if (op.tests.sum) {
        const SeedSum& sum = *op.tests.sum;
        for (const SumForm& form : kSumForms) {
            const std::string body =
                replaced(replaced(form.body, "TERM", "(" + sum.term + ")"), "COUNT", "(" + sum.count + ")");
            const std::string by = replaced(sum.by, "SUM", "[&]() -> float { " + body + " }()");
            kernels.push_back({form.name, form.honest, edited(op, plain, sum.replace, by)});
        }
    }
    for (const SeedEdit& edit : op.tests.edits)
        kernels.push_back({edit.name, edit.right, edited(op, plain, edit.replace, edit.by)});
    return kernels;
}

}  // namespace recuda
