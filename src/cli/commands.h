// The commands of the program, by what they are about.
#pragma once

#include "cli/context.h"

namespace perdure::cli {

void add_status_command(CLI::App& program, Context& context);
void add_list_command(CLI::App& program, Context& context);
void add_show_command(CLI::App& program, Context& context);
void add_history_command(CLI::App& program, Context& context);
void add_tree_command(CLI::App& program, Context& context);
void add_store_view_commands(CLI::App& program, Context& context);  // kv, queues, nodes, stuck, metrics
void add_completion_command(CLI::App& program, Context& context);
void add_simulation_commands(CLI::App& program, Context& context);  // simulate, mutation
void add_about_commands(CLI::App& program, Context& context);       // version

}  // namespace perdure::cli
