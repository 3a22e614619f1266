// The module scope: directives, variables, functions' signatures. What is inside a body is body.h's.
#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "device/vgpu/ptx/body.h"
#include "device/vgpu/ptx/cursor.h"
#include "device/vgpu/ptx/declarations.h"
#include "device/vgpu/ptx/ptx.h"
#include "device/vgpu/ptx/source_lines.h"

namespace recuda::vgpu::ptx {
namespace {

constexpr uint32_t kMostVersion = 99;

class ModuleReader {
 public:
    ModuleReader(Module& module, std::string_view source_name)
        : module_(module), cursor_(*module.text), source_name_(source_name) {}

    void read() {
        header();
        while (!cursor_.at_end()) {
            if (cursor_.accept(';')) continue;
            if (cursor_.accept("@@")) {  // the debug sections of PTX before 2.0
                cursor_.skip_line();
                continue;
            }
            const std::string_view name = cursor_.accept_directive();
            if (name.empty()) cursor_.fail("expected a directive, not {}", printable(cursor_.peek()));
            directive(name);
        }
        resolve_lines();
    }

 private:
    // A version reads as a float; its digits are taken from the text, for 8.10 is not 8.1.
    void header() {
        if (cursor_.accept_directive() != "version") cursor_.fail("a module begins with .version");
        if (!is_digit(cursor_.peek())) cursor_.fail("expected a version");
        const std::string_view digits = cursor_.rest_of_line(16);
        cursor_.number();
        const char* end = digits.data() + digits.size();
        const auto major = std::from_chars(digits.data(), end, module_.version_major);
        if (major.ptr == end || *major.ptr != '.') cursor_.fail("a version has two parts");
        std::from_chars(major.ptr + 1, end, module_.version_minor);
        if (module_.version_major == 0 || module_.version_major > kMostVersion || module_.version_minor > kMostVersion)
            cursor_.fail("there is no version {}.{}", module_.version_major, module_.version_minor);
        if (cursor_.accept_directive() != "target") cursor_.fail("behind .version stands .target");
        target();
    }

    void target() {
        module_.target = cursor_.word("a target");
        const std::string_view number = module_.target.substr(std::min<size_t>(3, module_.target.size()));
        if (!module_.target.starts_with("sm_") || number.empty() || !is_digit(number[0]))
            cursor_.fail("'{}' is not a target", module_.target);
        while (cursor_.accept(',')) cursor_.word("a target");
    }

    void directive(std::string_view name) {
        if (name == "target") {
            if (!module_.functions.empty() || !module_.variables.empty()) cursor_.fail("'.target' in a module");
            target();
        } else if (name == "address_size") {
            if (cursor_.integer("a size") != 64) cursor_.fail("only addresses of 64 bits are known");
        } else if (name == "file") {
            file();
        } else if (name == "loc") {
            read_loc(cursor_, lines_);
        } else if (name == "section") {
            if (cursor_.accept_directive().empty()) cursor_.word("a section's name");
            cursor_.skip_braces();
        } else if (name == "pragma") {
            cursor_.string();
            cursor_.accept(';');
        } else if (name == "alias") {
            const std::string_view alias = cursor_.word("a name");
            cursor_.expect(',');
            module_.aliases[alias] = cursor_.word("a function");
            cursor_.expect(';');
        } else {
            symbol(name);
        }
    }

    // [linkage] function or variable
    void symbol(std::string_view name) {
        bool is_extern = false;
        while (name == "visible" || name == "extern" || name == "weak" || name == "common") {
            is_extern |= name == "extern";
            name = cursor_.accept_directive();
        }
        if (name == "entry" || name == "func") return function(name == "entry");
        const Space space = space_named(name);
        if (space == Space::none || space == Space::reg || space == Space::param)
            cursor_.fail("'.{}' in a module", name);
        for (Variable& variable : read_variables(cursor_, space, initial_bytes_)) {
            variable.is_extern = is_extern;
            if (is_extern && !variable.initial.empty())
                cursor_.fail("'{}' is defined elsewhere and has an initial value", variable.name);
            if (!is_extern && variable.size() == 0) cursor_.fail("'{}' has no size", variable.name);
            const auto [known, fresh] = variables_.emplace(variable.name, is_extern);
            if ((!fresh && !is_extern && !known->second) || functions_.contains(variable.name))
                cursor_.fail("a second declaration of '{}'", variable.name);
            known->second = known->second && is_extern;
            module_.variables.push_back(std::move(variable));
        }
    }

