// The orchestration dispatcher in the hands of a test, which carries out what it wants.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/orchestration_dispatcher.h"

namespace perdure::test {

using namespace perdure::runtime;  // NOLINT: the parts are what these tests are about

inline constexpr Timestamp kStart{Milliseconds(1'700'000'000'000)};

class FakeExecution final : public OpenExecution {
 public:
  explicit FakeExecution(EventId last) : last_(last) {}
  void catch_up(std::span<const Event>) override {}
  TurnOutcome run_turn(const TurnRequest&) override { return {}; }
  EventId last_event_id() const override { return last_; }
  const std::optional<ErrorDetails>& failure() const override { return failure_; }
  std::size_t memory_bytes() const override { return 100; }

 private:
  EventId last_;
  std::optional<ErrorDetails> failure_;
};

class DispatchOrchestrations : public ::testing::Test {
 protected:
  OrchestrationDispatcher& dispatcher() {
    if (!made) made.emplace(options, capabilities, "node", CapabilityFilter(), RandomIds(1), places, health);
    return *made;
  }
  // Asks for everything that is wanted at this time. Without a want there must be a time to rest until, or its threads
  // would go round and round.
  void collect() {
    while (auto wanted = dispatcher().next(now)) open.push_back(std::move(*wanted));
    EXPECT_GT(dispatcher().wake_at(), now);
  }
  template <class Body>
  std::size_t count() {
    collect();
    return static_cast<std::size_t>(std::count_if(open.begin(), open.end(), [](const orchestration::Request& each) {
      return std::holds_alternative<Body>(each.body);
    }));
  }
  // The oldest request of that kind, which has to be there.
  template <class Body>
  std::pair<RequestId, Body> take() {
    collect();
    for (auto each = open.begin(); each != open.end(); ++each) {
      if (auto* body = std::get_if<Body>(&each->body)) {
        std::pair<RequestId, Body> found{each->id, std::move(*body)};
        open.erase(each);
        return found;
      }
    }
    throw std::logic_error("the dispatcher does not want this");
  }
  void answer(RequestId id, orchestration::Answer what) { dispatcher().answer(id, std::move(what), now); }

  [[nodiscard]] OrchestrationItem item(const std::string& instance, EventId last_event = 0, std::uint32_t attempt = 1) {
    OrchestrationItem made_item;
    made_item.instance = instance;
    made_item.token = {"token of " + instance};
    made_item.locked_until = now + options.orchestrator_lock_timeout;
    made_item.attempt_count = attempt;
    made_item.last_event_id = last_event;
    if (last_event > 0)
      made_item.metadata = InstanceMetadata{.name = "Flow", .version = {}, .parent = {}, .pinned_version = {}};
    return made_item;
  }
  template <class... Items>
  void fetch(Items... items) {
    OrchestrationBatch batch{.now = now, .items = {}};
    (batch.items.push_back(std::move(items)), ...);
    answer(take<orchestration::Fetch>().first, ProviderResult<OrchestrationBatch>(std::move(batch)));
  }
  // Lets the next turn that wants to run decide on a commit.
  TurnCommit run(std::vector<EventId> cancelled = {}, std::optional<EventId> keep_at = std::nullopt) {
    auto [id, body] = take<orchestration::RunTurn>();
    TurnCommit commit;
    commit.token = body.task.item.token;
    commit.commit_id = body.task.commit_id;
    commit.execution_id = body.task.item.execution_id;
    commit.cancelled_activities = std::move(cancelled);
    TurnDecision decision{.action = commit, .kept = {}, .report = {}};
    if (keep_at) decision.kept = KeptExecution{.code = std::make_unique<FakeExecution>(*keep_at)};
    answer(id, std::move(decision));
    return commit;
  }
  void commit(ProviderResult<CommitAnswer> outcome = CommitAnswer()) {
    auto [id, body] = take<orchestration::Commit>();
    answer(id, std::vector<ProviderResult<CommitAnswer>>(body.commits->size(), outcome));
  }
  std::vector<Abandon> give_back() {
    auto [id, body] = take<orchestration::GiveBack>();
    answer(id, std::vector<ProviderResult<void>>(body.abandons.size()));
    return body.abandons;
  }
  static ProviderError error(ProviderErrorKind kind) { return {kind, "no luck"}; }

  RuntimeOptions options;
  Capabilities capabilities{.wake_ups = true};
  std::shared_ptr<WorkPlaces> places;   // of a worker beside it
  std::shared_ptr<StoreHealth> health;  // one of its own unless set
  Timestamp now = kStart;
  std::deque<orchestration::Request> open;

 private:
  std::optional<OrchestrationDispatcher> made;
};

}  // namespace perdure::test
