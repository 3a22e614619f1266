#include "judge/acceptance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace recuda {
namespace {

constexpr double kFinestRoundoff = 0x1p-20;
constexpr double kRoundingNorm =
    0.425;  // relative norm of correct rounding's error in units of u (judge.md B.2, measured)
constexpr double kElementFactor = 4;
constexpr double kFlushed = 0x1p-126;
constexpr int64_t kLeastForBias = 1024;
constexpr size_t kLeastRowsForBias = 8;
constexpr int64_t kLeastForMean = 256;  // fewer roundings are not held to their root mean square
constexpr double kGlobalFactor = 1.5, kGlobalFactorOfFew = 2, kRowFactor = 4.5;
constexpr size_t kShownElements = 5;

double roundoff(DType type) { return std::max(unit_roundoff(type), kFinestRoundoff); }

double allowance(DType type) { return std::max(smallest_subnormal(type), kFlushed); }

double rounded(DType type, double value) {
    std::byte element[8];
    store(type, element, value);
    return load(type, element);
}

/// Whether a value that is not a finite number of the type is what the reference has there. Near the largest finite
/// number an f32 computation may fall on either side.
bool is_same_special(DType type, double wanted, double seen) {
    if (std::isnan(wanted)) return std::isnan(seen);
    if (std::isnan(seen)) return std::isnan(rounded(type, wanted));
    const double largest = largest_finite(type);
    if (std::isinf(wanted)) return seen == wanted || rounded(type, wanted) == seen;
    const bool at_the_edge = std::fabs(wanted) > largest * (1 - 4 * roundoff(type)) &&
                             std::fabs(wanted) < largest * (1 + 4 * roundoff(type));
    return rounded(type, wanted) == seen || (at_the_edge && std::signbit(wanted) == std::signbit(seen));
}

/// Sums over one row or over everything.
struct Sums {
    double squares = 0, error_squares = 0;
    void add(const Sums& other) {
        squares += other.squares;
        error_squares += other.error_squares;
    }
};

double ratio(double error, double norm) { return norm > 0 ? error / norm : error > 0 ? HUGE_VAL : 0; }

/// What one pass over an output finds.
struct Pass {
    Sums all;
    std::vector<Sums> rows;
    double worst_element = 0;  // |c - y| less the allowance, over |y| + RMS
    int64_t worst_at = -1, special_at = -1;
    int64_t specials = 0;  // elements whose special value is not the reference's
    bool nan = false;      // one of them is a NaN, or should be
    double bias_sum = 0;
    int64_t bias_count = 0;
    std::vector<std::pair<double, int64_t>> row_bias;  // each row's part of them
};

bool is_finite_in(DType type, double value) { return std::fabs(value) <= largest_finite(type); }

Pass pass_over(const Expected& expected, const std::vector<double>& seen) {
    Pass pass;
    const double slack = allowance(expected.dtype), root_width = std::sqrt(static_cast<double>(expected.width)),
                 largest = largest_finite(expected.dtype);
    for (size_t row = 0; row < expected.row_norm.size(); ++row) {
        Sums sums;
        const double bias_before = pass.bias_sum;
        const int64_t count_before = pass.bias_count;
        const double rms = expected.row_norm[row] / root_width;
        for (int64_t i = static_cast<int64_t>(row) * expected.width, end = i + expected.width; i < end; ++i) {
            const double wanted = expected.values[static_cast<size_t>(i)], got = seen[static_cast<size_t>(i)];
            if (!(std::fabs(wanted) <= largest) || !std::isfinite(got)) {
                if (is_same_special(expected.dtype, wanted, got)) continue;
                if (pass.specials++ == 0) pass.special_at = i;
                pass.nan = pass.nan || std::isnan(wanted) || std::isnan(got);
                continue;
            }
            const double difference = got - wanted, error = std::max(0.0, std::fabs(difference) - slack);
            sums.squares += wanted * wanted;
            sums.error_squares += error * error;
            if (wanted != 0) {
                pass.bias_sum += wanted > 0 ? difference : -difference;
                ++pass.bias_count;
            }
            // Multiplied, not divided: this is the loop that judging spends its time in.
            const double scale = std::fabs(wanted) + rms;
            if (error > pass.worst_element * scale) pass.worst_element = ratio(error, scale), pass.worst_at = i;
        }
        pass.all.add(sums);
        pass.rows.push_back(sums);
        pass.row_bias.emplace_back(pass.bias_sum - bias_before, pass.bias_count - count_before);
    }
    return pass;
}

std::string shown(double value) { return fmt::format("{:.6g}", value); }

std::string element_detail(const Expected& expected, const std::vector<double>& seen, int64_t at) {
    return fmt::format("{} is {}, wanted {}", element_name(expected.name, expected.shape, at),
                       shown(seen[static_cast<size_t>(at)]), shown(expected.values[static_cast<size_t>(at)]));
}

/// The elements of [first, last) that are furthest off, worst first.
std::string worst_elements(const Expected& expected, const std::vector<double>& seen, int64_t first, int64_t last) {
    std::vector<int64_t> order;
    const auto error = [&](int64_t i) {
        const double wanted = expected.values[static_cast<size_t>(i)], got = seen[static_cast<size_t>(i)];
        if (std::isfinite(wanted) && std::isfinite(got)) return std::fabs(got - wanted);
        return is_same_special(expected.dtype, wanted, got) ? 0 : HUGE_VAL;
    };
    for (int64_t i = first; i < last; ++i)
        if (error(i) > 0) order.push_back(i);
    const size_t count = std::min(kShownElements, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                      [&](int64_t a, int64_t b) { return error(a) != error(b) ? error(a) > error(b) : a < b; });
    std::string text;
    for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : "; ") + element_detail(expected, seen, order[i]);
    return text;
}