    void file() {
        const auto index = static_cast<uint32_t>(cursor_.integer("a file's number"));
        module_.files.emplace(index, cursor_.string());
        while (cursor_.accept(',')) cursor_.integer("a number");
    }

    void function(bool is_entry) {
        Function function;
        function.is_entry = is_entry;
        function.place.line = cursor_.line();
        while (cursor_.peek() == '.') {  // .attribute(…)
            cursor_.accept_directive();
            cursor_.skip_parentheses();
        }
        if (!is_entry) function.returns = read_parameters(cursor_);
        function.name = cursor_.word("a function's name");
        function.parameters = read_parameters(cursor_);
        while (cursor_.peek() == '.') tuning(function);
        std::vector<uint32_t> frames;
        if (cursor_.accept('{')) {
            function.has_body = true;
            register_parameters(function);
            BodyReader(cursor_, module_, function, lines_, frames).read(initial_bytes_);
        } else {
            cursor_.expect(';');
        }
        add(std::move(function), std::move(frames));
    }

    static void register_parameters(Function& function) {
        for (const auto* list : {&function.returns, &function.parameters}) {
            for (const Variable& variable : *list) {
                if (variable.space != Space::reg) continue;
                function.registers.push_back({variable.name, 0, variable.type, variable.vector});
            }
        }
    }

    // .maxntid 256, 1, 1 and its like; one that is not known is read the same way and means nothing here.
    void tuning(Function& function) {
        const std::string_view name = cursor_.accept_directive();
        if (name.empty()) cursor_.fail("expected a directive");
        if (cursor_.peek() == '"') {
            cursor_.string();
            cursor_.accept(';');
            return;
        }
        uint32_t values[3] = {1, 1, 1};
        uint32_t count = 0;
        if (is_digit(cursor_.peek())) {
            do {
                const uint64_t value = cursor_.integer("a number");
                if (count < 3) values[count++] = static_cast<uint32_t>(std::min<uint64_t>(value, 0xffffffffu));
            } while (cursor_.accept(','));
        }
        if (count == 0) return;
        const bool sizes = name == "maxntid" || name == "reqntid" || name == "reqnctapercluster";
        if (sizes && (values[0] == 0 || values[1] == 0 || values[2] == 0)) cursor_.fail("a size of 0 in .{}", name);
        if (name == "maxntid") std::copy_n(values, 3, function.max_threads);
        if (name == "reqntid") std::copy_n(values, 3, function.required_threads);
        if (name == "reqnctapercluster") std::copy_n(values, 3, function.required_cluster);
    }

    void add(Function function, std::vector<uint32_t> frames) {
        if (variables_.contains(function.name)) cursor_.fail("a second declaration of '{}'", function.name);
        const auto [known, is_new] = functions_.emplace(function.name, module_.functions.size());
        if (is_new) {
            module_.functions.push_back(std::move(function));
            frames_.push_back(std::move(frames));
            return;
        }
        Function& earlier = module_.functions[known->second];
        if (!function.has_body) return;
        if (earlier.has_body) cursor_.fail("a second function '{}'", function.name);
        earlier = std::move(function);
        frames_[known->second] = std::move(frames);
    }

    void resolve_lines() {
        lines_.resolve(module_.files, source_name_);
        for (size_t i = 0; i < module_.functions.size(); ++i) {
            std::vector<Statement>& body = module_.functions[i].body;
            for (size_t j = 0; j < body.size(); ++j) {
                body[j].place.source_line = lines_.line(frames_[i][j]);
                body[j].place.source_file = lines_.file(frames_[i][j]);
            }
        }
    }

    Module& module_;
    Cursor cursor_;
    std::string_view source_name_;
    SourceLines lines_;
    std::unordered_map<std::string_view, size_t> functions_;  // name → index
    std::unordered_map<std::string_view, bool> variables_;    // name → declared extern alone
    std::vector<std::vector<uint32_t>> frames_;               // of every function's statements
    uint64_t initial_bytes_ = 0;
};

}  // namespace

Module parse(std::string text, std::string_view source_name) {
    Module module;
    module.text = std::make_unique<const std::string>(std::move(text));
    ModuleReader(module, source_name).read();
    return module;
}

}  // namespace recuda::vgpu::ptx
