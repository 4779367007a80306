#include "cli/bench/measuring_store.h"

#include <algorithm>

namespace perdure::cli::bench {

MeasuringStore::Seen MeasuringStore::take() {
  const std::scoped_lock guard(committing_, mutex_);
  seen_.calls = calls_.exchange(0);
  return std::exchange(seen_, Seen());
}

void MeasuringStore::note_fetched(const OrchestrationBatch& batch) {
  // The store's own time would be a server's, and comes in whole milliseconds.
  const bool same_clock = inner().name() == "sqlite";
  const std::chrono::sys_time<std::chrono::microseconds> now =
      same_clock ? std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now())
                 : batch.now;
  const std::scoped_lock guard(mutex_);
  for (const OrchestrationItem& item : batch.items) {
    Locked locked{.instance = item.instance, .signals = {}};
    for (const QueuedMessage& message : item.messages) {
      if (message.record.kind == MessageKind::kQueueMessage) locked.signals.insert(message.id);
      if (message.record.kind != MessageKind::kTimerFired || !message.record.visible_at) continue;
      ++seen_.timers;
      const auto late = now - *message.record.visible_at;
      seen_.timer_lateness_us.push_back(static_cast<double>(std::max<std::int64_t>(0, late.count())));
    }
    locked_.insert_or_assign(item.token.value, std::move(locked));
  }
}

ProviderResult<OrchestrationBatch> MeasuringStore::fetch_orchestration_items(const OrchestrationFetch& fetch) {
  ++calls_;
  auto batch = ForwardingProvider::fetch_orchestration_items(fetch);
  if (batch) note_fetched(*batch);
  return batch;
}

void MeasuringStore::note_written(const TurnCommit& commit) {
  Written& written = seen_.written;
  ++written.turns;
  written.events += commit.events.size();
  for (const EventRecord& event : commit.events) written.event_bytes += event.body.size();
  for (const MessageRecord& activity : commit.activities) written.message_bytes += activity.body.size();
  for (const MessageRecord& message : commit.messages) written.message_bytes += message.body.size();
}

MeasuringStore::Committed MeasuringStore::note_committed(const TurnCommit& commit, Clock::time_point at) {
  const std::scoped_lock guard(mutex_);
  note_written(commit);
  const auto found = locked_.find(commit.token.value);
  if (found == locked_.end()) return {};
  Committed turn;
  turn.instance = found->second.instance;
  if (commit.status) turn.status = commit.status->status;
  turn.signals =
      static_cast<std::size_t>(std::count_if(commit.consumed.begin(), commit.consumed.end(),
                                             [&](MessageId id) { return found->second.signals.contains(id); }));
  if (!commit.keep_lock) locked_.erase(found);
  if (const auto [last, is_first] = last_commit_.try_emplace(turn.instance, at); !is_first) {
    seen_.turn_gaps_us.push_back(std::chrono::duration<double, std::micro>(at - last->second).count());
    last->second = at;
  }
  if (turn.status && is_terminal(*turn.status) && *turn.status != ExecutionStatus::kContinuedAsNew) {
    last_commit_.erase(turn.instance);
  }
  return turn;
}

std::vector<ProviderResult<CommitAnswer>> MeasuringStore::ack_orchestration_items(std::span<const TurnCommit> commits) {
  const std::shared_lock committing(committing_);
  ++calls_;
  auto answers = ForwardingProvider::ack_orchestration_items(commits);
  const auto at = Clock::now();
  for (std::size_t i = 0; i < commits.size(); ++i) {
    if (answers[i]) listener_(note_committed(commits[i], at));
  }
  return answers;
}

std::vector<ProviderResult<void>> MeasuringStore::abandon_orchestration_items(std::span<const Abandon> abandons) {
  ++calls_;
  return ForwardingProvider::abandon_orchestration_items(abandons);
}

std::vector<ProviderResult<Timestamp>> MeasuringStore::renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                                 Milliseconds extend_for) {
  ++calls_;
  return ForwardingProvider::renew_orchestration_locks(tokens, extend_for);
}

std::vector<ProviderResult<void>> MeasuringStore::enqueue_messages(std::span<const MessageRecord> messages) {
  ++calls_;
  {
    const std::scoped_lock guard(mutex_);
    for (const MessageRecord& message : messages) seen_.written.message_bytes += message.body.size();
  }
  return ForwardingProvider::enqueue_messages(messages);
}

ProviderResult<StartOutcome> MeasuringStore::enqueue_start(const MessageRecord& start, StartPolicy policy) {
  ++calls_;
  {
    const std::scoped_lock guard(mutex_);
    seen_.written.message_bytes += start.body.size();
  }
  return ForwardingProvider::enqueue_start(start, policy);
}

ProviderResult<WorkBatch> MeasuringStore::fetch_work_items(const WorkFetch& fetch) {
  ++calls_;
  return ForwardingProvider::fetch_work_items(fetch);
}

std::vector<ProviderResult<void>> MeasuringStore::ack_work_items(std::span<const WorkAck> acks) {
  ++calls_;
  {
    const std::scoped_lock guard(mutex_);
    for (const WorkAck& ack : acks) seen_.written.message_bytes += ack.completion ? ack.completion->body.size() : 0;
  }
  return ForwardingProvider::ack_work_items(acks);
}

std::vector<ProviderResult<void>> MeasuringStore::abandon_work_items(std::span<const Abandon> abandons) {
  ++calls_;
  return ForwardingProvider::abandon_work_items(abandons);
}

std::vector<ProviderResult<Timestamp>> MeasuringStore::renew_work_locks(std::span<const LockToken> tokens,
                                                                        Milliseconds extend_for) {
  ++calls_;
  return ForwardingProvider::renew_work_locks(tokens, extend_for);
}

ProviderResult<std::size_t> MeasuringStore::cleanup_sessions() {
  ++calls_;
  return ForwardingProvider::cleanup_sessions();
}

ProviderResult<std::optional<InstanceStatus>> MeasuringStore::read_status(const std::string& instance) {
  ++calls_;
  return ForwardingProvider::read_status(instance);
}

ProviderResult<bool> MeasuringStore::wait_for_work(const WorkWait& wait, Timestamp deadline) {
  ++calls_;
  return ForwardingProvider::wait_for_work(wait, deadline);
}

ProviderResult<bool> MeasuringStore::wait_for_change(const std::string& instance, const InstanceChange& change,
                                                     Timestamp deadline) {
  ++calls_;
  return ForwardingProvider::wait_for_change(instance, change, deadline);
}

}  // namespace perdure::cli::bench
