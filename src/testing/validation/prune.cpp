// Pruning: past executions go, the instance stays.
#include <atomic>
#include <thread>
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"
#include "testing/validation/threads.h"

namespace perdure::testing {

namespace {

using Executions = std::vector<ExecutionId>;

// An instance with this many executions, ten milliseconds apart; the last runs. Past ones have two events each.
void create_with_executions(Scene& scene, const std::string& instance, ExecutionId count) {
  scene.create(instance);
  for (ExecutionId i = 1; i < count; ++i) {
    scene.advance(Milliseconds{10});
    scene.continue_as_new(instance);
  }
}

Executions executions(Scene& scene, const std::string& instance, Where where = Where::current()) {
  return take(scene.admin(where).list_executions(instance), where);
}

void the_newest_are_kept(ProviderFactory& factory) {
  Scene scene(factory);
  create_with_executions(scene, "a", 4);
  const PruneResult expected{.instances = 1, .executions = 2, .events = 4};
  expect(take(scene.admin().prune_executions("a", {.keep_last = 2, .completed_before = {}})) == expected,
         "the counts are others");
  expect_equal(executions(scene, "a"), Executions{3, 4}, "the executions that are left");
  expect_error(scene.admin().execution_info("a", 2), ProviderErrorKind::kNotFound);
  expect(take(scene.admin().read_history("a", 2)).empty(), "there is a history of a pruned execution");
  expect_equal(take(scene.admin().read_history("a", 3)).size(), std::size_t{2}, "events of one that was kept");
  const PruneResult nothing{.instances = 1, .executions = 0, .events = 0};
  expect(take(scene.admin().prune_executions("a", {.keep_last = 9, .completed_before = {}})) == nothing,
         "more was pruned than asked");
}

void the_current_one_is_always_kept(ProviderFactory& factory) {
  Scene scene(factory);
  int count = 0;
  for (const PruneOptions& options : {PruneOptions{}, PruneOptions{.keep_last = 0, .completed_before = {}},
                                      PruneOptions{.keep_last = 1, .completed_before = {}}}) {
    const std::string id = "a" + std::to_string(++count);
    create_with_executions(scene, id, 3);
    expect_equal(take(scene.admin().prune_executions(id, options)).executions, std::uint64_t{2}, "executions pruned");
    expect_equal(executions(scene, id), Executions{3}, "the executions that are left");
    scene.end(id);
    expect_equal(take(scene.admin().prune_executions(id, options)).executions, std::uint64_t{0}, "executions pruned");
    expect_equal(executions(scene, id), Executions{3}, "the execution that is left when it has ended");
  }
}

void the_instance_goes_on(ProviderFactory& factory) {
  Scene scene(factory);
  create_with_executions(scene, "a", 3);
  scene.enqueue(event_message("a", "unread"));
  const InstanceInfo before = take(scene.admin().instance_info("a"));
  const OrchestrationItem item = scene.fetch();
  take(scene.admin().prune_executions("a", {}));
  expect(take(scene.admin().instance_info("a")) == before, "the instance is another");
  expect_equal(take(scene.store().read_history(item.token, 0)).events.size(), std::size_t{1}, "events");
  TurnCommit commit = scene.commit_of(item);
  commit.events = {event(2)};
  scene.ack(commit);
  scene.continue_as_new("a");
  expect_equal(executions(scene, "a"), Executions{3, 4}, "the executions");
  expect_equal(take(scene.admin().system_metrics()).executions, std::uint64_t{2}, "executions that are counted");
}

void only_old_ones_if_asked(ProviderFactory& factory) {
  Scene scene(factory);
  create_with_executions(scene, "a", 5);
  PruneOptions options;
  options.completed_before = take(scene.admin().execution_info("a", 3)).completed_at;
  expect(options.completed_before.has_value(), "a past execution has no end");
  options.keep_last = 4;
  expect_equal(take(scene.admin().prune_executions("a", options)).executions, std::uint64_t{1}, "old, and not kept");
  expect_equal(executions(scene, "a"), Executions{2, 3, 4, 5}, "the executions that are left");
  options.keep_last = 1;
  expect_equal(take(scene.admin().prune_executions("a", options)).executions, std::uint64_t{1}, "old");
  expect_equal(executions(scene, "a"), Executions{3, 4, 5}, "the bound itself is not before the bound");
}

// An execution can be overtaken without an end: what nobody ended may still be wanted.
void what_never_ended_is_kept(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  const OrchestrationItem item = scene.wake("a");
  TurnCommit next = scene.first_commit_of(item);
  next.execution_id = 2;
  scene.ack(next);
  expect_equal(take(scene.admin().execution_info("a", 1)).status, ExecutionStatus::kRunning, "the status");
  expect_equal(take(scene.admin().prune_executions("a", {})).executions, std::uint64_t{0}, "executions pruned");
  expect_equal(executions(scene, "a"), Executions{1, 2}, "the executions that are left");
}

void pruning_finds_no_unknown_instances(ProviderFactory& factory) {
  Scene scene(factory);
  expect_error(scene.admin().prune_executions("a", {}), ProviderErrorKind::kNotFound);
  scene.enqueue_start("a");
  expect_error(scene.admin().prune_executions("a", {}), ProviderErrorKind::kNotFound);
}

void a_filter_chooses_the_instances(ProviderFactory& factory) {
  Scene scene(factory);
  for (const std::string id : {"a", "b", "c"}) create_with_executions(scene, id, 3);
  InstanceFilter filter;
  filter.ids = std::vector<std::string>{"a", "unknown", "c"};
  const PruneResult expected{.instances = 2, .executions = 4, .events = 8};
  expect(take(scene.admin().prune_matching(filter, {})) == expected, "the counts are others");
  expect_equal(executions(scene, "a"), Executions{3}, "executions of a");
  expect_equal(executions(scene, "b"), Executions{1, 2, 3}, "executions of b");
  expect_equal(executions(scene, "c"), Executions{3}, "executions of c");
  filter.ids = std::vector<std::string>{};
  expect(take(scene.admin().prune_matching(filter, {})) == PruneResult{}, "an empty list matches something");
}

void running_instances_are_pruned_too(ProviderFactory& factory) {
  Scene scene(factory);
  create_with_executions(scene, "running", 3);
  create_with_executions(scene, "ended", 2);
  scene.end("ended");
  scene.create_child("child", "running");
  scene.continue_as_new("child");
  const PruneResult expected{.instances = 3, .executions = 2 + 1 + 1, .events = 8};
  expect(take(scene.admin().prune_matching({}, {})) == expected, "the counts are others");
  expect_equal(executions(scene, "running"), Executions{3}, "executions of the running one");
  expect_equal(take(scene.admin().instance_info("running")).status, ExecutionStatus::kRunning, "its status");
  // The filter's bound is about the current execution, that of the options about the past.
  scene.continue_as_new("running");
  InstanceFilter completed;
  completed.completed_before = scene.now() + Milliseconds{1};
  expect_equal(take(scene.admin().prune_matching(completed, {})).instances, std::uint64_t{1}, "completed instances");
  expect_equal(executions(scene, "running"), Executions{3, 4}, "executions of the running one");
}

void pruning_up_to_a_limit_takes_the_oldest(ProviderFactory& factory) {
  Scene scene(factory);
  for (const std::string id : {"c", "b", "a"}) create_with_executions(scene, id, 2);
  expect_equal(take(scene.admin().prune_matching({}, {}, 2)).instances, std::uint64_t{2}, "instances");
  expect_equal(executions(scene, "c"), Executions{2}, "executions of the oldest");
  expect_equal(executions(scene, "b"), Executions{2}, "executions of the next");
  expect_equal(executions(scene, "a"), Executions{1, 2}, "executions of the youngest");
}

// Pruned instances must not keep later ones from being reached.
void repeated_calls_reach_everything(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("without a past");
  for (const std::string id : {"a", "b", "c"}) create_with_executions(scene, id, 3);
  scene.create("the youngest");
  const PruneOptions keep{.keep_last = 2, .completed_before = {}};
  const PruneResult first{.instances = 2, .executions = 1, .events = 2};
  expect(take(scene.admin().prune_matching({}, keep, 1)) == first, "the first call");
  expect_equal(take(scene.admin().prune_matching({}, keep, 1)).executions, std::uint64_t{1}, "the second call");
  expect_equal(take(scene.admin().prune_matching({}, keep, 1)).executions, std::uint64_t{1}, "the third call");
  for (const std::string id : {"a", "b", "c"}) expect_equal(executions(scene, id), Executions{2, 3}, "executions");
  const PruneResult last{.instances = 5, .executions = 0, .events = 0};
  expect(take(scene.admin().prune_matching({}, keep, 1)) == last, "the last call");
  expect(take(scene.admin().prune_matching({}, {}, 0)) == PruneResult{}, "a limit of none");
}

// The store lists the matching instances first. One that is replaced before its turn comes is another instance.
void a_replaced_instance_that_no_longer_matches_is_not_pruned(ProviderFactory& factory) {
  Scene scene(factory);
  std::vector<std::string> ids;
  for (int i = 0; i < 60; ++i) {
    ids.push_back("i" + std::to_string(i));
    create_with_executions(scene, ids.back(), 2);
    scene.end(ids.back(), ExecutionStatus::kFailed);
  }
  InstanceFilter failed;
  failed.statuses = {ExecutionStatus::kFailed};
  std::atomic<bool> is_pruned = false;
  in_parallel(2, [&](std::size_t thread) {
    if (thread == 0) {
      const ProviderResult<PruneResult> result = scene.admin().prune_matching(failed, {});
      is_pruned = true;
      take(result);
      return;
    }
    while (!is_pruned && executions(scene, ids.front()).size() == 2) std::this_thread::yield();
    take(scene.store().enqueue_start(start_message(ids.back()), StartPolicy::kReplaceIfTerminal));
    scene.ack(scene.first_commit_of(scene.fetch()));
    scene.continue_as_new(ids.back());
  });
  expect_equal(executions(scene, ids.back()), Executions{1, 2}, "executions of the new instance");
}

}  // namespace

ValidationTests prune_tests() {
  return {
      {"prune", "the_newest_are_kept", &the_newest_are_kept},
      {"prune", "the_current_one_is_always_kept", &the_current_one_is_always_kept},
      {"prune", "the_instance_goes_on", &the_instance_goes_on},
      {"prune", "only_old_ones_if_asked", &only_old_ones_if_asked},
      {"prune", "what_never_ended_is_kept", &what_never_ended_is_kept},
      {"prune", "unknown_instances_are_not_found", &pruning_finds_no_unknown_instances},
      {"prune", "a_filter_chooses_the_instances", &a_filter_chooses_the_instances},
      {"prune", "running_instances_are_pruned_too", &running_instances_are_pruned_too},
      {"prune", "a_limit_takes_the_oldest", &pruning_up_to_a_limit_takes_the_oldest},
      {"prune", "repeated_calls_reach_everything", &repeated_calls_reach_everything},
      {"prune", "a_replaced_instance_that_no_longer_matches_is_not_pruned",
       &a_replaced_instance_that_no_longer_matches_is_not_pruned},
  };
}

}  // namespace perdure::testing
