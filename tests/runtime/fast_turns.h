// The orchestration dispatcher with the fast path, in the hands of a test that plays the worker and the store.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/orchestration_dispatch.h"

namespace perdure::test {

// What a turn decides beside its one event.
struct Decides {
  std::vector<EventId> activities = {};
  std::vector<EventId> cancelled = {};
  std::optional<ExecutionStatus> status = std::nullopt;
  std::string activity_name = "Work";
};

class FastTurns : public DispatchOrchestrations {
 protected:
  FastTurns() {
    options.fast_path = true;
    capabilities.fast_path = true;
    places = std::make_shared<WorkPlaces>(WorkFetch(), [](const std::string& name) { return name != "Unknown"; });
    places->publish(2, true);
  }

  // Its next turn, which must want to run now.
  TurnTask begin_turn() {
    auto [id, body] = take<orchestration::RunTurn>();
    turn = id;
    return std::move(body.task);
  }
  void decide(const TurnTask& task, const Decides& decides = {}) {
    TurnCommit commit;
    commit.token = task.item.token;
    commit.commit_id = task.commit_id;
    commit.execution_id = task.item.execution_id;
    const EventId event = task.item.last_event_id + 1;
    commit.events = {EventRecord{.event_id = event, .kind = 1, .turn = 1, .time = now, .body = ""}};
    if (!task.item.metadata) commit.started.emplace().name = "Flow";
    for (const QueuedMessage& message : task.item.messages) commit.consumed.push_back(message.id);
    for (const LocalCompletion& completion : task.completions) commit.completed_work.push_back(completion.work);
    for (const EventId id : decides.activities) {
      MessageRecord activity;
      activity.kind = MessageKind::kExecuteActivity;
      activity.instance = task.item.instance;
      activity.execution = task.item.execution_id;
      activity.activity_id = id;
      activity.name = decides.activity_name;
      commit.activities.push_back(activity);
    }
    commit.cancelled_activities = decides.cancelled;
    TurnDecision decision{.action = {}, .kept = {}, .report = {}};
    if (decides.status) {
      commit.status = StatusChange{.status = *decides.status, .output = {}};
    } else {
      decision.kept = KeptExecution{.incarnation = task.item.metadata ? task.item.incarnation : task.commit_id,
                                    .id = task.item.execution_id,
                                    .started_at = now,
                                    .code = std::make_unique<FakeExecution>(event)};
    }
    decision.action = std::move(commit);
    answer(turn, std::move(decision));
  }
  TurnTask run(const Decides& decides = {}) {
    TurnTask task = begin_turn();
    decide(task, decides);
    return task;
  }
  // The one commit that is wanted.
  TurnCommit committing() {
    auto [id, body] = take<orchestration::Commit>();
    EXPECT_EQ(body.commits->size(), 1U);
    commit_request = id;
    return body.commits->front();
  }
  void committed(ProviderResult<CommitAnswer> outcome = CommitAnswer()) {
    answer(commit_request, std::vector<ProviderResult<CommitAnswer>>{std::move(outcome)});
  }
  // The store's answer to a commit that got everything it asked for.
  [[nodiscard]] CommitAnswer granted(const TurnCommit& commit) const {
    CommitAnswer granted;
    granted.now = now;
    if (commit.keep_lock) granted.locked_until = now + *commit.keep_lock;
    for (std::size_t i = 0; commit.claim && i < std::min(commit.claim->limit, commit.activities.size()); ++i) {
      granted.claimed.push_back({i, work_token(commit.activities[i].activity_id), now + Milliseconds(30'000)});
    }
    return granted;
  }
  // A new instance whose first turn schedules these activities, which are claimed. The worker takes them.
  void hold(const std::string& instance = "i", const std::vector<EventId>& activities = {2}) {
    fetch(item(instance));
    run({.activities = activities});
    const TurnCommit commit = committing();
    first_commit = commit.commit_id;
    incarnations[instance] = commit.commit_id;
    committed(granted(commit));
    OrchestrationEffects effects = dispatcher().take_effects();
    ASSERT_EQ(effects.claimed.size(), activities.size());
    places->release(activities.size());
  }
  // The wait for work is over, and this is what is fetched.
  void bring(OrchestrationItem brought) {
    if (count<orchestration::Fetch>() == 0) answer(take<orchestration::Await>().first, ProviderResult<bool>(true));
    fetch(std::move(brought));
  }
  // A fetch that is in progress while something else happens.
  auto begin_fetch() {
    if (count<orchestration::Fetch>() == 0) answer(take<orchestration::Await>().first, ProviderResult<bool>(true));
    return take<orchestration::Fetch>().first;
  }
  template <class Id>
  void end_fetch(Id id, OrchestrationItem brought) {
    OrchestrationBatch batch{.now = now, .items = {}};
    batch.items.push_back(std::move(brought));
    answer(id, ProviderResult<OrchestrationBatch>(std::move(batch)));
  }
  static LockToken work_token(EventId activity) { return {"work " + std::to_string(activity)}; }
  // The run of an activity has its number.
  void offer(EventId activity, const std::string& instance = "i") {
    LocalCompletion completion;
    completion.run = activity;
    completion.work = work_token(activity);
    completion.incarnation = incarnations[instance];
    completion.activity_id = activity;
    completion.message.kind = MessageKind::kActivityCompleted;
    completion.message.instance = instance;
    completion.message.execution = ExecutionId{1};
    NewsForTurns news;
    news.offered.push_back(completion);
    dispatcher().hear(std::move(news), now);
  }
  void over(EventId activity, const std::string& instance = "i") {
    NewsForTurns news;
    news.over.push_back(
        {.instance = instance, .incarnation = incarnations[instance], .execution = 1, .activity_id = activity});
    dispatcher().hear(std::move(news), now);
  }
  // "7 settled", "8 declined"
  std::vector<std::string> verdicts() {
    std::vector<std::string> texts;
    for (const runtime::Verdict& verdict : dispatcher().take_effects().verdicts) {
      texts.push_back(std::to_string(verdict.run) + (verdict.settled ? " settled" : " declined"));
    }
    return texts;
  }
  static std::vector<EventId> completed(const TurnTask& task) {
    std::vector<EventId> ids;
    for (const LocalCompletion& completion : task.completions) ids.push_back(completion.activity_id);
    return ids;
  }
  // The held instance as its owner fetches it when a message has come.
  [[nodiscard]] OrchestrationItem fetched_anew(EventId last_event, const std::string& instance = "i") {
    OrchestrationItem anew = item(instance, last_event);
    anew.token = {"new token of " + instance};
    anew.incarnation = first_commit;
    anew.messages.emplace_back().id = 7;
    anew.messages.back().record.instance = instance;
    return anew;
  }

  RequestId turn = 0;
  RequestId commit_request = 0;
  std::uint64_t first_commit = 0;                     // of the instance that is held
  std::map<std::string, std::uint64_t> incarnations;  // of all that were held
};

}  // namespace perdure::test
