#include "task/op.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "task/toml.h"

namespace recuda {
namespace {

/// An expression over axes; errors name the key's line in the file.
Expression expression(const TomlTable& table, std::string_view key, const std::string& text, const Op& op) {
    try {
        Expression parsed(text);
        for (const Expression::Use& use : parsed.uses())
            if (!op.has_axis(use.name)) throw ExpressionError(use.at, "there is no axis " + use.name);
        return parsed;
    } catch (const ExpressionError& error) {
        table.fail(key, fmt::format("`{}`: {}", text, error.what()));
    }
}

std::vector<Axis> read_axes(const TomlTable& table) {
    std::vector<Axis> axes;
    for (const std::string& key : table.keys()) axes.push_back({key, table.text(key)});
    return axes;
}

std::vector<OptionSpec> read_options(const TomlTable& table) {
    std::vector<OptionSpec> options;
    for (const std::string& key : table.keys()) {
        const TomlTable entry = table.table(key);
        entry.allow({"values", "default", "about"});
        OptionSpec option{key, entry.texts("values"), entry.text("default"), entry.text("about", "")};
        if (std::find(option.values.begin(), option.values.end(), option.default_value) == option.values.end())
            entry.fail("default", fmt::format("the default `{}` is none of the values", option.default_value));
        options.push_back(std::move(option));
    }
    return options;
}

DType dtype(const TomlTable& entry) {
    try {
        return dtype_named(entry.text("dtype"));
    } catch (const Error& error) {
        entry.fail("dtype", error.what());
    }
}

TensorSpec read_tensor(const std::string& name, const TomlTable& entry, const Op& op) {
    entry.allow({"dtype", "shape", "fill", "inout", "row_stride", "battery", "choice", "given"});
    TensorSpec tensor{.name = name, .dtype = dtype(entry)};
    for (const std::string& extent : entry.texts("shape"))
        tensor.shape.push_back(expression(entry, "shape", extent, op));
    if (tensor.shape.empty()) entry.fail("shape", "a tensor needs at least one extent; a single value is a scalar");
    if (entry.has("row_stride")) tensor.row_stride = expression(entry, "row_stride", entry.text("row_stride"), op);
    if (entry.has("fill")) {
        try {
            tensor.fill = parse_fill(entry.text("fill"));
        } catch (const Error& error) {
            entry.fail("fill", error.what());
        }
    }
    tensor.battery = entry.flag("battery", true);
    tensor.inout = entry.flag("inout", false);
    tensor.choice = entry.text("choice", "");
    tensor.given = entry.text("given", "");
    return tensor;
}

void read_inputs(const TomlTable& table, Op& op) {
    for (const std::string& key : table.keys()) {
        const TomlTable entry = table.table(key);
        if (!entry.flag("scalar", false)) {
            op.inputs.push_back(read_tensor(key, entry, op));
            continue;
        }
        entry.allow({"dtype", "scalar"});
        op.scalars.push_back({key, dtype(entry)});
    }
}

std::vector<TensorSpec> read_tensors(const TomlTable& table, const Op& op) {
    std::vector<TensorSpec> tensors;
    for (const std::string& key : table.keys()) tensors.push_back(read_tensor(key, table.table(key), op));
    return tensors;
}

/// `choice` names an auxiliary tensor and `given` an output.
void check_links(const TomlTable& table, const Op& op) {
    const auto has = [](const std::vector<TensorSpec>& tensors, const std::string& name) {
        return std::any_of(tensors.begin(), tensors.end(),
                           [&](const TensorSpec& tensor) { return tensor.name == name; });
    };
    for (const TensorSpec& output : op.outputs) {
        const TomlTable entry = table.table(output.name);
        if (!output.choice.empty() && !has(op.auxiliaries, output.choice))
            entry.fail("choice", "no auxiliary tensor " + output.choice);
        if (!output.given.empty() && !has(op.outputs, output.given)) entry.fail("given", "no output " + output.given);
    }
}

std::vector<FactKind> read_kinds(const TomlTable& table, std::string_view key) {
    std::vector<FactKind> kinds;
    if (!table.has(key)) return kinds;
    try {
        for (const std::string& text : table.texts(key)) kinds.push_back(fact_kind_named(text));
    } catch (const Error& error) {
        table.fail(key, error.what());
    }
    return kinds;
}

SeedEdit read_edit(const std::string& name, bool right, const TomlTable& entry) {
    entry.allow({"replace", "by"});
    return {name, right, entry.text("replace"), entry.text("by")};
}

OracleTests read_tests(const TomlTable& table, const Op& op) {
    table.allow({"axes", "ranked", "hidden", "sum", "reject", "accept"});
    OracleTests tests;
    const TomlTable axes = table.table("axes"), ranked = table.table("ranked");
    for (const std::string& axis : axes.keys()) {
        if (!op.has_axis(axis)) axes.fail(axis, "there is no axis " + axis);
        const auto value = axes.raw().get(axis)->value<int64_t>();
        if (!value || *value < 1) axes.fail(axis, fmt::format("`{}` must be a positive number", axis));
        tests.axes[axis] = *value;
    }
    for (const std::string& output : ranked.keys()) {
        tests.ranked[output] = ranked.text(output);
        if (op.tensor(output) == nullptr || op.tensor(ranked.text(output)) == nullptr)
            ranked.fail(output, "an output and the input that it indexes");
    }
    if (table.has("hidden")) tests.hidden = table.texts("hidden");
    if (table.has("sum")) {
        const TomlTable sum = table.table("sum");
        sum.allow({"replace", "by", "term", "count"});
        tests.sum = {sum.text("replace"), sum.text("by", "SUM"), sum.text("term"), sum.text("count")};
    }
    for (const bool right : {false, true}) {
        const TomlTable edits = table.table(right ? "accept" : "reject");
        for (const std::string& name : edits.keys()) tests.edits.push_back(read_edit(name, right, edits.table(name)));
    }
    return tests;
}

/// Three matrices of one type whose extents fit.
std::optional<ProductSpec> read_product(const TomlTable& table, const Op& op) {
    if (table.keys().empty()) return std::nullopt;
    table.allow({"left", "right", "result"});
    const auto matrix = [&](std::string_view key) -> const TensorSpec& {
        const TensorSpec* tensor = op.tensor(table.text(key));
        if (tensor == nullptr || tensor->shape.size() != 2 || tensor->row_stride)
            table.fail(key, fmt::format("`{}` must name a dense tensor of two extents", key));
        return *tensor;
    };
    const TensorSpec &left = matrix("left"), &right = matrix("right"), &result = matrix("result");
    const auto same = [](const Expression& a, const Expression& b) { return a.text() == b.text(); };
    if (!same(left.shape[1], right.shape[1]) || !same(left.shape[0], result.shape[0]) ||
        !same(right.shape[0], result.shape[1]) || left.dtype != right.dtype || left.dtype != result.dtype)
        table.fail("result", "a product is result[m, n] = left[m, k] right[n, k]^T, all of one type");
    return ProductSpec{left.name, right.name, result.name};
}

template <typename T>
const T* find_named(const std::vector<T>& all, std::string_view name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const T& one) { return one.name == name; });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace

const TensorSpec* Op::tensor(std::string_view name) const {
    const TensorSpec* input = find_named(inputs, name);
    return input != nullptr ? input : find_named(outputs, name);
}
const ScalarSpec* Op::scalar(std::string_view name) const { return find_named(scalars, name); }
const OptionSpec* Op::option(std::string_view name) const { return find_named(options, name); }
bool Op::has_axis(std::string_view name) const { return find_named(axes, name) != nullptr; }

std::vector<const TensorSpec*> Op::tensors() const {
    std::vector<const TensorSpec*> all;
    for (const TensorSpec& tensor : inputs) all.push_back(&tensor);
    for (const TensorSpec& tensor : outputs) all.push_back(&tensor);
    return all;
}

Op read_op(const std::filesystem::path& folder) {
    const std::filesystem::path file = folder / "op.toml";
    const toml::table parsed = read_toml(file);
    const TomlTable table(parsed, shown(file));
    table.allow({"summary", "source", "exact", "axes", "options", "inputs", "outputs", "auxiliary", "battery", "cost",
                 "product", "tests", "forbid", "allow"});
    Op op{.name = folder.filename().string(),
          .summary = table.text("summary"),
          .source = table.text("source", ""),
          .folder = folder};
    op.exact = table.flag("exact", false);
    op.forbid = read_kinds(table, "forbid");
    op.allow = read_kinds(table, "allow");
    op.axes = read_axes(table.table("axes"));
    op.options = read_options(table.table("options"));
    read_inputs(table.table("inputs"), op);
    op.outputs = read_tensors(table.table("outputs"), op);
    op.auxiliaries = read_tensors(table.table("auxiliary"), op);
    check_links(table.table("outputs"), op);
    const TomlTable battery = table.table("battery"), cost = table.table("cost");
    battery.allow({"infinity", "nan"});
    op.special_inputs = battery.flag("nan", true);
    op.infinite_inputs = battery.flag("infinity", op.special_inputs);
    cost.allow({"bytes", "flops", "rows"});
    if (cost.has("bytes")) op.bytes = expression(cost, "bytes", cost.text("bytes"), op);
    if (cost.has("flops")) op.flops = expression(cost, "flops", cost.text("flops"), op);
    op.tests = read_tests(table.table("tests"), op);
    op.product = read_product(table.table("product"), op);
    return op;
}

}  // namespace recuda
