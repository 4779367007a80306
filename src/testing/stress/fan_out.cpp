#include "testing/stress/fan_out.h"

#include "testing/validation/scene.h"

namespace perdure::testing::stress {

namespace {

void schedule_all(TurnCommit& commit, const OrchestrationItem& item, std::size_t fan_out) {
  commit.started.emplace();
  commit.started->name = "FanOut";
  commit.events.push_back(started_event("FanOut"));
  for (EventId id = 2; id < 2 + fan_out; ++id) {
    commit.events.push_back(event(id, "ProcessTask"));
    commit.activities.push_back(activity(item.instance, id, "ProcessTask"));
  }
}

}  // namespace

std::string instance_name(std::size_t number) {
  return "stress-" + std::to_string(number);
}

TurnCommit next_turn(const OrchestrationItem& item, std::size_t fan_out, CommitId commit_id) {
  TurnCommit commit;
  commit.token = item.token;
  commit.commit_id = commit_id;
  commit.execution_id = item.execution_id;
  EventId last = item.last_event_id;
  for (const QueuedMessage& message : item.messages) {
    commit.consumed.push_back(message.id);
    if (begins_execution(message.record.kind) && last == 0) {
      schedule_all(commit, item, fan_out);
      last = commit.events.back().event_id;
    } else if (completes_activity(message.record.kind)) {
      commit.events.push_back(event(++last, "completed"));
    }
  }
  if (last + 1 == events_of_completed(fan_out)) {
    commit.events.push_back(event(++last, "done"));
    commit.status = StatusChange{.status = ExecutionStatus::kCompleted, .output = "\"done\""};
  }
  return commit;
}

}  // namespace perdure::testing::stress
