// What a comparison does, a call of the interface at a time; compare_providers.cpp says how often.
#pragma once

#include "testing/comparison/run.h"

namespace perdure::testing::comparison {

// ---- The orchestrator queue ----
void fetch_instances(Run& run);
void commit_turns(Run& run);
void repeat_commit(Run& run);
void abandon_turns(Run& run);
void renew_turns(Run& run);
void read_locked_history(Run& run);
void enqueue_messages(Run& run);
void enqueue_start(Run& run);
// Deletes an instance, sends messages to its id, and may let them age or start it again.
void address_orphan(Run& run);

// ---- The worker queue ----
void fetch_work(Run& run);
void ack_work(Run& run);
void abandon_work(Run& run);
void renew_work(Run& run);
void heartbeat(Run& run);
void enqueue_activities(Run& run);
void renew_sessions(Run& run);
void cleanup_sessions(Run& run);

// ---- Clients, waits, nodes, time ----
// Without the incarnation of an imported instance, which each store draws itself.
[[nodiscard]] ProviderResult<std::optional<InstanceStatus>> read_status(const Run& run, Provider& store,
                                                                        const std::string& instance);
void read_as_client(Run& run);
void wait_for_work(Run& run);
void wait_for_change(Run& run);
void change_nodes(Run& run);
void move_time(Run& run);

// ---- Admin ----
void look(Run& run);
void list_pages(Run& run);
void delete_instance(Run& run);
void delete_several(Run& run);
void prune(Run& run);
void append_history(Run& run);
void damage_history(Run& run);
// If both stores take instances from elsewhere.
void import_instances(Run& run);

// Everything that can be seen, without changing anything.
void compare_visible_state(Run& run);
// What can still be fetched: now, after the leases, and after the orphans' time. Locks it all.
void compare_what_is_left(Run& run);

}  // namespace perdure::testing::comparison
