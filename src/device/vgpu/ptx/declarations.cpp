#include "device/vgpu/ptx/declarations.h"

#include <algorithm>
#include <bit>

#include "device/vgpu/ptx/expression.h"

namespace recuda::vgpu::ptx {
namespace {

constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 40;
constexpr size_t kMaxExtents = 16;

uint32_t vector_width(std::string_view modifier) {
    if (modifier == "v2") return 2;
    if (modifier == "v4") return 4;
    if (modifier == "v8") return 8;
    return 0;
}

uint32_t read_alignment(Cursor& cursor) {
    const uint64_t bytes = cursor.integer("an alignment");
    if (bytes == 0 || bytes > 4096 || !std::has_single_bit(bytes)) cursor.fail("an alignment of {}", bytes);
    return static_cast<uint32_t>(bytes);
}

// A texture, sampler or surface is an opaque handle of 64 bits.
bool is_opaque(std::string_view type) { return type == "texref" || type == "samplerref" || type == "surfref"; }

uint64_t encoded(const Constant& value, Type type) {
    if (type == Type::f32) {
        if (value.kind == Constant::Kind::single) return value.bits;
        return std::bit_cast<uint32_t>(static_cast<float>(value.real()));
    }
    if (type == Type::f64) return std::bit_cast<uint64_t>(value.real());
    return value.bits;
}

// Reads an initialiser into a variable's bytes.
class Initialiser {
 public:
    Initialiser(Cursor& cursor, Variable& variable, uint64_t& total)
        : cursor_(cursor), variable_(variable), total_(total), element_(std::max(1u, size_bytes(variable.type))) {
        extents_ = variable.extents;
        if (variable.vector > 1) extents_.push_back(variable.vector);
    }

    void read() {
        if (extents_.empty()) {
            if (cursor_.accept('{')) {
                element(0);
                cursor_.expect('}');
            } else {
                element(0);
            }
            return;
        }
        const uint64_t count = list(0, 0);
        if (!variable_.extents.empty() && variable_.extents[0] == 0) variable_.extents[0] = count;
    }

 private:
    // The list `{ … }` of one dimension at byte `at`; the number of its elements. Values without inner braces fill the
    // inner dimensions one after the other; an inner list begins at an element's start.
    uint64_t list(size_t dimension, uint64_t at) {
        uint64_t stride = element_;
        for (size_t i = dimension + 1; i < extents_.size(); ++i) stride *= extents_[i];
        const uint64_t end = extents_[dimension] == 0 ? ~uint64_t{0} : extents_[dimension] * stride;
        uint64_t offset = 0;
        cursor_.expect('{');
        while (cursor_.peek() != '}') {
            const bool nested = cursor_.peek() == '{';
            if (nested && dimension + 1 == extents_.size())
                cursor_.fail("an initialiser of more dimensions than its variable");
            if (nested) offset = (offset + stride - 1) / stride * stride;
            if (offset + (nested ? stride : element_) > end) cursor_.fail("more values than elements");
            if (nested) {
                list(dimension + 1, at + offset);
                offset += stride;
            } else {
                element(at + offset);
                offset += element_;
            }
            if (!cursor_.accept(',')) break;
        }
        cursor_.expect('}');
        return (offset + stride - 1) / stride;
    }

    void element(uint64_t at) {
        if (at + element_ > kMaxInitialBytes) cursor_.fail("an initialiser of more than {} bytes", kMaxInitialBytes);
        const bool is_word = begins_word(cursor_.peek());
        if (is_word) {
            Cursor ahead = cursor_;
            if (ahead.accept_word() != "WARP_SZ") return address(at, ~uint64_t{0});
        }
        const Constant value = constant_expression(cursor_);
        if (cursor_.accept('(')) {
            address_in_parentheses(at, value.bits);
            return;
        }
        const uint64_t bits = encoded(value, variable_.type);
        grow(at);
        for (uint32_t i = 0; i < element_ && i < 8; ++i)
            variable_.initial[at + i] = static_cast<uint8_t>(bits >> (8 * i));
    }

    // `symbol + 4`, `generic(symbol) + 4`
    void address(uint64_t at, uint64_t mask) {
        std::string_view name = cursor_.word("a variable");
        bool generic = false;
        if (name == "generic" && cursor_.accept('(')) {
            generic = true;
            name = cursor_.word("a variable");
            cursor_.expect(')');
        }
        int64_t addend = 0;
        if (cursor_.peek() == '+' || cursor_.peek() == '-')
            addend = static_cast<int64_t>(constant_expression(cursor_).bits);
        grow(at);
        variable_.relocations.push_back({at, name, addend, generic, mask});
    }

    void address_in_parentheses(uint64_t at, uint64_t mask) {
        address(at, mask);
        cursor_.expect(')');
    }

    void grow(uint64_t at) {
        const uint64_t size = at + element_;
        if (variable_.initial.size() >= size) return;
        total_ += size - variable_.initial.size();
        if (total_ > kMaxInitialBytes) cursor_.fail("initialisers of more than {} bytes", kMaxInitialBytes);
        variable_.initial.resize(size);
    }

