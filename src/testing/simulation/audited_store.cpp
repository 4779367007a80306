#include "testing/simulation/audited_store.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include <perdure/event.h>
#include <perdure/provider_admin.h>
#include "model/event_codec.h"

namespace perdure::testing::simulation {

namespace {

template <class T>
std::string outcome_text(const ProviderResult<T>& answer) {
  return answer ? "" : ", refused: " + std::string(to_string(answer.error().kind()));
}

std::string activity_text(const MessageRecord& record) {
  return "'" + record.name + "' #" + std::to_string(record.activity_id) + " of " + record.instance;
}

std::vector<QueuedStart> stored_starts(Provider& store) {
  std::vector<QueuedStart> starts;
  StartQuery query{.limit = 1'000, .cursor = {}};
  do {
    StartPage page = store.admin()->list_queued_starts(query).value();
    std::move(page.starts.begin(), page.starts.end(), std::back_inserter(starts));
    query.cursor = page.next;
  } while (!query.cursor.empty());
  return starts;
}

}  // namespace

std::optional<std::string> AuditedStore::damage_one(Dice& dice) {
  const auto& histories = audit_.histories();
  if (histories.empty()) return std::nullopt;
  auto victim = histories.begin();
  std::advance(victim, static_cast<std::ptrdiff_t>(dice.below(histories.size())));
  if (victim->second.empty()) return std::nullopt;
  const auto& [instance, execution] = victim->first;
  const EventId event = 1 + dice.below(victim->second.size());
  damage(instance, execution, event);
  return "event " + std::to_string(event) + " of execution " + std::to_string(execution) + " of " + instance;
}

void AuditedStore::damage(const std::string& instance, ExecutionId execution, EventId event) {
  damaged_.emplace(instance, execution, event);
}

void AuditedStore::spoil(const std::string& instance, ExecutionId execution, StoredHistory& history) {
  if (damaged_.empty()) return;
  for (EventRecord& event : history.events) {
    if (!damaged_.contains({instance, execution, event.event_id})) continue;
    event.body = "\x01 damaged";
    read_damage_.insert(instance);
  }
}

std::vector<std::string> AuditedStore::lost_children() const {
  std::vector<std::string> lost;
  for (const auto& [instance, execution, id] : damaged_) {
    const auto history = audit_.histories().find({instance, execution});
    if (history == audit_.histories().end()) continue;  // deleted
    const Event event = decode_event(history->second.at(id - 1));
    if (const auto* child = std::get_if<events::SubOrchestrationScheduled>(&event.body)) {
      lost.push_back(child->instance);
    }
  }
  return lost;
}

void AuditedStore::notice_deletions() {
  std::set<std::string> gone;
  for (const std::string& instance : audit_.instances()) {
    const auto status = inner().read_status(instance);
    // The start of another instance may be queued under the id already.
    if (!status || (*status && !(*status)->pending)) continue;
    gone.insert(instance);
  }
  const std::vector<QueuedStart> known = audit_.queued_starts();
  const std::vector<QueuedStart> stored = known.empty() ? known : stored_starts(inner());
  for (const QueuedStart& start : known) {
    // A child's start may wait behind the one that was deleted, and then stays in the store under the same id.
    if (std::find(stored.begin(), stored.end(), start) == stored.end()) gone.insert(start.instance);
  }
  for (const std::string& id : emptied_orphans()) gone.insert(id);
  if (log_.on()) {
    for (const std::string& instance : gone) say(instance + " was deleted");
  }
  if (gone.empty()) return;
  // The next instance of the id has rows of its own.
  std::erase_if(damaged_, [&](const auto& event) { return gone.contains(std::get<0>(event)); });
  audit_.deleted(gone);
}

std::vector<std::string> AuditedStore::emptied_orphans() {
  std::vector<std::string> ids = audit_.orphan_ids();
  std::erase_if(ids,
                [this](const std::string& id) { return inner().admin()->instance_queue(id).value().messages > 0; });
  return ids;
}

void AuditedStore::check_orphans() {
  for (const std::string& id : emptied_orphans()) report("the messages for " + id + ", which does not exist, are lost");
}

ProviderResult<OrchestrationBatch> AuditedStore::fetch_orchestration_items(const OrchestrationFetch& fetch) {
  auto batch = inner().fetch_orchestration_items(fetch);
  if (!batch) return batch;
  audit_.fetched(fetch, *batch);
  for (OrchestrationItem& item : batch->items) {
    if (item.history) spoil(item.instance, item.execution_id, *item.history);
    if (log_.on()) {
      std::string kinds;
      for (const QueuedMessage& message : item.messages) {
        kinds += " " + std::to_string(static_cast<unsigned>(message.record.kind));
      }
      say("got " + item.instance + " at event " + std::to_string(item.last_event_id) + " of execution " +
          std::to_string(item.execution_id) + ", attempt " + std::to_string(item.attempt_count) + ", messages" + kinds);
    }
  }
  return batch;
}

ProviderResult<StoredHistory> AuditedStore::read_history(const LockToken& token, EventId after) {
  auto history = inner().read_history(token, after);
  const std::string instance = audit_.instance_of(token);
  if (history) spoil(instance, audit_.execution_of(instance).value_or(kFirstExecutionId), *history);
  if (log_.on()) say("read history of " + instance + outcome_text(history));
  return history;
}

std::vector<ProviderResult<CommitAnswer>> AuditedStore::ack_orchestration_items(std::span<const TurnCommit> commits) {
  auto answers = inner().ack_orchestration_items(commits);
  for (std::size_t i = 0; i < commits.size(); ++i) {
    audit_.committed(commits[i], answers[i], now());
    if (log_.on()) log_commit(commits[i], answers[i]);
  }
  return answers;
}

void AuditedStore::log_commit(const TurnCommit& commit, const ProviderResult<CommitAnswer>& answer) {
  std::string text = "committed turn of " + audit_.instance_of(commit.token) + ": consumed " +
                     std::to_string(commit.consumed.size()) + ", events";
  for (const EventRecord& record : commit.events) {
    text += " " + std::to_string(record.event_id) + " " + std::string(kind_name(decode_event(record).body));
  }
  if (answer && answer->repeated) text += ", known already";
  if (answer && !answer->claimed.empty()) text += ", claimed " + std::to_string(answer->claimed.size());
  if (answer && answer->locked_until) text += ", lock kept";
  say(text + outcome_text(answer));
}

std::vector<ProviderResult<void>> AuditedStore::abandon_orchestration_items(std::span<const Abandon> abandons) {
  auto answers = inner().abandon_orchestration_items(abandons);
  for (std::size_t i = 0; i < abandons.size(); ++i) {
    audit_.abandoned(abandons[i], answers[i], now());
    if (log_.on()) {
      say("gave back " + audit_.instance_of(abandons[i].token) + " for " + std::to_string(abandons[i].delay.count()) +
          " ms" + outcome_text(answers[i]));
    }
  }
  return answers;
}

std::vector<ProviderResult<Timestamp>> AuditedStore::renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                               Milliseconds extend_for) {
  auto answers = inner().renew_orchestration_locks(tokens, extend_for);
  for (std::size_t i = 0; i < tokens.size(); ++i) audit_.renewed(tokens[i], answers[i], now());
  return answers;
}

std::vector<ProviderResult<void>> AuditedStore::enqueue_messages(std::span<const MessageRecord> messages) {
  notice_deletions();  // the client may have deleted the receiver in the same step
  auto answers = inner().enqueue_messages(messages);
  for (std::size_t i = 0; i < messages.size(); ++i) audit_.sent(messages[i], answers[i], now());
  return answers;
}

ProviderResult<StartOutcome> AuditedStore::enqueue_start(const MessageRecord& start, StartPolicy policy) {
  notice_deletions();  // the client may have deleted the id just before
  auto outcome = inner().enqueue_start(start, policy);
  if (outcome && *outcome == StartOutcome::kReplaced) notice_deletions();
  if (outcome) audit_.started(start, *outcome, now());
  return outcome;
}

ProviderResult<WorkBatch> AuditedStore::fetch_work_items(const WorkFetch& fetch) {
  auto batch = inner().fetch_work_items(fetch);
  if (!batch) return batch;
  audit_.work_fetched(fetch, *batch);
  if (log_.on()) {
    for (const WorkItem& item : batch->items) {
      say("got activity " + activity_text(item.record) + ", attempt " + std::to_string(item.attempt_count) +
          (item.expired ? ", expired" : ""));
    }
  }
  return batch;
}

std::vector<ProviderResult<void>> AuditedStore::ack_work_items(std::span<const WorkAck> acks) {
  auto answers = inner().ack_work_items(acks);
  for (std::size_t i = 0; i < acks.size(); ++i) {
    audit_.work_acked(acks[i], answers[i], now());
    if (log_.on()) {
      say("acknowledged an activity" + (acks[i].completion ? " of " + acks[i].completion->instance : std::string()) +
          outcome_text(answers[i]));
    }
  }
  return answers;
}

std::vector<ProviderResult<void>> AuditedStore::abandon_work_items(std::span<const Abandon> abandons) {
  auto answers = inner().abandon_work_items(abandons);
  for (std::size_t i = 0; i < abandons.size(); ++i) audit_.work_abandoned(abandons[i], answers[i], now());
  return answers;
}

std::vector<ProviderResult<Timestamp>> AuditedStore::renew_work_locks(std::span<const LockToken> tokens,
                                                                      Milliseconds extend_for) {
  auto answers = inner().renew_work_locks(tokens, extend_for);
  for (std::size_t i = 0; i < tokens.size(); ++i) audit_.work_renewed(tokens[i], answers[i], now());
  return answers;
}

std::vector<ProviderResult<Timestamp>> AuditedStore::heartbeat(std::span<const Heartbeat> heartbeats) {
  auto answers = inner().heartbeat(heartbeats);
  for (std::size_t i = 0; i < heartbeats.size(); ++i) {
    audit_.beaten(heartbeats[i], answers[i], now());
  }
  return answers;
}

ProviderResult<std::size_t> AuditedStore::renew_sessions(std::span<const std::string> owners, Milliseconds extend_for,
                                                         Milliseconds idle_timeout) {
  auto count = inner().renew_sessions(owners, extend_for, idle_timeout);
  audit_.sessions_renewed(owners, extend_for, idle_timeout, count, now());
  return count;
}

}  // namespace perdure::testing::simulation
