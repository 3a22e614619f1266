#include "device/vgpu/ptx/body.h"

#include <utility>

#include "device/vgpu/ptx/declarations.h"

namespace recuda::vgpu::ptx {
namespace {

constexpr uint32_t kMaxScopes = 32;  // open at a time
constexpr size_t kMaxParts = 64;     // of an opcode; none has a third of it

}  // namespace

void BodyReader::read(uint64_t& initial_bytes) {
    lines_.begin_function();
    for (const auto* list : {&function_.returns, &function_.parameters})
        for (const Variable& variable : *list) declare(variable.name);
    while (true) {
        if (cursor_.at_end()) cursor_.fail("'{{' without its '}}' in {}", function_.name);
        if (cursor_.accept('}')) {
            if (scopes_.depth() == 0) break;
            scopes_.close();
        } else if (cursor_.accept('{')) {
            if (scopes_.depth() == kMaxScopes) cursor_.fail("scopes nested deeper than {}", kMaxScopes);
            scopes_.open();
        } else if (const std::string_view name = cursor_.accept_directive(); !name.empty()) {
            directive(name, initial_bytes);
        } else if (cursor_.accept('@')) {
            guard_ = operands_.read_guard();
            statement(cursor_.word("an instruction"));
        } else {
            word_at_start();
        }
    }
    resolve_labels();
}

void BodyReader::directive(std::string_view name, uint64_t& initial_bytes) {
    if (name == "loc") return read_loc(cursor_, lines_);
    if (name == "reg") return declare_registers(read_registers(cursor_));
    if (name == "pragma") {
        cursor_.string();
        cursor_.accept(';');
        return;
    }
    const Space space = space_named(name);
    if (space == Space::none) cursor_.fail("'.{}' in a function", name);
    for (Variable& variable : read_variables(cursor_, space, initial_bytes)) {
        if (variable.size() == 0) cursor_.fail("'{}' has no size", variable.name);
        variable.name = declare(variable.name);
        function_.variables.push_back(std::move(variable));
    }
}

void BodyReader::declare_registers(std::vector<RegisterDeclaration> declarations) {
    for (RegisterDeclaration& declaration : declarations) {
        const std::string_view prefix = declaration.prefix;
        if (declaration.count == 0) {
            declaration.prefix = declare(prefix);
        } else {
            if (scopes_.declares_range_here(prefix)) cursor_.fail("a second declaration of '{}'", prefix);
            declaration.prefix = scopes_.declare_range(prefix, declaration.count);
        }
        function_.registers.push_back(declaration);
    }
}

std::string_view BodyReader::declare(std::string_view name) {
    if (scopes_.declares_here(name)) cursor_.fail("a second declaration of '{}'", name);
    return scopes_.declare(name);
}

void BodyReader::word_at_start() {
    const std::string_view word = cursor_.word("an instruction");
    // "a::b" begins no statement, so one colon makes a label.
    if (cursor_.peek() == ':' && cursor_.peek_after(1) != ':') {
        cursor_.expect(':');
        label(word);
    } else {
        statement(word);
    }
}

void BodyReader::label(std::string_view name) {
    if (cursor_.peek() == '.') {
        Cursor ahead = cursor_;
        const std::string_view directive = ahead.accept_directive();
        if (directive == "branchtargets" || directive == "calltargets" || directive == "callprototype") {
            cursor_ = ahead;
            return label_directive(name, directive);
        }
    }
    if (scopes_.declares_label_here(name)) cursor_.fail("a second label '{}'", name);
    const std::string_view unique = scopes_.declare_label(name);
    function_.labels.emplace(unique, static_cast<uint32_t>(function_.body.size()));
}

void BodyReader::label_directive(std::string_view label, std::string_view name) {
    const std::string_view unique = scopes_.declare_label(label);
    if (name == "callprototype") {
        Prototype prototype{unique, read_parameters(cursor_), {}};
        if (cursor_.word("_") != "_") cursor_.fail("a prototype's function is called _");
        prototype.parameters = read_parameters(cursor_);
        while (!cursor_.accept_directive().empty()) {  // .noreturn, .abi_preserve n
            if (is_digit(cursor_.peek())) cursor_.integer("a number");
        }
        function_.prototypes.push_back(std::move(prototype));
    } else {
        std::vector<std::string_view>& targets = function_.branch_targets[unique];
        do targets.push_back(cursor_.word("a label"));
        while (cursor_.accept(','));
        target_lists_.emplace_back(unique, scopes_.current());
    }
    cursor_.expect(';');
}

void BodyReader::statement(std::string_view opcode) {
    Statement statement;
    statement.place.line = cursor_.line();
    read_parts(statement, opcode);
    statement.guard = std::exchange(guard_, {});
    statement.operands = operands_.read_all(opcode == "call");
    frames_.push_back(lines_.current());
    statement_scopes_.push_back(scopes_.current());
    function_.body.push_back(std::move(statement));
}

void BodyReader::read_parts(Statement& statement, std::string_view opcode) {
    statement.parts.push_back(opcode);
    for (auto part = cursor_.accept_part(); !part.empty(); part = cursor_.accept_part()) {
        if (statement.parts.size() == kMaxParts) cursor_.fail("an opcode of more than {} parts", kMaxParts);
        statement.parts.push_back(part);
    }
}

void BodyReader::resolve_labels() {
    for (size_t i = 0; i < function_.body.size(); ++i) {
        const uint32_t scope = statement_scopes_[i];
        if (scope == 0) continue;
        for (Operand& operand : function_.body[i].operands) resolve_labels(operand, scope);
    }
    for (const auto& [key, scope] : target_lists_) {
        for (std::string_view& target : function_.branch_targets[key]) target = scopes_.resolve_label(target, scope);
    }
}

// A register's name that was made unique has an @, which no label has.
void BodyReader::resolve_labels(Operand& operand, uint32_t scope) {
    if (operand.kind == Operand::Kind::name) operand.text = scopes_.resolve_label(operand.text, scope);
    for (Operand& element : operand.elements) resolve_labels(element, scope);
}

}  // namespace recuda::vgpu::ptx