Finding special_finding(const Expected& expected, const std::vector<double>& seen, const Pass& pass) {
    Finding finding{0, 0, "special values", ""};
    if (pass.specials == 0) return finding;
    finding.error = pass.nan ? NAN : HUGE_VAL;
    const double wanted = expected.values[static_cast<size_t>(pass.special_at)];
    finding.detail = fmt::format("{} element{} where one is NaN or infinite and the other is not: {}", pass.specials,
                                 pass.specials == 1 ? "" : "s", element_detail(expected, seen, pass.special_at));
    if (std::isfinite(wanted) && !is_finite_in(expected.dtype, wanted))
        finding.detail += fmt::format(" (overflows {})", name(expected.dtype));
    return finding;
}

Finding global_finding(const Expected& expected, const std::vector<double>& seen, const Pass& pass,
                       const OwnError* own) {
    Finding finding{
        ratio(std::sqrt(pass.all.error_squares), expected.norm),
        std::max((expected.few ? kGlobalFactorOfFew : kGlobalFactor) * expected.floor, own ? 2 * own->global : 0),
        "global", ""};
    if (!finding.right())
        finding.detail =
            fmt::format("{} as a whole is off by {} of its norm, {} allowed: {}", expected.name, shown(finding.error),
                        shown(finding.bound), worst_elements(expected, seen, 0, static_cast<int64_t>(seen.size())));
    return finding;
}

Finding row_finding(const Expected& expected, const std::vector<double>& seen, const Pass& pass, const OwnError* own) {
    Finding worst;
    size_t at = 0;
    for (size_t row = 0; row < pass.rows.size(); ++row) {
        Finding finding{ratio(std::sqrt(pass.rows[row].error_squares), expected.row_norm[row]),
                        kRowFactor * std::max(expected.floor, expected.row_floor[row]), "", ""};
        if (own) finding.bound = std::max({finding.bound, 6 * own->global, 2 * own->rows[row]});
        if (row == 0 || finding.nearness() > worst.nearness()) worst = finding, at = row;
    }
    worst.criterion = fmt::format("row {}", at);
    if (!worst.right()) {
        const auto first = static_cast<int64_t>(at) * expected.width;
        worst.detail = fmt::format("row {} of {} ({} rows) is off by {} of its norm, {} allowed: {}", at, expected.name,
                                   pass.rows.size(), shown(worst.error), shown(worst.bound),
                                   worst_elements(expected, seen, first, first + expected.width));
    }
    return worst;
}

