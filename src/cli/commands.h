// The commands of the program, by what they are about.
#pragma once

#include "cli/context.h"

namespace perdure::cli {

void add_start_commands(CLI::App& program, Context& context);    // start
void add_status_command(CLI::App& program, Context& context);    // status
void add_wait_commands(CLI::App& program, Context& context);     // wait
void add_message_commands(CLI::App& program, Context& context);  // raise, enqueue, cancel, terminate

void add_list_command(CLI::App& program, Context& context);         // list
void add_show_command(CLI::App& program, Context& context);         // show
void add_history_command(CLI::App& program, Context& context);      // history
void add_tree_command(CLI::App& program, Context& context);         // tree
void add_store_view_commands(CLI::App& program, Context& context);  // kv, queues, nodes, stuck, metrics

void add_delete_commands(CLI::App& program, Context& context);      // delete, prune
void add_transfer_commands(CLI::App& program, Context& context);    // export, import
void add_validation_commands(CLI::App& program, Context& context);  // validate

void add_bench_command(CLI::App& program, Context& context);        // bench
void add_simulation_commands(CLI::App& program, Context& context);  // simulate, mutation
void add_torture_commands(CLI::App& program, Context& context);     // torture

void add_completion_command(CLI::App& program, Context& context);  // completion
void add_about_commands(CLI::App& program, Context& context);      // version

}  // namespace perdure::cli
