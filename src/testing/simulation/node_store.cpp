#include "testing/simulation/node_store.h"

#include <algorithm>
#include <utility>

namespace perdure::testing::simulation {

namespace {

ProviderError unavailable() {
  return {ProviderErrorKind::kUnavailable, "the line to the store is broken"};
}

ProviderError failed() {
  return {ProviderErrorKind::kStoreFailed, "the store has failed"};
}

// One in four, and the same ones each time, so that a repeated call fails again.
constexpr std::uint64_t kOneRefusedIn = 4;

bool is_refused(const TurnCommit& commit) {
  return commit.commit_id % kOneRefusedIn == 0;
}

bool is_refused(const WorkAck& ack) {
  return ack.completion && (ack.completion->instance.size() + ack.completion->activity_id) % kOneRefusedIn == 0;
}

bool is_failure(const ProviderError& error) {
  return error.kind() != ProviderErrorKind::kLockLost && !error.data_error();
}

// A node knows of a failure by then, unless something hinders it.
constexpr Milliseconds kFailureIsKnown{10'000};

// Carries out the others in one call.
template <class Element, class Call>
auto without_refused(std::span<const Element> all, Call call) -> decltype(call(all)) {
  std::vector<Element> accepted;
  for (const Element& each : all) {
    if (!is_refused(each)) accepted.push_back(each);
  }
  auto accepted_answers = call(std::span<const Element>(accepted));
  decltype(accepted_answers) answers;
  auto next = accepted_answers.begin();
  for (const Element& each : all) {
    if (is_refused(each)) {
      answers.emplace_back(failed());
    } else {
      answers.push_back(std::move(*next++));
    }
  }
  return answers;
}

}  // namespace

std::string_view describe(Mishap mishap) noexcept {
  switch (mishap) {
    case Mishap::kAnswerLost:
      return "the answer is lost";
    case Mishap::kCarriedOutTwice:
      return "the call is carried out twice";
    case Mishap::kUnavailable:
      return "the store is not available";
    case Mishap::kFailed:
      return "the store fails";
    case Mishap::kNone:
      break;
  }
  return "the call succeeds";
}

Mishap NodeStore::take_mishap() {
  const Mishap mishap = std::exchange(mishap_, Mishap::kNone);
  if (mishap != Mishap::kNone && mishap != Mishap::kUnavailable) misled_at_ = inner().now();
  return mishap;
}

template <class Call>
auto NodeStore::one(Call call, Refusal refused_from, Refusal alone) -> decltype(call()) {
  const Mishap mishap = take_mishap();
  if (refuses(refused_from, alone)) return failed();
  if (!reachable_ || mishap == Mishap::kUnavailable) return unavailable();
  if (mishap == Mishap::kFailed) return failed();
  auto answer = call();
  if (mishap == Mishap::kAnswerLost) return unavailable();
  return mishap == Mishap::kCarriedOutTwice ? call() : std::move(answer);
}

template <class Call>
auto NodeStore::batch(std::size_t size, Call call, Refusal refused_from, Refusal alone) -> decltype(call()) {
  using Answers = decltype(call());
  const auto all = [size](const ProviderError& error) { return Answers(size, typename Answers::value_type(error)); };
  const Mishap mishap = take_mishap();
  if (refuses(refused_from, alone)) return all(failed());
  if (!reachable_ || mishap == Mishap::kUnavailable) return all(unavailable());
  if (mishap == Mishap::kFailed) return all(failed());
  auto answers = call();
  if (mishap == Mishap::kAnswerLost) return all(unavailable());
  return mishap == Mishap::kCarriedOutTwice ? call() : std::move(answers);
}

ProviderResult<OrchestrationBatch> NodeStore::fetch_orchestration_items(const OrchestrationFetch& fetch) {
  check_probe(fetch.limit);
  auto fetched = one([&] { return inner().fetch_orchestration_items(fetch); });
  if (fetched && fetched->items.empty()) failing_since_.reset();
  return fetched;
}

ProviderResult<StoredHistory> NodeStore::read_history(const LockToken& token, EventId after) {
  auto history = one([&] { return inner().read_history(token, after); }, Refusal::kAll, Refusal::kReads);
  if (!history) {
    unread_.insert(token.value);
  } else if (unread_.erase(token.value) > 0) {
    failing_since_.reset();  // a node takes this for a sign that the store works
  }
  return history;
}

std::vector<ProviderResult<CommitAnswer>> NodeStore::ack_orchestration_items(std::span<const TurnCommit> commits) {
  // A commit that comes again is answered as it was the first time, so whoever commits misses nothing.
  const bool can_be_heard_again = mishap_ == Mishap::kAnswerLost || mishap_ == Mishap::kCarriedOutTwice;
  const Timestamp misled_before = misled_at_;
  const auto store = [&](std::span<const TurnCommit> some) { return inner().ack_orchestration_items(some); };
  const bool refuses_some = refusal_ == Refusal::kSomeCommits;
  auto answers = batch(
      commits.size(), [&] { return refuses_some ? without_refused(commits, store) : store(commits); },
      Refusal::kCommits, Refusal::kTurns);
  if (can_be_heard_again) misled_at_ = misled_before;
  note_failures(commits, answers);
  return answers;
}

void NodeStore::note_failures(std::span<const TurnCommit> commits,
                              const std::vector<ProviderResult<CommitAnswer>>& answers) {
  bool any_failed = false;
  for (std::size_t i = 0; i < commits.size(); ++i) {
    if (answers[i]) failing_since_.reset();
    if (answers[i] || !is_failure(answers[i].error())) continue;
    any_failed = true;
    if (witness_.failed) witness_.failed(commits[i].token);
  }
  const bool any_taken =
      std::any_of(answers.begin(), answers.end(), [](const auto& each) { return static_cast<bool>(each); });
  if (any_failed && !any_taken && !failing_since_) failing_since_ = inner().now();
}

void NodeStore::check_probe(std::size_t limit) {
  if (!failing_since_ || limit <= 1 || !witness_.problem) return;
  const Milliseconds failing = inner().now() - *failing_since_;
  if (failing < kFailureIsKnown) return;
  witness_.problem("a node asks for " + std::to_string(limit) +
                   " items although the store has taken none of its turns for " + std::to_string(failing.count()) +
                   " ms");
}

std::vector<ProviderResult<void>> NodeStore::abandon_orchestration_items(std::span<const Abandon> abandons) {
  const Timestamp misled_before = misled_at_;
  auto answers =
      batch(abandons.size(), [&] { return inner().abandon_orchestration_items(abandons); }, Refusal::kChanges);
  misled_at_ = misled_before;  // an abandon is repeated
  const bool any_taken =
      std::any_of(answers.begin(), answers.end(), [](const auto& each) { return static_cast<bool>(each); });
  if (any_taken) failing_since_.reset();  // as for a repeated read
  return answers;
}

std::vector<ProviderResult<Timestamp>> NodeStore::renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                            Milliseconds extend_for) {
  return batch(tokens.size(), [&] { return inner().renew_orchestration_locks(tokens, extend_for); }, Refusal::kChanges);
}

std::vector<ProviderResult<void>> NodeStore::enqueue_messages(std::span<const MessageRecord> messages) {
  return batch(messages.size(), [&] { return inner().enqueue_messages(messages); });
}

ProviderResult<StartOutcome> NodeStore::enqueue_start(const MessageRecord& start, StartPolicy policy) {
  return one([&] { return inner().enqueue_start(start, policy); });
}

ProviderResult<WorkBatch> NodeStore::fetch_work_items(const WorkFetch& fetch) {
  check_probe(fetch.limit);
  return one([&] { return inner().fetch_work_items(fetch); });
}

std::vector<ProviderResult<void>> NodeStore::ack_work_items(std::span<const WorkAck> acks) {
  const auto store = [&](std::span<const WorkAck> some) { return inner().ack_work_items(some); };
  const bool refuses_some = refusal_ == Refusal::kSomeCommits;
  auto answers = batch(
      acks.size(), [&] { return refuses_some ? without_refused(acks, store) : store(acks); }, Refusal::kCommits,
      Refusal::kOutcomes);
  for (std::size_t i = 0; i < acks.size() && witness_.failed; ++i) {
    if (!answers[i] && is_failure(answers[i].error())) witness_.failed(acks[i].token);
  }
  return answers;
}

std::vector<ProviderResult<void>> NodeStore::abandon_work_items(std::span<const Abandon> abandons) {
  const Timestamp misled_before = misled_at_;
  auto answers = batch(abandons.size(), [&] { return inner().abandon_work_items(abandons); }, Refusal::kChanges);
  misled_at_ = misled_before;
  return answers;
}

std::vector<ProviderResult<Timestamp>> NodeStore::renew_work_locks(std::span<const LockToken> tokens,
                                                                   Milliseconds extend_for) {
  return batch(tokens.size(), [&] { return inner().renew_work_locks(tokens, extend_for); }, Refusal::kChanges);
}

std::vector<ProviderResult<Timestamp>> NodeStore::heartbeat(std::span<const Heartbeat> heartbeats) {
  return batch(heartbeats.size(), [&] { return inner().heartbeat(heartbeats); }, Refusal::kChanges);
}

ProviderResult<std::size_t> NodeStore::renew_sessions(std::span<const std::string> owners, Milliseconds extend_for,
                                                      Milliseconds idle_timeout) {
  return one([&] { return inner().renew_sessions(owners, extend_for, idle_timeout); }, Refusal::kChanges);
}

ProviderResult<std::size_t> NodeStore::cleanup_sessions() {
  return one([&] { return inner().cleanup_sessions(); }, Refusal::kChanges);
}

ProviderResult<std::optional<InstanceStatus>> NodeStore::read_status(const std::string& instance) {
  return one([&] { return inner().read_status(instance); });
}

// Asked between the steps of a node, so a mishap is never meant for it.
ProviderResult<bool> NodeStore::wait_for_work(const WorkWait& wait, Timestamp deadline) {
  if (refusal_ == Refusal::kAll) return failed();
  if (!reachable_) return unavailable();
  return inner().wait_for_work(wait, deadline);
}

}  // namespace perdure::testing::simulation