Finding element_finding(const Expected& expected, const std::vector<double>& seen, const Pass& pass) {
    Finding finding{pass.worst_element, kElementFactor * roundoff(expected.dtype), "element", ""};
    if (pass.worst_at >= 0) finding.criterion = "element " + element_name(expected.name, expected.shape, pass.worst_at);
    if (!finding.right())
        finding.detail =
            fmt::format("{}: off by {} of its own size and its row's RMS, {} allowed",
                        element_detail(expected, seen, pass.worst_at), shown(finding.error), shown(finding.bound));
    return finding;
}

BiasSums sums_of(const Expected& expected, const Pass& pass, const OwnError* own) {
    return {.count = pass.bias_count,
            .sum = pass.bias_sum,
            .error_squares = pass.all.error_squares,
            .magnitudes = expected.mean_magnitude * static_cast<double>(pass.bias_count),
            .own = own != nullptr ? own->bias : 0,
            .other = expected.other_bias,
            .rows = pass.row_bias};
}

Finding bias_finding(const Expected& expected, const Pass& pass, const OwnError* own) {
    if (!expected.typical) return {};
    const BiasSums sums = sums_of(expected, pass, own);
    return sums.has_power() ? sums.finding(expected.name) : Finding{};
}

}  // namespace

void BiasSums::add(const BiasSums& more) {
    count += more.count;
    sum += more.sum;
    error_squares += more.error_squares;
    magnitudes += more.magnitudes;
    own = std::max(own, more.own);
    other = std::max(other, more.other);
    rows.insert(rows.end(), more.rows.begin(), more.rows.end());
}

bool BiasSums::has_power() const {
    return count >= kLeastForBias && rows.size() >= kLeastRowsForBias && magnitudes > 0;
}

Finding BiasSums::finding(const std::string& tensor) const {
    const double number = static_cast<double>(count), mean = sum / number, magnitude = magnitudes / number;
    const double variance = std::max(0.0, error_squares / number - mean * mean);
    // Roundings within a row may go one way together (its values share a factor), those of different rows do not.
    double row_squares = 0;
    for (const auto& [part, elements] : rows) row_squares += std::pow(part - mean * static_cast<double>(elements), 2);
    const double bound = std::max({6 * std::sqrt(variance / number), 6 * std::sqrt(row_squares) / number, 2 * own,
                                   kFinestRoundoff * magnitude}) +
                         2 * other;
    Finding finding{std::fabs(mean) / magnitude, bound / magnitude, "bias", ""};
    if (!finding.right())
        finding.detail = fmt::format("{} is too {} on average: by {} of its mean magnitude, {} allowed by chance",
                                     tensor, mean > 0 ? "large" : "small", shown(finding.error), shown(finding.bound));
    return finding;
}

BiasSums bias_sums(const Expected& expected, const std::vector<double>& seen, const OwnError* own) {
    return sums_of(expected, pass_over(expected, seen), own);
}