    Cursor& cursor_;
    Variable& variable_;
    uint64_t& total_;
    uint64_t element_;
    std::vector<uint64_t> extents_;
};

std::vector<uint64_t> read_extents(Cursor& cursor) {
    std::vector<uint64_t> extents;
    while (cursor.accept('[')) {
        if (extents.size() == kMaxExtents) cursor.fail("an array of more than {} dimensions", kMaxExtents);
        uint64_t extent = 0;
        if (cursor.peek() != ']') {
            const Constant value = constant_expression(cursor);
            if (value.kind != Constant::Kind::integer) cursor.fail("an array's extent that is no integer");
            extent = value.bits;
            if (extent == 0 && !extents.empty()) cursor.fail("only the first extent may be 0");
        } else if (!extents.empty()) {
            cursor.fail("only the first extent may be left out");
        }
        cursor.expect(']');
        extents.push_back(extent);
    }
    return extents;
}

void check_size(Cursor& cursor, const Variable& variable) {
    uint64_t bytes = uint64_t{size_bytes(variable.type)} * variable.vector;
    for (const uint64_t extent : variable.extents) {
        if (extent != 0 && bytes > kMaxVariableBytes / extent) cursor.fail("'{}' is too large", variable.name);
        bytes *= std::max<uint64_t>(extent, 1);
    }
}

}  // namespace

Space space_named(std::string_view name) {
    if (name == "reg") return Space::reg;
    if (name == "param") return Space::param;
    if (name == "local") return Space::local;
    if (name == "shared") return Space::shared;
    if (name == "global" || name == "tex") return Space::global;
    if (name == "const") return Space::constant;
    return Space::none;
}

Attributes read_attributes(Cursor& cursor) {
    Attributes found;
    bool of_pointee = false;  // the alignment behind .ptr is that of what the pointer points to
    while (cursor.peek() == '.') {
        const std::string_view directive = cursor.accept_directive();
        if (directive == "align") {
            const uint32_t bytes = read_alignment(cursor);
            if (!of_pointee) found.align = bytes;
        } else if (directive == "ptr") {
            of_pointee = true;
        } else if (directive == "attribute") {
            cursor.skip_parentheses();
        } else if (const uint32_t width = vector_width(directive); width != 0) {
            found.vector = width;
        } else if (is_opaque(directive)) {
            found.type = Type::b64;
        } else if (const Type type = type_named(directive); type != Type::none) {
            found.type = type;
        } else if (space_named(directive) == Space::none) {
            cursor.fail("'.{}' in a declaration", directive);
        }
    }
    return found;
}

Variable read_variable(Cursor& cursor, Space space, const Attributes& attributes, uint64_t& initial_bytes) {
    Variable variable;
    variable.space = space;
    variable.type = attributes.type;
    variable.vector = attributes.vector;
    variable.name = cursor.word("a variable's name");
    if (variable.type == Type::none || (variable.type == Type::pred && space != Space::reg)) {
        cursor.fail("'{}' has no type that a variable can have", variable.name);
    }
    if (variable.vector * size_bytes(variable.type) > 16) cursor.fail("a vector of more than 128 bits");
    variable.extents = read_extents(cursor);
    check_size(cursor, variable);
    variable.align =
        std::max({attributes.align, size_bytes(variable.type) * variable.vector * (attributes.align == 0), 1u});
    if (cursor.accept('=')) {
        if (space != Space::global && space != Space::constant)
            cursor.fail("an initial value of '{}', which is not in .global or .const", variable.name);
        Initialiser(cursor, variable, initial_bytes).read();
        check_size(cursor, variable);
    }
    return variable;
}

std::vector<Variable> read_variables(Cursor& cursor, Space space, uint64_t& initial_bytes) {
    const Attributes attributes = read_attributes(cursor);
    std::vector<Variable> variables;
    do variables.push_back(read_variable(cursor, space, attributes, initial_bytes));
    while (cursor.accept(','));
    cursor.expect(';');
    return variables;
}

std::vector<RegisterDeclaration> read_registers(Cursor& cursor) {
    const Attributes attributes = read_attributes(cursor);
    if (attributes.type == Type::none) cursor.fail("registers without a type");
    if (attributes.vector > 4 || attributes.vector * size_bytes(attributes.type) > 16)
        cursor.fail("a vector of more than 4 elements or 128 bits");
    std::vector<RegisterDeclaration> registers;
    do {
        RegisterDeclaration declaration{cursor.word("a register's name"), 0, attributes.type, attributes.vector};
        if (cursor.accept('<')) {
            const uint64_t count = cursor.integer("a number of registers");
            if (count > 1u << 24) cursor.fail("{} registers", count);
            declaration.count = static_cast<uint32_t>(count);
            cursor.expect('>');
            if (count == 0) continue;
        }
        registers.push_back(declaration);
    } while (cursor.accept(','));
    cursor.expect(';');
    return registers;
}

std::vector<Variable> read_parameters(Cursor& cursor) {
    std::vector<Variable> parameters;
    if (!cursor.accept('(')) return parameters;
    uint64_t no_bytes = 0;
    while (cursor.peek() != ')') {
        const Space space = space_named(cursor.accept_directive());
        if (space != Space::param && space != Space::reg) cursor.fail("a parameter is .param or .reg");
        parameters.push_back(read_variable(cursor, space, read_attributes(cursor), no_bytes));
        if (!cursor.accept(',')) break;
    }
    cursor.expect(')');
    return parameters;
}

}  // namespace recuda::vgpu::ptx
