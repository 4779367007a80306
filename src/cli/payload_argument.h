// A value for a workflow as a user gives it: JSON, @FILE, or - for the standard input.
#pragma once

#include <optional>
#include <string>

#include <perdure/types.h>
#include "cli/context.h"

namespace perdure::cli {

struct PayloadArgument {
  std::string option;               // how it is called, for messages
  std::optional<std::string> text;  // absent: not given, and so no value is sent
  bool raw = false;
};

// The option, and --raw.
void add_payload_options(CLI::App& command, PayloadArgument& argument, const std::string& option,
                         const std::string& description);

// The bytes that are stored. Without --raw they must be JSON, and are sent as they were written, without the space
// around them. Throws std::invalid_argument that says what is wrong and how to write it.
[[nodiscard]] Payload payload_of(const PayloadArgument& argument, const Context& context);

}  // namespace perdure::cli