Expected expect(std::string name, DType dtype, Shape shape, std::vector<double> values, bool typical) {
    Expected expected{.name = std::move(name),
                      .dtype = dtype,
                      .shape = std::move(shape),
                      .values = std::move(values),
                      .typical = typical};
    expected.width = expected.shape.empty() ? 1 : std::max<int64_t>(1, expected.shape.back());
    if (!is_floating(dtype)) return expected;
    expected.few = !typical || std::cmp_less(expected.values.size(), kLeastForMean);
    const double nominal = (expected.few ? 1 : kRoundingNorm) * roundoff(dtype);
    Sums all;
    int64_t finite = 0;
    for (size_t first = 0; first < expected.values.size(); first += static_cast<size_t>(expected.width)) {
        Sums sums;
        for (size_t i = first; i < first + static_cast<size_t>(expected.width); ++i) {
            const double value = expected.values[i];
            if (!is_finite_in(dtype, value)) continue;
            const double error = rounded(dtype, value) - value;
            sums.squares += value * value;
            if (std::isfinite(error)) sums.error_squares += error * error;
            expected.mean_magnitude += std::fabs(value);
            finite += value != 0;
        }
        all.add(sums);
        expected.row_norm.push_back(std::sqrt(sums.squares));
        expected.row_floor.push_back(
            std::max(nominal, sums.squares > 0 ? std::sqrt(sums.error_squares / sums.squares) : 0));
    }
    expected.norm = std::sqrt(all.squares);
    expected.floor = std::max(nominal, all.squares > 0 ? std::sqrt(all.error_squares / all.squares) : 0);
    if (finite > 0) expected.mean_magnitude /= static_cast<double>(finite);
    return expected;
}

double Finding::nearness() const {
    if (std::isnan(error)) return HUGE_VAL;
    if (bound > 0) return error / bound;
    return error > 0 ? HUGE_VAL : 0;
}

Finding worse(Finding a, Finding b) { return b.nearness() > a.nearness() || a.criterion.empty() ? b : a; }

Finding compare(const Expected& expected, const std::vector<double>& seen, const OwnError* own) {
    const Pass pass = pass_over(expected, seen);
    Finding worst = special_finding(expected, seen, pass);
    if (!worst.right() || pass.rows.empty()) return worst;
    for (Finding finding : {row_finding(expected, seen, pass, own), global_finding(expected, seen, pass, own),
                            element_finding(expected, seen, pass), bias_finding(expected, pass, own)})
        if (!finding.criterion.empty()) worst = worse(std::move(worst), std::move(finding));
    return worst;
}

Finding compare_exactly(const Expected& expected, const Tensor& seen) {
    int64_t different = 0, at = -1;
    for (int64_t i = 0; i < seen.size(); ++i) {
        const double wanted = rounded(expected.dtype, expected.values[static_cast<size_t>(i)]), got = seen.at(i);
        const bool same =
            std::isnan(wanted) ? std::isnan(got) : wanted == got && std::signbit(wanted) == std::signbit(got);
        if (same) continue;
        if (different++ == 0) at = i;
    }
    Finding finding{static_cast<double>(different), 0, "exact", ""};
    if (different > 0)
        finding.detail = fmt::format("{} of {} elements differ where none may: {} is {}, wanted {}", different,
                                     seen.size(), element_name(expected.name, expected.shape, at), shown(seen.at(at)),
                                     shown(expected.values[static_cast<size_t>(at)]));
    return finding;
}

OwnError own_error(const Expected& expected, const std::vector<double>& seen) {
    const Pass pass = pass_over(expected, seen);
    OwnError own;
    const auto finite = [](double error) { return std::isfinite(error) ? error : 0; };
    own.global = finite(ratio(std::sqrt(pass.all.error_squares), expected.norm));
    own.bias = pass.bias_count > 0 ? std::fabs(pass.bias_sum / static_cast<double>(pass.bias_count)) : 0;
    for (size_t row = 0; row < pass.rows.size(); ++row)
        own.rows.push_back(finite(ratio(std::sqrt(pass.rows[row].error_squares), expected.row_norm[row])));
    return own;
}

std::string element_name(const std::string& tensor, const Shape& shape, int64_t index) {
    std::string text;
    for (size_t i = shape.size(); i-- > 0;) {
        text = fmt::format("{}{}{}", index % shape[i], text.empty() ? "" : ", ", text);
        index /= shape[i];
    }
    return fmt::format("{}[{}]", tensor, text);
}

}  // namespace recuda
