// The commands of the program, by what they are about.
#pragma once

#include "cli/context.h"

namespace perdure::cli {

void add_simulation_commands(CLI::App& program, Context& context);  // simulate, mutation
void add_about_commands(CLI::App& program, Context& context);       // version

void add_start_commands(CLI::App& program, Context& context);       // start
void add_wait_commands(CLI::App& program, Context& context);        // wait
void add_message_commands(CLI::App& program, Context& context);     // raise, enqueue, cancel, terminate
void add_delete_commands(CLI::App& program, Context& context);      // delete, prune
void add_transfer_commands(CLI::App& program, Context& context);    // export, import
void add_validation_commands(CLI::App& program, Context& context);  // validate

}  // namespace perdure::cli
