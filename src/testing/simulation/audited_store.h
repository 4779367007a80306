// AuditedStore: the store of a simulated cluster, with an audit beside it. All nodes and the client reach the store
// through it. Rows of it can be damaged.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <perdure/testing/forwarding_provider.h>
#include "testing/dice.h"
#include "testing/simulation/audit.h"
#include "testing/simulation/run_log.h"

namespace perdure::testing::simulation {

class AuditedStore final : public ForwardingProvider {
 public:
  AuditedStore(std::shared_ptr<Provider> store, RunLog& log) : ForwardingProvider(std::move(store)), log_(log) {}

  [[nodiscard]] const Audit& audit() const noexcept { return audit_; }
  void set_excuse(Audit::Excuse excuse) { audit_.set_excuse(std::move(excuse)); }
  // The clock was set forward.
  void extend_locks(Timestamp then, Milliseconds by) { audit_.extend_locks(then, by); }
  void set_session_idle(Milliseconds idle) { audit_.set_session_idle(idle); }
  void failed(const LockToken& token) { audit_.failed(token); }
  void report(std::string text) { audit_.report(std::move(text)); }
  void check_sessions() { audit_.check_sessions(now()); }
  // From now on this event reads as bytes that mean nothing.
  void damage(const std::string& instance, ExecutionId execution, EventId event);
  // The same with one of all events. Returns which; absent: there is none.
  std::optional<std::string> damage_one(Dice& dice);
  // Instances with damage that somebody has read.
  [[nodiscard]] const std::set<std::string>& read_damage() const noexcept { return read_damage_; }
  // Children of which only events tell that are damaged.
  [[nodiscard]] std::vector<std::string> lost_children() const;
  // A client may have deleted something: looks what is gone.
  void notice_deletions();
  // Nobody has deleted anything since the last call of notice_deletions.
  void check_orphans();

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

 private:
  // Ids without an instance for which the store has lost, or deleted, all messages.
  [[nodiscard]] std::vector<std::string> emptied_orphans();
  void spoil(const std::string& instance, ExecutionId execution, StoredHistory& history);
  void log_commit(const TurnCommit& commit, const ProviderResult<CommitAnswer>& answer);
  void say(const std::string& text) { log_.add(now(), text); }

  RunLog& log_;
  Audit audit_;
  std::set<std::tuple<std::string, ExecutionId, EventId>> damaged_;
  std::set<std::string> read_damage_;
};

}  // namespace perdure::testing::simulation
