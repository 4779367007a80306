// delete, prune
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <perdure/client.h>
#include "cli/commands.h"
#include "cli/confirmation.h"
#include "cli/instance_selection.h"
#include "cli/instance_views.h"
#include "cli/number_argument.h"
#include "cli/redaction.h"
#include "cli/time_argument.h"
#include "providers/times.h"

namespace perdure::cli {

namespace {

// A store is asked for so many at a time, so that nobody else waits long.
constexpr std::size_t kPerCall = 200;

std::string counted(std::uint64_t number, const char* thing) {
  return std::to_string(number) + ' ' + thing + (number == 1 ? "" : "s");
}

// What could not be done to one of several instances; the others are done nevertheless. Both texts are redacted: an id
// may be a URL at a wrong position.
struct RefusedInstance {
  std::string id;
  std::string why;
  int exit_code = kSuccess;
};

nlohmann::json refused_json(const std::vector<RefusedInstance>& refused) {
  nlohmann::json list = nlohmann::json::array();
  for (const RefusedInstance& one : refused) {
    list.push_back({{"instance", one.id}, {"error", one.why}, {"exit_code", one.exit_code}});
  }
  return list;
}

void print_refused(const Context& context, const std::vector<RefusedInstance>& refused) {
  for (const RefusedInstance& one : refused) context.err << "perdure: " << name_text(one.why) << '\n';
}

// `act` on each of the ids. What concerns one of them alone is told at the end.
template <class Act>
std::vector<RefusedInstance> for_each_named(const std::vector<std::string>& ids, const Act& act) {
  std::vector<RefusedInstance> refused;
  for (const std::string& id : ids) {
    try {
      act(id);
    } catch (const ClientError& error) {
      const int exit_code = exit_code_of(error.kind());
      if (exit_code != kNotFound && exit_code != kConflict) throw;
      refused.push_back({.id = redacted(id), .why = redacted(error.what()), .exit_code = exit_code});
    }
  }
  return refused;
}

int refusal_exit_code(const std::vector<RefusedInstance>& refused) {
  return refused.empty() ? kSuccess : refused.front().exit_code;
}

// ---- delete ----

struct DeleteArguments {
  Selection selection;
  bool force = false;
  bool yes = false;
  bool dry_run = false;
  std::size_t limit = 0;  // 0: all
};

void add_to(DeleteResult& sum, const DeleteResult& one) {
  sum.instances += one.instances;
  sum.executions += one.executions;
  sum.events += one.events;
  sum.messages += one.messages;
}

void tell_deleted(const Context& context, const DeleteResult& deleted, const std::vector<RefusedInstance>& refused) {
  if (context.json) {
    const nlohmann::json document{{"instances", deleted.instances},
                                  {"executions", deleted.executions},
                                  {"events", deleted.events},
                                  {"messages", deleted.messages},
                                  {"dry_run", false},
                                  {"refused", refused_json(refused)}};
    print_json(context, document);
    return;
  }
  context.out << "deleted " << counted(deleted.instances, "instance") << " with "
              << counted(deleted.executions, "execution") << ", " << counted(deleted.events, "event") << " and "
              << counted(deleted.messages, "queued message") << '\n';
  print_refused(context, refused);
}

void tell_dry_run(const Context& context, const std::vector<std::string>& roots) {
  if (context.json) {
    print_json(context, nlohmann::json{{"dry_run", true}, {"roots", roots}});
    return;
  }
  for (const std::string& root : roots) context.out << name_text(root) << '\n';
  context.err << "would delete " << counted(roots.size(), "instance") << ", with all their children\n";
}

int delete_named(const Context& context, const Client& client, const DeleteArguments& arguments) {
  if (arguments.dry_run) {
    const auto refused = for_each_named(arguments.selection.ids, [&](const std::string& id) {
      const InstanceInfo info = client.get_instance_info(id);
      if (!is_root(info)) {
        throw ClientError(ClientErrorKind::kSubOrchestration, "instance '" + id + "' is a sub-orchestration of '" +
                                                                  *info.parent + "'; delete the root of its tree");
      }
      if (!arguments.force && !tree_has_ended(client, id)) {
        throw ClientError(ClientErrorKind::kStillRunning, "instance '" + id + "' or a child of it is still running");
      }
    });
    if (refused.empty()) tell_dry_run(context, arguments.selection.ids);
    if (!refused.empty()) throw CommandError(refusal_exit_code(refused), refused.front().why);
    return kSuccess;
  }
  DeleteResult deleted;
  const auto refused = for_each_named(arguments.selection.ids, [&](const std::string& id) {
    add_to(deleted, client.delete_instance(id, arguments.force));
  });
  tell_deleted(context, deleted, refused);
  return refusal_exit_code(refused);
}

// An instance that is started again under a listed id is created after every listed one, so the filter excludes it.
void exclude_later(InstanceFilter& filter, Timestamp last_created) {
  const Timestamp end = shifted(last_created, Milliseconds(1));
  filter.created_before = filter.created_before ? std::min(*filter.created_before, end) : end;
}

// Those that are shown are those that are deleted, unless one of them has been started again meanwhile.
int delete_matching(const Context& context, const Client& client, const DeleteArguments& arguments, Timestamp now) {
  InstanceFilter filter = filter_of(arguments.selection.filters, now);
  Timestamp last_created{};
  std::vector<std::string> roots = matching_ids(client, filter, [&](const InstanceInfo& info) {
    if (!is_root(info) || !has_ended(info) || !tree_has_ended(client, info.id)) return false;
    last_created = std::max(last_created, info.created_at);
    return true;
  });
  exclude_later(filter, last_created);
  if (arguments.limit > 0 && roots.size() > arguments.limit) roots.resize(arguments.limit);
  if (arguments.dry_run) {
    tell_dry_run(context, roots);
    return kSuccess;
  }
  DeleteResult deleted;
  if (!roots.empty()) {
    if (!is_confirmed(context, arguments.yes,
                      "delete " + counted(roots.size(), "instance") + ", with all their children")) {
      context.err << "nothing was deleted\n";
      return kNegative;
    }
    for (std::size_t first = 0; first < roots.size(); first += kPerCall) {
      const auto part = std::span(roots).subspan(first, std::min(kPerCall, roots.size() - first));
      filter.ids.emplace(part.begin(), part.end());
      add_to(deleted, client.delete_instance_bulk(filter, part.size()));
    }
  }
  tell_deleted(context, deleted, {});
  return kSuccess;
}

int run_delete(const Context& context, const DeleteArguments& arguments) {
  check_selection(arguments.selection, "delete");
  if (arguments.force && !arguments.selection.is_named()) {
    throw std::invalid_argument("--force requires explicit instance ids; filters never delete running instances");
  }
  if (arguments.limit > 0 && arguments.selection.is_named()) {
    throw std::invalid_argument("--limit cannot be combined with instance ids; list only the instances to delete");
  }
  const std::shared_ptr<Provider> store = context.open();
  const Client client(store);
  if (arguments.selection.is_named()) return delete_named(context, client, arguments);
  return delete_matching(context, client, arguments, store->now());
}

// ---- prune ----

struct PruneArguments {
  Selection selection;
  std::size_t keep_last = 1;
  bool yes = false;
  bool dry_run = false;
};

void add_to(PruneResult& sum, const PruneResult& one) {
  sum.instances += one.instances;
  sum.executions += one.executions;
  sum.events += one.events;
}

// What prune_executions would remove.
PruneResult prunable(const Client& client, const std::string& instance, const PruneOptions& options) {
  PruneResult result;
  result.instances = 1;
  const InstanceInfo info = client.get_instance_info(instance);
  std::vector<ExecutionId> executions = client.list_executions(instance);
  executions.resize(executions.size() - std::min(executions.size(), options.keep_last));
  for (const ExecutionId id : executions) {
    if (id == info.execution_id) continue;
    const ExecutionInfo execution = client.get_execution_info(instance, id);
    if (!is_terminal(execution.status)) continue;
    if (options.completed_before && (!execution.completed_at || *execution.completed_at >= *options.completed_before)) {
      continue;
    }
    ++result.executions;
    result.events += execution.events;
  }
  return result;
}

void tell_pruned(const Context& context, const PruneResult& pruned, bool dry_run,
                 const std::vector<RefusedInstance>& refused) {
  if (context.json) {
    const nlohmann::json document{{"instances", pruned.instances},
                                  {"executions", pruned.executions},
                                  {"events", pruned.events},
                                  {"dry_run", dry_run},
                                  {"refused", refused_json(refused)}};
    print_json(context, document);
    return;
  }
  context.out << (dry_run ? "would prune " : "pruned ") << counted(pruned.executions, "past execution") << " with "
              << counted(pruned.events, "event") << " of " << counted(pruned.instances, "instance") << '\n';
  print_refused(context, refused);
}

// Prunes the instances that were counted, except those that no longer match.
int prune_matching(const Context& context, const Client& client, const PruneArguments& arguments, InstanceFilter filter,
                   const PruneOptions& options) {
  Timestamp last_created{};
  const std::vector<std::string> ids = matching_ids(client, filter, [&](const InstanceInfo& info) {
    if (info.execution_id == kFirstExecutionId) return false;  // it has no past
    last_created = std::max(last_created, info.created_at);
    return true;
  });
  exclude_later(filter, last_created);
  PruneResult expected;
  const auto refused =
      for_each_named(ids, [&](const std::string& id) { add_to(expected, prunable(client, id, options)); });
  if (arguments.dry_run) {
    tell_pruned(context, expected, true, refused);
    return refusal_exit_code(refused);
  }
  const std::string deed = "remove " + counted(expected.executions, "past execution") + " of " +
                           counted(ids.size(), "instance") + " permanently";
  if (expected.executions > 0 && !is_confirmed(context, arguments.yes, deed)) {
    context.err << "nothing was pruned\n";
    return kNegative;
  }
  PruneResult pruned;
  for (std::size_t first = 0; first < ids.size(); first += kPerCall) {
    const auto part = std::span(ids).subspan(first, std::min(kPerCall, ids.size() - first));
    filter.ids.emplace(part.begin(), part.end());
    add_to(pruned, client.prune_executions_bulk(filter, options, part.size()));
  }
  tell_pruned(context, pruned, false, {});
  return kSuccess;
}

int run_prune(const Context& context, const PruneArguments& arguments) {
  Selection selection = arguments.selection;
  PruneOptions options;
  options.keep_last = arguments.keep_last;
  // Here it is about executions, not about instances.
  const std::string completed_before = std::exchange(selection.filters.completed_before, {});
  check_selection(selection, "prune");
  const std::shared_ptr<Provider> store = context.open();
  const Client client(store);
  if (!completed_before.empty()) {
    options.completed_before = parse_time("--completed-before", completed_before, store->now());
  }
  if (!selection.is_named()) {
    return prune_matching(context, client, arguments, filter_of(selection.filters, store->now()), options);
  }
  PruneResult pruned;
  const auto refused = for_each_named(selection.ids, [&](const std::string& id) {
    add_to(pruned, arguments.dry_run ? prunable(client, id, options) : client.prune_executions(id, options));
  });
  tell_pruned(context, pruned, arguments.dry_run, refused);
  return refusal_exit_code(refused);
}

}  // namespace

void add_delete_commands(CLI::App& program, Context& context) {
  const auto deletion = std::make_shared<DeleteArguments>();
  CLI::App& remove = add_store_command(program, context, "delete",
                                       "Delete instances with their children, histories, values and messages",
                                       [&context, deletion] { return run_delete(context, *deletion); });
  add_selection_options(remove, deletion->selection);
  remove.add_flag("--force", deletion->force, "Delete running instances too and cancel their activities");
  remove
      .add_option("--limit", deletion->limit,
                  "Delete at most N matching instances, the oldest first (default: no limit)")
      ->check(at_least(1));
  remove.add_flag("--yes", deletion->yes, "Skip the confirmation");
  remove.add_flag("--dry-run", deletion->dry_run, "Print what would be deleted without deleting it");

  const auto pruning = std::make_shared<PruneArguments>();
  CLI::App& prune = add_store_command(
      program, context, "prune",
      "Remove past executions of instances that continue as new, except values and the current execution",
      [&context, pruning] { return run_prune(context, *pruning); });
  add_selection_options(prune, pruning->selection);
  prune.get_option("--completed-before")
      ->description("Prune only executions that ended before TIME, or a duration ago, like 7d");
  prune
      .add_option("--keep-last", pruning->keep_last,
                  "Number of executions to retain; the current one is always retained")
      ->check(at_least(0))
      ->capture_default_str();
  prune.add_flag("--yes", pruning->yes, "Skip the confirmation");
  prune.add_flag("--dry-run", pruning->dry_run, "Print what would be removed without removing it");
}

}  // namespace perdure::cli
