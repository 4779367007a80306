// MeasuringStore: the store of a run, and what can be seen of the run there: what is written, when the turns of each
// workflow are committed, and when a workflow has ended.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <perdure/testing/forwarding_provider.h>

namespace perdure::cli::bench {

class MeasuringStore final : public testing::ForwardingProvider {
 public:
  using Clock = std::chrono::steady_clock;

  struct Committed {
    std::string instance;
    std::optional<ExecutionStatus> status;  // if it has changed
    std::size_t signals = 0;                // that the turn has consumed
  };
  // Called for each turn, on the thread that has committed it.
  using Listener = std::function<void(const Committed& turn)>;

  // Bodies of events, activities and messages, as the engine and the client hand them to the store.
  struct Written {
    std::uint64_t turns = 0;
    std::uint64_t events = 0;
    std::uint64_t event_bytes = 0;
    std::uint64_t message_bytes = 0;  // activities as well
    [[nodiscard]] std::uint64_t bytes() const noexcept { return event_bytes + message_bytes; }
  };

  struct Seen {
    Written written;
    std::uint64_t calls = 0;  // of the engine and the client
    std::uint64_t timers = 0;
    std::vector<double> turn_gaps_us;       // between the commits of a workflow's consecutive turns
    std::vector<double> timer_lateness_us;  // from when it was due until it was fetched
  };

  MeasuringStore(std::shared_ptr<Provider> inner, Listener listener)
      : ForwardingProvider(std::move(inner)), listener_(std::move(listener)) {}

  // What was seen since the last time. Turns that are being committed are waited for: whoever saw a workflow end in the
  // store finds its last turn here.
  [[nodiscard]] Seen take();

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override;
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
  ProviderResult<std::size_t> cleanup_sessions() override;
  ProviderResult<std::optional<InstanceStatus>> read_status(const std::string& instance) override;
  ProviderResult<bool> wait_for_work(const WorkWait& wait, Timestamp deadline) override;
  ProviderResult<bool> wait_for_change(const std::string& instance, const InstanceChange& change,
                                       Timestamp deadline) override;

 private:
  // An instance that is locked, as its token names it.
  struct Locked {
    std::string instance;
    std::unordered_set<MessageId> signals;  // that it was fetched with
  };

  void note_fetched(const OrchestrationBatch& batch);
  void note_written(const TurnCommit& commit);
  [[nodiscard]] Committed note_committed(const TurnCommit& commit, Clock::time_point at);

  Listener listener_;
  std::shared_mutex committing_;  // shared by those who commit
  std::atomic<std::uint64_t> calls_ = 0;
  std::mutex mutex_;
  Seen seen_;
  std::unordered_map<std::string, Locked> locked_;
  std::unordered_map<std::string, Clock::time_point> last_commit_;  // by instance
};

}  // namespace perdure::cli::bench
