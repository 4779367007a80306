// NodeStore: the store as one node, or the client, of a simulated cluster reaches it: over a line that can fail.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/testing/forwarding_provider.h>
#include "testing/simulation/fault.h"

namespace perdure::testing::simulation {

// What becomes of a call.
enum class Mishap : std::uint8_t {
  kNone,
  kUnavailable,     // nothing was done; worth another try
  kFailed,          // nothing was done; not worth another try
  kAnswerLost,      // it was done, and the caller hears that the store is not available
  kCarriedOutTwice  // the second answer comes back
};

[[nodiscard]] std::string_view describe(Mishap mishap) noexcept;

// Of the next call of a client, after a fault that strikes clients.
[[nodiscard]] inline Mishap mishap_of_client(Fault fault) noexcept {
  if (fault == Fault::kStoreError) return Mishap::kUnavailable;
  return fault == Fault::kRepeated ? Mishap::kCarriedOutTwice : Mishap::kAnswerLost;
}

// Which calls a store in an outage refuses, with an error that looks permanent.
enum class Refusal : std::uint8_t {
  kNone,
  kSomeCommits,  // some turns and outcomes, while the store accepts all others
  kReads,        // of histories
  kTurns,        // one table cannot grow
  kOutcomes,     // another one
  kCommits,      // turns and outcomes: a full volume
  kChanges,      // everything but fetches and reads
  kAll,
};

// Receives what the audit of a store cannot observe.
struct NodeWitness {
  // The turn or the outcome under this token did not reach the store, or its answer did not reach the node.
  std::function<void(const LockToken& token)> failed;
  std::function<void(std::string text)> problem;
};

class NodeStore final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  // Of the next call.
  void set_mishap(Mishap mishap) noexcept { mishap_ = mishap; }
  // Of every call, as long as it lasts: nothing is done.
  void set_reachable(bool reachable) noexcept { reachable_ = reachable; }
  void set_refusal(Refusal refusal) noexcept { refusal_ = refusal; }
  void set_witness(NodeWitness witness) { witness_ = std::move(witness); }
  // The node may not know of earlier failures.
  void hinder() noexcept { failing_since_.reset(); }
  // When the store last did something that the caller cannot know, or the caller was told not to try again.
  [[nodiscard]] Timestamp misled_at() const noexcept { return misled_at_; }

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override;
  ProviderResult<StoredHistory> read_history(const LockToken& token, EventId after) override;
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override;
  std::vector<ProviderResult<void>> abandon_orchestration_items(std::span<const Abandon> abandons) override;
  std::vector<ProviderResult<Timestamp>> renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                   Milliseconds extend_for) override;
  std::vector<ProviderResult<void>> enqueue_messages(std::span<const MessageRecord> messages) override;
  ProviderResult<StartOutcome> enqueue_start(const MessageRecord& start, StartPolicy policy) override;
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override;
  std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> acks) override;
  std::vector<ProviderResult<void>> abandon_work_items(std::span<const Abandon> abandons) override;
  std::vector<ProviderResult<Timestamp>> renew_work_locks(std::span<const LockToken> tokens,
                                                          Milliseconds extend_for) override;
  std::vector<ProviderResult<Timestamp>> heartbeat(std::span<const Heartbeat> heartbeats) override;
  ProviderResult<std::size_t> renew_sessions(std::span<const std::string> owners, Milliseconds extend_for,
                                             Milliseconds idle_timeout) override;
  ProviderResult<std::size_t> cleanup_sessions() override;
  ProviderResult<std::optional<InstanceStatus>> read_status(const std::string& instance) override;
  ProviderResult<bool> wait_for_work(const WorkWait& wait, Timestamp deadline) override;

 private:
  [[nodiscard]] Mishap take_mishap();
  // A node whose turns the store does not take asks for one item at a time.
  void check_probe(std::size_t limit);
  void note_failures(std::span<const TurnCommit> commits, const std::vector<ProviderResult<CommitAnswer>>& answers);
  // `refused_from`: the least outage in which the call fails, besides one of this call `alone`.
  template <class Call>
  auto one(Call call, Refusal refused_from = Refusal::kAll, Refusal alone = Refusal::kAll) -> decltype(call());
  template <class Call>
  auto batch(std::size_t size, Call call, Refusal refused_from = Refusal::kAll, Refusal alone = Refusal::kAll)
      -> decltype(call());
  [[nodiscard]] bool refuses(Refusal refused_from, Refusal alone) const noexcept {
    return refusal_ >= refused_from || refusal_ == alone;
  }

  Mishap mishap_ = Mishap::kNone;
  bool reachable_ = true;
  Refusal refusal_ = Refusal::kNone;
  Timestamp misled_at_ = Timestamp::min();
  std::optional<Timestamp> failing_since_;  // no turn was taken since then
  std::set<std::string> unread_;            // tokens of histories whose last read failed
  NodeWitness witness_;
};

}  // namespace perdure::testing::simulation
