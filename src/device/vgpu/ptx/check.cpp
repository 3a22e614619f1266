#include "device/vgpu/ptx/check.h"

#include <fmt/core.h>

#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/text.h"
#include "device/vgpu/ptx/forms.h"
#include "device/vgpu/ptx/registers.h"
#include "device/vgpu/ptx/vocabulary.h"

namespace recuda::vgpu::ptx {
namespace {

using Kind = Operand::Kind;

/// Module names: variables and functions.
struct Symbols {
    explicit Symbols(const Module& module) {
        for (const Variable& variable : module.variables) variables.insert(variable.name);
        for (const Function& function : module.functions) functions.emplace(function.name, &function);
        for (const auto& [alias, name] : module.aliases)
            if (const auto found = functions.find(name); found != functions.end())
                functions.emplace(alias, found->second);
    }
    bool has(std::string_view name) const { return variables.contains(name) || functions.contains(name); }

    std::unordered_set<std::string_view> variables;
    std::unordered_map<std::string_view, const Function*> functions;
};

/// Functions that the driver provides.
bool is_provided(std::string_view name) {
    return name == "vprintf" || name == "malloc" || name == "free" || name == "__assertfail" ||
           name.starts_with("cuda") || name.starts_with("__cuda") || name.starts_with("__nv");
}

class FunctionCheck {
 public:
    FunctionCheck(const Symbols& symbols, const Function& function, bool known_version)
        : symbols_(symbols), function_(function), registers_(function), known_version_(known_version) {
        for (const auto* list : {&function.parameters, &function.returns, &function.variables})
            for (const Variable& variable : *list) variables_.insert(variable.name);
        for (const Prototype& prototype : function.prototypes) variables_.insert(prototype.label);
    }

    void run() {
        for (const Statement& statement : function_.body) {
            statement_ = &statement;
            if (known_version_) words();
            guard();
            if (const std::string why = known_version_ ? form_error(statement, registers_) : ""; !why.empty())
                fail("{}", why);
            if (statement.opcode() == "bra" && !statement.operands.empty())
                label(statement.operands[0].text);
            else if (statement.opcode() == "call")
                call();
            else
                for (const Operand& operand : statement.operands) names(operand);
        }
        for (const auto& [list, targets] : function_.branch_targets)
            for (const std::string_view target : targets)
                if (!function_.labels.contains(target) && !symbols_.functions.contains(target))
                    throw Error("ptx line {}: '{}' in the list {} is neither a label nor a function",
                                function_.place.line, one_line(target, 100), one_line(list, 100));
    }

 private:
    template <typename... Args>
    [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
        throw Error("ptx line {}: {}: {}", statement_->place.line, one_line(statement_->text(), 100),
                    one_line(fmt::format(format, std::forward<Args>(args)...)));
    }

    void words() const {
        const auto& parts = statement_->parts;
        if (!is_opcode(parts[0])) fail("no instruction has this name");
        for (size_t i = 1; i < parts.size(); ++i)
            if (!is_modifier(parts[i])) fail("no modifier has the name '.{}'", parts[i]);
    }

    void guard() const {
        const Operand& guard = statement_->guard;
        if (guard.kind == Kind::none) return;
        const auto found = registers_.find(guard.text);
        if (!found || found->declaration->type != Type::pred) fail("'{}' is not a predicate", guard.text);
    }

    void label(std::string_view name) const {
        if (!function_.labels.contains(name)) fail("'{}' is not a label of this function", name);
    }

    bool is_known(std::string_view name) const {
        return registers_.find(name).has_value() || variables_.contains(name) || symbols_.has(name) ||
               is_special_register(name) || function_.labels.contains(name) || function_.branch_targets.contains(name);
    }

    void names(const Operand& operand) const {
        const bool named = operand.kind == Kind::name || (operand.kind == Kind::address && !operand.text.empty());
        if (named && !is_known(operand.text)) fail("nothing declares '{}'", operand.text);
        if (operand.kind == Kind::address) base(operand.text);
        for (const Operand& element : operand.elements) names(element);
    }

    void base(std::string_view name) const {
        const auto found = registers_.find(name);
        if (!found) return;
        const Type type = found->declaration->type;
        if (type == Type::pred || type >= Type::f16) fail("'{}' is no address", name);
    }

    void call() const {
        const auto& operands = statement_->operands;
        if (operands.empty()) fail("a call without a function");
        size_t at = 0;
        const Operand* results = operands[0].kind == Kind::vector ? &operands[at++] : nullptr;
        if (at >= operands.size() || operands[at].kind != Kind::name) fail("a call without a function");
        const std::string_view target = operands[at++].text;
        const Operand* arguments = at < operands.size() && operands[at].kind == Kind::vector ? &operands[at] : nullptr;
        for (const Operand* list : {results, arguments})
            if (list != nullptr) names(*list);
        if (registers_.find(target).has_value()) return;
        const auto found = symbols_.functions.find(target);
        if (found == symbols_.functions.end() || found->second->is_entry)
            fail("'{}' is not a function of this module", target);
        const Function& function = *found->second;
        if (!function.has_body && !is_provided(target)) fail("nothing defines the function '{}'", target);
        if ((arguments != nullptr ? arguments->elements.size() : 0) != function.parameters.size() ||
            (results != nullptr ? results->elements.size() : 0) != function.returns.size())
            fail("another number of arguments or results than '{}' has", target);
    }

    const Symbols& symbols_;
    const Function& function_;
    const Registers registers_;
    const bool known_version_;
    std::unordered_set<std::string_view> variables_;
    const Statement* statement_ = nullptr;
};

}  // namespace

void check(const Module& module) {
    const Symbols symbols(module);
    // What a newer PTX may add nobody here can tell from nonsense: it is left to the decoder.
    const bool known_version = module.version_major < 9 || (module.version_major == 9 && module.version_minor == 0);
    for (const Function& function : module.functions)
        if (function.has_body) FunctionCheck(symbols, function, known_version).run();
}

}  // namespace recuda::vgpu::ptx
