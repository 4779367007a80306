// The commands of the program, by what they are about.
#pragma once

#include "cli/context.h"

namespace perdure::cli {

void add_simulation_commands(CLI::App& program, Context& context);  // simulate, mutation
void add_about_commands(CLI::App& program, Context& context);       // version
void add_bench_command(CLI::App& program, Context& context);        // bench

}  // namespace perdure::cli
