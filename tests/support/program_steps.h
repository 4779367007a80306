// The helpers of the interpreter of random programs that its files call from each other.
#pragma once

#include <string>
#include <vector>

#include <perdure/perdure.h>
#include "support/program_code.h"
#include "support/random_program.h"

namespace perdure::test {

[[nodiscard]] Milliseconds delay_of(const Step& step);
// A block as something with a value; `outer` is what the surrounding block keeps.
[[nodiscard]] Task<std::string> block_value(OrchestrationContext ctx, Code* code, const Block* block,
                                            Operations* outer);
[[nodiscard]] Task<void> run_select(OrchestrationContext ctx, Code* code, const Step* step, Operations* kept);
[[nodiscard]] Task<void> run_join(OrchestrationContext ctx, Code* code, const Step* step, Operations* kept);

}  // namespace perdure::test
