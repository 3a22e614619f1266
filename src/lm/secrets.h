// Keys of models. They come from the environment, go into one header or to one program, and never anywhere else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace recuda {

/// The variable's value without the blanks and line ends that a file leaves around it; "" when there is none.
std::string environment_value(const char* name);

/// What must not be written: texts in which keys are made unreadable.
class Secrets {
 public:
    /// The values of these variables. Very short ones are left alone: they are placeholders ("none", "EMPTY"), and
    /// taking them out would tear words of an answer apart.
    explicit Secrets(const std::vector<std::string>& variables);

    /// The text with every secret replaced by "[key]".
    std::string without(std::string text) const;

 private:
    std::vector<std::string> values_;
};

/// The variables that hold keys of the models that this program knows.
const std::vector<std::string>& key_variables();

}  // namespace recuda
