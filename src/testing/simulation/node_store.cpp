#include "testing/simulation/node_store.h"

#include <utility>

namespace perdure::testing::simulation {

namespace {

ProviderError unavailable() {
  return {ProviderErrorKind::kUnavailable, "the line to the store is broken"};
}

ProviderError failed() {
  return {ProviderErrorKind::kStoreFailed, "the store has failed"};
}

}  // namespace

Mishap NodeStore::take_mishap() {
  const Mishap mishap = std::exchange(mishap_, Mishap::kNone);
  if (mishap != Mishap::kNone && mishap != Mishap::kUnavailable) misled_at_ = inner().now();
  return mishap;
}

template <class Call>
auto NodeStore::one(Call call) -> decltype(call()) {
  const Mishap mishap = take_mishap();
  if (!reachable_ || mishap == Mishap::kUnavailable) return unavailable();
  if (mishap == Mishap::kFailed) return failed();
  auto answer = call();
  if (mishap == Mishap::kAnswerLost) return unavailable();
  return mishap == Mishap::kCarriedOutTwice ? call() : std::move(answer);
}

template <class Call>
auto NodeStore::batch(std::size_t size, Call call) -> decltype(call()) {
  using Answers = decltype(call());
  const auto all = [size](const ProviderError& error) { return Answers(size, typename Answers::value_type(error)); };
  const Mishap mishap = take_mishap();
  if (!reachable_ || mishap == Mishap::kUnavailable) return all(unavailable());
  if (mishap == Mishap::kFailed) return all(failed());
  auto answers = call();
  if (mishap == Mishap::kAnswerLost) return all(unavailable());
  return mishap == Mishap::kCarriedOutTwice ? call() : std::move(answers);
}

ProviderResult<OrchestrationBatch> NodeStore::fetch_orchestration_items(const OrchestrationFetch& fetch) {
  return one([&] { return inner().fetch_orchestration_items(fetch); });
}

ProviderResult<StoredHistory> NodeStore::read_history(const LockToken& token, EventId after) {
  return one([&] { return inner().read_history(token, after); });
}

std::vector<ProviderResult<CommitAnswer>> NodeStore::ack_orchestration_items(std::span<const TurnCommit> commits) {
  // A commit that comes again is answered as it was the first time, so whoever commits misses nothing.
  const bool can_be_heard_again = mishap_ == Mishap::kAnswerLost || mishap_ == Mishap::kCarriedOutTwice;
  const Timestamp misled_before = misled_at_;
  auto answers = batch(commits.size(), [&] { return inner().ack_orchestration_items(commits); });
  if (can_be_heard_again) misled_at_ = misled_before;
  return answers;
}

std::vector<ProviderResult<void>> NodeStore::abandon_orchestration_items(std::span<const Abandon> abandons) {
  if (mishap_ != Mishap::kNone) misled_at_ = inner().now();
  return batch(abandons.size(), [&] { return inner().abandon_orchestration_items(abandons); });
}

std::vector<ProviderResult<Timestamp>> NodeStore::renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                            Milliseconds extend_for) {
  return batch(tokens.size(), [&] { return inner().renew_orchestration_locks(tokens, extend_for); });
}

std::vector<ProviderResult<void>> NodeStore::enqueue_messages(std::span<const MessageRecord> messages) {
  return batch(messages.size(), [&] { return inner().enqueue_messages(messages); });
}

ProviderResult<StartOutcome> NodeStore::enqueue_start(const MessageRecord& start, StartPolicy policy) {
  return one([&] { return inner().enqueue_start(start, policy); });
}

ProviderResult<WorkBatch> NodeStore::fetch_work_items(const WorkFetch& fetch) {
  return one([&] { return inner().fetch_work_items(fetch); });
}

std::vector<ProviderResult<void>> NodeStore::ack_work_items(std::span<const WorkAck> acks) {
  return batch(acks.size(), [&] { return inner().ack_work_items(acks); });
}

std::vector<ProviderResult<void>> NodeStore::abandon_work_items(std::span<const Abandon> abandons) {
  if (mishap_ != Mishap::kNone) misled_at_ = inner().now();
  return batch(abandons.size(), [&] { return inner().abandon_work_items(abandons); });
}

std::vector<ProviderResult<Timestamp>> NodeStore::renew_work_locks(std::span<const LockToken> tokens,
                                                                   Milliseconds extend_for) {
  return batch(tokens.size(), [&] { return inner().renew_work_locks(tokens, extend_for); });
}

std::vector<ProviderResult<Timestamp>> NodeStore::heartbeat(std::span<const Heartbeat> heartbeats) {
  return batch(heartbeats.size(), [&] { return inner().heartbeat(heartbeats); });
}

ProviderResult<std::size_t> NodeStore::renew_sessions(std::span<const std::string> owners, Milliseconds extend_for,
                                                      Milliseconds idle_timeout) {
  return one([&] { return inner().renew_sessions(owners, extend_for, idle_timeout); });
}

ProviderResult<std::size_t> NodeStore::cleanup_sessions() {
  return one([&] { return inner().cleanup_sessions(); });
}

ProviderResult<std::optional<InstanceStatus>> NodeStore::read_status(const std::string& instance) {
  return one([&] { return inner().read_status(instance); });
}

// Asked between the steps of a node, so a mishap is never meant for it.
ProviderResult<bool> NodeStore::wait_for_work(const WorkWait& wait, Timestamp deadline) {
  if (!reachable_) return unavailable();
  return inner().wait_for_work(wait, deadline);
}

}  // namespace perdure::testing::simulation
