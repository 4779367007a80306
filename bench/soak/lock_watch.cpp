#include "lock_watch.h"

#include <utility>

namespace perdure::soak {

namespace {

constexpr std::size_t kLocksBetweenSweeps = 1'000;

std::string subject_of(const MessageRecord& activity) {
  return "activity " + std::to_string(activity.activity_id) + " of " + activity.instance + " in execution " +
         std::to_string(activity.execution.value_or(0));
}

}  // namespace

std::vector<std::string> LockWatch::violations() const {
  const std::scoped_lock guard(mutex_);
  return violations_;
}

std::size_t LockWatch::locks() const {
  const std::scoped_lock guard(mutex_);
  return locks_;
}

ProviderResult<OrchestrationBatch> LockWatch::fetch_orchestration_items(const OrchestrationFetch& fetch) {
  auto batch = ForwardingProvider::fetch_orchestration_items(fetch);
  if (!batch) return batch;
  for (const OrchestrationItem& item : batch->items) {
    lock("instance " + item.instance, item.token, item.locked_until, batch->now);
  }
  return batch;
}

std::vector<ProviderResult<CommitAnswer>> LockWatch::ack_orchestration_items(std::span<const TurnCommit> commits) {
  return release(commits, [this](auto all) { return ForwardingProvider::ack_orchestration_items(all); });
}

std::vector<ProviderResult<void>> LockWatch::abandon_orchestration_items(std::span<const Abandon> abandons) {
  return release(abandons, [this](auto all) { return ForwardingProvider::abandon_orchestration_items(all); });
}

std::vector<ProviderResult<Timestamp>> LockWatch::renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                            Milliseconds extend_for) {
  auto answers = ForwardingProvider::renew_orchestration_locks(tokens, extend_for);
  for (std::size_t i = 0; i < tokens.size(); ++i) extend(tokens[i], answers[i]);
  return answers;
}

ProviderResult<WorkBatch> LockWatch::fetch_work_items(const WorkFetch& fetch) {
  auto batch = ForwardingProvider::fetch_work_items(fetch);
  if (!batch) return batch;
  for (const WorkItem& item : batch->items) lock(subject_of(item.record), item.token, item.locked_until, batch->now);
  return batch;
}

std::vector<ProviderResult<void>> LockWatch::ack_work_items(std::span<const WorkAck> acks) {
  return release(acks, [this](auto all) { return ForwardingProvider::ack_work_items(all); });
}

std::vector<ProviderResult<void>> LockWatch::abandon_work_items(std::span<const Abandon> abandons) {
  return release(abandons, [this](auto all) { return ForwardingProvider::abandon_work_items(all); });
}

std::vector<ProviderResult<Timestamp>> LockWatch::renew_work_locks(std::span<const LockToken> tokens,
                                                                   Milliseconds extend_for) {
  auto answers = ForwardingProvider::renew_work_locks(tokens, extend_for);
  for (std::size_t i = 0; i < tokens.size(); ++i) extend(tokens[i], answers[i]);
  return answers;
}

std::vector<ProviderResult<Timestamp>> LockWatch::heartbeat(std::span<const Heartbeat> heartbeats) {
  auto answers = ForwardingProvider::heartbeat(heartbeats);
  for (std::size_t i = 0; i < heartbeats.size(); ++i) extend(heartbeats[i].token, answers[i]);
  return answers;
}

void LockWatch::lock(const std::string& subject, const LockToken& token, Timestamp until, Timestamp now) {
  const std::scoped_lock guard(mutex_);
  ++locks_;
  if (locks_ % kLocksBetweenSweeps == 0) forget_expired(now);
  const auto known = held_.find(subject);
  if (known != held_.end()) {
    if (!known->second.released && known->second.until > now) {
      violations_.push_back(subject + " was locked again " + std::to_string((known->second.until - now).count()) +
                            " ms before its lock ended");
    }
    subjects_.erase(known->second.token);
    held_.erase(known);
  }
  held_.emplace(subject, Held{token.value, until});
  subjects_.emplace(token.value, subject);
}

void LockWatch::extend(const LockToken& token, const ProviderResult<Timestamp>& until) {
  if (!until) return;
  const std::scoped_lock guard(mutex_);
  if (const auto subject = subjects_.find(token.value); subject != subjects_.end()) {
    held_.at(subject->second).until = *until;
  }
}

void LockWatch::set_released(const LockToken& token, bool released) {
  const std::scoped_lock guard(mutex_);
  if (const auto subject = subjects_.find(token.value); subject != subjects_.end()) {
    held_.at(subject->second).released = released;
  }
}

void LockWatch::forget(const LockToken& token) {
  const std::scoped_lock guard(mutex_);
  const auto subject = subjects_.find(token.value);
  if (subject == subjects_.end()) return;
  held_.erase(subject->second);
  subjects_.erase(subject);
}

// What was withdrawn or deleted while somebody had it is never released.
void LockWatch::forget_expired(Timestamp now) {
  std::erase_if(held_, [&](const auto& entry) {
    if (entry.second.until > now) return false;
    subjects_.erase(entry.second.token);
    return true;
  });
}

}  // namespace perdure::soak
