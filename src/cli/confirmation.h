// Whether the user really wants what cannot be undone.
#pragma once

#include <string>

#include "cli/context.h"

namespace perdure::cli {

// `deed` is "delete 12 instances". True with --yes, or if whoever sits at the terminal says so. Throws CommandError
// with the way out where nobody can be asked.
[[nodiscard]] bool is_confirmed(const Context& context, bool yes, const std::string& deed);

}  // namespace perdure::cli
