// An audit, and what a store that keeps its contract tells it first.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/simulation/audit.h"
#include "testing/validation/scene.h"

namespace perdure::testing::simulation {

inline constexpr Timestamp kNow{Milliseconds(1'000'000)};
inline constexpr Milliseconds kLock{5'000};

inline LockToken token(const std::string& value) {
  return {value};
}

// An instance as a store hands it out, with its start.
inline OrchestrationItem first_item(const std::string& lock = "t1", std::uint32_t attempt = 1) {
  OrchestrationItem item;
  item.instance = "a";
  item.token = token(lock);
  item.locked_until = kNow + kLock;
  item.attempt_count = attempt;
  item.messages = {{7, start_message("a")}};
  return item;
}

inline OrchestrationBatch batch_of(OrchestrationItem item, Timestamp now = kNow) {
  OrchestrationBatch batch;
  batch.now = now;
  batch.items.push_back(std::move(item));
  return batch;
}

inline TurnCommit first_commit(CommitId id = 1) {
  TurnCommit commit;
  commit.token = token("t1");
  commit.commit_id = id;
  commit.consumed = {7};
  commit.events = {event(1)};
  commit.started = StartedMetadata{.name = "Flow", .version = {}, .parent = {}, .pinned_version = {}};
  return commit;
}

inline CommitAnswer accepted() {
  CommitAnswer answer;
  answer.now = kNow;
  return answer;
}

class Audited : public ::testing::Test {
 protected:
  // The instance was started and fetched, as it should be.
  void fetch_first() {
    audit.started(start_message("a"), StartOutcome::kEnqueued, kNow);
    audit.fetched({}, batch_of(first_item()));
  }
  // Its first turn has scheduled activity 2.
  void commit_first() {
    fetch_first();
    TurnCommit commit = first_commit();
    commit.events.push_back(event(2));
    commit.activities = {activity("a", 2)};
    audit.committed(commit, accepted(), kNow);
  }
  WorkBatch work(const std::string& lock, std::uint32_t attempt, Timestamp now = kNow) {
    WorkItem item;
    item.token = token(lock);
    item.locked_until = now + kLock;
    item.attempt_count = attempt;
    item.record = activity("a", 2);
    WorkBatch batch;
    batch.now = now;
    batch.items.push_back(std::move(item));
    return batch;
  }
  void expect_problem(const std::string& text) {
    EXPECT_THAT(audit.problems(), ::testing::ElementsAre(::testing::HasSubstr(text)));
  }

  Audit audit;
};

}  // namespace perdure::testing::simulation
