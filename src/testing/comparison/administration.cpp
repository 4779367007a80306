// What operators do.
#include <algorithm>
#include <utility>

#include "testing/comparison/invention.h"
#include "testing/comparison/operations.h"

namespace perdure::testing::comparison {

namespace {

// Siblings may stand in any order, so what counts is who is in it, and that every parent comes before its children.
std::string shown(ProviderAdmin& admin, const ProviderResult<InstanceTree>& tree) {
  if (!tree) return text_of(tree.error());
  bool parents_first = !tree->ids.empty() && tree->ids.front() == tree->root;
  for (std::size_t i = 1; i < tree->ids.size(); ++i) {
    const ProviderResult<InstanceInfo> info = admin.instance_info(tree->ids[i]);
    const auto end = tree->ids.begin() + static_cast<std::ptrdiff_t>(i);
    parents_first = parents_first && info && info->parent && std::find(tree->ids.begin(), end, *info->parent) != end;
  }
  std::vector<std::string> ids = tree->ids;
  std::sort(ids.begin(), ids.end());
  return Fields("tree").add("root", tree->root).add("ids", ids).add("parents first", parents_first).text();
}

void compare_tree(Run& run, const std::string& instance) {
  using Answer = std::pair<ProviderResult<InstanceTree>, std::string>;
  run.call_admin_and_show([&] { return Fields("instance_tree").add("of", instance).text(); },
                          [&](ProviderAdmin& admin, Side) {
                            ProviderResult<InstanceTree> tree = admin.instance_tree(instance);
                            std::string text = shown(admin, tree);
                            return Answer(std::move(tree), std::move(text));
                          },
                          [](const Answer& answer, Side) { return answer.second; });
}

void compare_history(Run& run, const std::string& instance, std::optional<ExecutionId> execution, EventId after) {
  const bool damaged = execution ? run.is_damaged(instance, *execution) : run.is_damaged(instance);
  if (damaged) return;
  run.call_admin(
      [&] { return Fields("admin read_history").add("of", instance).add("", execution).add("after", after).text(); },
      [&](ProviderAdmin& admin, Side) { return admin.read_history(instance, execution, after); });
}

void compare_execution(Run& run, const std::string& instance, ExecutionId execution) {
  run.call_admin([&] { return Fields("execution_info").add("of", instance).add("", execution).text(); },
                 [&](ProviderAdmin& admin, Side) { return admin.execution_info(instance, execution); });
}

std::vector<ExecutionId> compare_executions(Run& run, const std::string& instance) {
  const auto answers = run.call_admin([&] { return Fields("list_executions").add("of", instance).text(); },
                                      [&](ProviderAdmin& admin, Side) { return admin.list_executions(instance); });
  return answers[0] ? *answers[0] : std::vector<ExecutionId>();
}

void compare_info(Run& run, const std::string& instance) {
  run.call_admin([&] { return Fields("instance_info").add("of", instance).text(); },
                 [&](ProviderAdmin& admin, Side) { return admin.instance_info(instance); });
}

void compare_children(Run& run, const std::string& instance) {
  run.call_admin([&] { return Fields("list_children").add("of", instance).text(); },
                 [&](ProviderAdmin& admin, Side) { return admin.list_children(instance); });
}

void compare_metrics(Run& run) {
  run.call_admin([] { return std::string("system_metrics"); },
                 [](ProviderAdmin& admin, Side) { return admin.system_metrics(); });
}

void compare_queues(Run& run) {
  run.call_admin([] { return std::string("queue_depths"); },
                 [](ProviderAdmin& admin, Side) { return admin.queue_depths(); });
}

void compare_instance_queue(Run& run, const std::string& instance) {
  run.call_admin([&] { return Fields("instance_queue").add("of", instance).text(); },
                 [&](ProviderAdmin& admin, Side) { return admin.instance_queue(instance); });
}

void compare_nodes(Run& run) {
  run.call_admin([] { return std::string("list_nodes"); },
                 [](ProviderAdmin& admin, Side) { return admin.list_nodes(); });
}

void compare_as_client(Run& run, const std::string& instance) {
  run.call([&] { return Fields("read_status").add("of", instance).text(); },
           [&](Provider& store, Side) { return read_status(run, store, instance); });
  run.call([&] { return Fields("read_custom_status").add("of", instance).text(); },
           [&](Provider& store, Side) { return store.read_custom_status(instance, 0); });
  run.call([&] { return Fields("read_key_values").add("of", instance).text(); },
           [&](Provider& store, Side) { return store.read_key_values(instance); });
  for (const std::string& key : key_names()) {
    run.call([&] { return Fields("read_key_value").add("of", instance).add("key", key).text(); },
             [&](Provider& store, Side) { return store.read_key_value(instance, key); });
  }
  run.call([&] { return Fields("read_stats").add("of", instance).text(); },
           [&](Provider& store, Side) { return store.read_stats(instance); });
}

void compare_snapshot(Run& run, const std::string& instance) {
  run.call_admin([&] { return Fields("read_key_value_snapshot").add("of", instance).text(); },
                 [&](ProviderAdmin& admin, Side) { return admin.read_key_value_snapshot(instance); });
}

// Page after page of a list, up to `most` pages. list(admin, cursor) is the call, meanwhile() happens between two
// pages: the cursors must survive it.
template <class List, class Meanwhile>
void compare_pages(Run& run, const Fields& call, std::size_t most, List list, Meanwhile meanwhile) {
  Both<std::string> cursors;
  for (std::size_t page = 0; page < most; ++page) {
    const auto answers = run.call_admin([&] { return Fields(call).add("cursor", cursors[0]).text(); },
                                        [&](ProviderAdmin& admin, Side side) { return list(admin, cursors[side]); });
    if (!answers[0] || answers[0]->next.empty()) return;
    cursors = {answers[0]->next, answers[1]->next};
    meanwhile();
  }
}

constexpr std::size_t kMostPages = 8;

void compare_instance_pages(Run& run, std::size_t limit) {
  const InstanceFilter filter = Invention(run).instance_filter();
  compare_pages(
      run, Fields("list_instances").add("", filter).add("limit", limit), kMostPages,
      [&](ProviderAdmin& admin, const std::string& cursor) {
        return admin.list_instances({.filter = filter, .limit = limit, .cursor = cursor});
      },
      [&] {
        if (run.dice().chance(20)) enqueue_start(run);
        if (run.dice().chance(3)) delete_instance(run);
      });
}

void compare_activity_pages(Run& run, const std::optional<std::string>& instance, std::size_t limit) {
  compare_pages(
      run, Fields("list_activities").add("of", instance).add("limit", limit), kMostPages,
      [&](ProviderAdmin& admin, const std::string& cursor) {
        return admin.list_activities({.instance = instance, .limit = limit, .cursor = cursor});
      },
      // Nothing that queues one: whether a later page shows it is open.
      [&] {
        if (run.dice().chance(20)) ack_work(run);
        if (run.dice().chance(10)) abandon_work(run);
        if (run.dice().chance(2)) delete_instance(run);
      });
}

void compare_start_pages(Run& run, std::size_t limit) {
  compare_pages(
      run, Fields("list_queued_starts").add("limit", limit), kMostPages,
      [&](ProviderAdmin& admin, const std::string& cursor) {
        return admin.list_queued_starts({.limit = limit, .cursor = cursor});
      },
      [&] {
        if (run.dice().chance(30)) enqueue_start(run);
        if (run.dice().chance(10)) delete_instance(run);
      });
}

// Queries that must be refused.
void compare_bad_cursors(Run& run) {
  const std::string cursor = run.dice().one_of<std::string>({"nonsense", "?", " ", "order-1"});
  const auto described = [&](const char* method) { return Fields(method).add("cursor", cursor).text(); };
  run.call_admin(
      [&] { return described("list_instances"); },
      [&](ProviderAdmin& admin, Side) { return admin.list_instances({.filter = {}, .limit = 10, .cursor = cursor}); });
  run.call_admin([&] { return described("list_activities"); },
                 [&](ProviderAdmin& admin, Side) {
                   return admin.list_activities({.instance = {}, .limit = 10, .cursor = cursor});
                 });
  run.call_admin([&] { return described("list_queued_starts"); },
                 [&](ProviderAdmin& admin, Side) { return admin.list_queued_starts({.limit = 10, .cursor = cursor}); });
}

}  // namespace

void look(Run& run) {
  Invention invention(run);
  const std::string instance = run.dice().chance(5) ? std::string("unknown") : invention.instance();
  switch (run.dice().below(9)) {
    case 0:
      return compare_info(run, instance);
    case 1:
      return compare_execution(run, instance, run.dice().below(4));
    case 2: {
      std::optional<ExecutionId> execution;
      if (run.dice().chance(60)) execution = run.dice().below(4);
      return compare_history(run, instance, execution, run.dice().chance(50) ? 0 : run.dice().below(8));
    }
    case 3:
      return compare_children(run, instance);
    case 4:
      return compare_tree(run, instance);
    case 5:
      return compare_metrics(run);
    case 6:
      compare_executions(run, instance);
      return;
    case 7:
      return compare_snapshot(run, instance);
    default:
      return compare_nodes(run);
  }
}

void list_pages(Run& run) {
  const std::size_t limit = run.dice().chance(3) ? 0 : run.dice().between(1, 4);
  if (run.dice().chance(5)) compare_bad_cursors(run);
  switch (run.dice().below(3)) {
    case 0:
      return compare_instance_pages(run, limit);
    case 1: {
      std::optional<std::string> instance;
      if (run.dice().chance(50)) instance = Invention(run).instance();
      return compare_activity_pages(run, instance, limit);
    }
    default:
      return compare_start_pages(run, limit);
  }
}

void delete_instance(Run& run) {
  const std::string instance = Invention(run).instance();
  const bool force = run.dice().chance(40);
  run.call_admin([&] { return Fields("delete_instance").add("", instance).add("force", force).text(); },
                 [&](ProviderAdmin& admin, Side) { return admin.delete_instance(instance, force); });
}

void delete_several(Run& run) {
  Invention invention(run);
  if (run.dice().chance(60)) {
    std::vector<std::string> ids;
    for (std::size_t left = run.dice().below(5); left > 0; --left) ids.push_back(invention.instance());
    const bool force = run.dice().chance(30);
    run.call_admin([&] { return Fields("delete_instances").add("", ids).add("force", force).text(); },
                   [&](ProviderAdmin& admin, Side) { return admin.delete_instances(ids, force); });
    return;
  }
  const InstanceFilter filter = invention.instance_filter();
  const std::size_t limit = run.dice().below(4);
  run.call_admin([&] { return Fields("delete_matching").add("", filter).add("limit", limit).text(); },
                 [&](ProviderAdmin& admin, Side) { return admin.delete_matching(filter, limit); });
}

void prune(Run& run) {
  Invention invention(run);
  const PruneOptions options = invention.prune_options();
  if (run.dice().chance(50)) {
    const std::string instance = invention.instance();
    run.call_admin([&] { return Fields("prune_executions").add("of", instance).add("", options).text(); },
                   [&](ProviderAdmin& admin, Side) { return admin.prune_executions(instance, options); });
    return;
  }
  const InstanceFilter filter = invention.instance_filter();
  const std::size_t limit = run.dice().below(6);
  run.call_admin([&] { return Fields("prune_matching").add("", filter).add("", options).add("limit", limit).text(); },
                 [&](ProviderAdmin& admin, Side) { return admin.prune_matching(filter, options, limit); });
}

void append_history(Run& run) {
  Invention invention(run);
  const std::string instance = invention.instance();
  const std::vector<ExecutionId> known = compare_executions(run, instance);
  const ExecutionId execution = known.empty() || run.dice().chance(10) ? run.dice().below(4) : run.dice().one_of(known);
  const auto info =
      run.call_admin([&] { return Fields("execution_info").add("of", instance).add("", execution).text(); },
                     [&](ProviderAdmin& admin, Side) { return admin.execution_info(instance, execution); });
  const EventId last = info[0] ? info[0]->events : 0;
  const EventId first = run.dice().chance(85) ? last + 1 : run.dice().below(last + 3);
  const std::vector<EventRecord> events = invention.events(first, run.dice().below(4));
  run.call_admin([&] { return Fields("append_history").add("to", instance).add("", execution).add("", events).text(); },
                 [&](ProviderAdmin& admin, Side) { return admin.append_history(instance, execution, events); });
}

void damage_history(Run& run) {
  run.damage(Invention(run).instance());
}

void compare_visible_state(Run& run) {
  compare_queues(run);
  compare_metrics(run);
  compare_nodes(run);
  run.call_admin([] { return std::string("list_instances"); },
                 [](ProviderAdmin& admin, Side) { return admin.list_instances({}); });
  run.call_admin([] { return std::string("list_activities"); },
                 [](ProviderAdmin& admin, Side) { return admin.list_activities({}); });
  run.call_admin([] { return std::string("list_queued_starts"); },
                 [](ProviderAdmin& admin, Side) { return admin.list_queued_starts({}); });
  for (const std::string& instance : instance_ids()) {
    compare_as_client(run, instance);
    compare_snapshot(run, instance);
    compare_instance_queue(run, instance);
    compare_info(run, instance);
    compare_children(run, instance);
    compare_tree(run, instance);
    compare_history(run, instance, std::nullopt, 0);
    for (const ExecutionId execution : compare_executions(run, instance)) {
      compare_execution(run, instance, execution);
      compare_history(run, instance, execution, 0);
    }
  }
}

}  // namespace perdure::testing::comparison
