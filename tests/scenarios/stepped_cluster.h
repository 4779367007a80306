// SteppedCluster: stepped nodes on one store, each of which may see it through a provider of its own: one that ignores
// filters, damages what it delivers, or just keeps a record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include <perdure/testing/forwarding_provider.h>
#include "scenarios/world.h"
#include "scenarios/world_store.h"
#include "support/dice.h"
#include "testing/simulation/stepped_node.h"

namespace perdure::test {

// Keeps a record of what a node got from the store and gave back.
class Watch final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  struct Fetched {
    std::string instance;  // of an activity: its name
    std::uint32_t attempt = 0;
    std::size_t together = 0;  // items of the same fetch
    Timestamp at{};
  };
  std::vector<Fetched> instances;
  std::vector<Fetched> activities;
  std::vector<Abandon> abandons;  // of instances

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override;
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override;
  // What it claims counts as fetched.
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override;
  std::vector<ProviderResult<void>> abandon_orchestration_items(std::span<const Abandon> abandoned) override;

  // Attempts that it was fetched with, in order.
  [[nodiscard]] std::vector<std::uint32_t> attempts(const std::string& instance) const;
};

class SteppedCluster {
 public:
  using Node = testing::SteppedNode;

  explicit SteppedCluster(const WorldKind& kind);

  // Without a view it sees the store itself.
  Node& start_node(const Registry& registry, RuntimeOptions options = {}, std::shared_ptr<Provider> view = nullptr);
  // Lets it finish what it has begun.
  void stop_node(Node& node);
  // As if its process had died: what it holds stays locked.
  void kill_node(Node& node);

  // One thing at a time: false when there is nothing to do at this time.
  bool step();
  void settle();
  // Settles, moves the clock, settles.
  void advance(Milliseconds by);
  // Moves the clock amid everything.
  void jump(Milliseconds by) { store_.advance(by); }
  // Steps until `reached` holds, at this time. Fails the test if there is nothing left to do.
  template <class Predicate>
  bool step_until(Predicate reached) {
    while (!reached()) {
      if (!step()) {
        ADD_FAILURE() << "nothing is left to do";
        return false;
      }
    }
    return true;
  }
  // Settles in steps of a second, at most an hour. Fails the test if it has not ended then.
  OrchestrationStatus wait(const std::string& instance);

  [[nodiscard]] const Client& client() const { return client_; }
  [[nodiscard]] const std::shared_ptr<Provider>& store() const { return store_.provider(); }
  [[nodiscard]] std::shared_ptr<Watch> watched() const { return std::make_shared<Watch>(store()); }
  [[nodiscard]] Timestamp now() const { return store_.clock()->now(); }
  [[nodiscard]] CapturingLogSink& log() const { return *log_; }
  [[nodiscard]] CapturingMetrics& metrics() const { return *metrics_; }

  [[nodiscard]] OrchestrationState state(const std::string& instance) const {
    return client_.get_orchestration_status(instance).state;
  }
  [[nodiscard]] std::vector<std::string> event_kinds(const std::string& instance) const;
  [[nodiscard]] std::vector<CapturedLogRecord> warnings() const;

  // ---- what nobody should do to a store ----

  // Spoils every event of the current execution.
  void damage_history(const std::string& instance);
  // An event of a kind that this engine does not know, behind what is there.
  void append_unknown_event(const std::string& instance);

 private:
  std::shared_ptr<CapturingLogSink> log_;
  std::shared_ptr<CapturingMetrics> metrics_;
  WorldStore store_;
  Client client_;
  Dice dice_;
  bool cache_;
  bool fast_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::uint64_t next_seed_;
};

// A test that holds for every seed and store.
class InEveryCluster : public ::testing::TestWithParam<WorldKind> {
 protected:
  SteppedCluster cluster{GetParam()};
};

#define PERDURE_IN_EVERY_CLUSTER(suite)                                                           \
  INSTANTIATE_TEST_SUITE_P(Worlds, suite, ::testing::ValuesIn(::perdure::test::stepped_worlds()), \
                           [](const auto& world) { return world.param.name(); })

}  // namespace perdure::test
