// The orchestrator queue: instances, their locks, messages and histories.
#include "testing/simulation/audit.h"

#include <algorithm>
#include <tuple>

#include <perdure/memory_provider.h>

namespace perdure::testing::simulation {

namespace {

std::string quoted(const std::string& text) {
  return "'" + text + "'";
}

std::string described(const MessageRecord& record) {
  return "a message of kind " + std::to_string(static_cast<unsigned>(record.kind)) + " for " + quoted(record.instance);
}

bool is_same(const MessageRecord& one, const MessageRecord& other) {
  return one.kind == other.kind && one.execution == other.execution && one.body == other.body &&
         one.name == other.name && one.parent == other.parent;
}

bool ends_execution(const TurnCommit& commit) {
  return commit.status && is_terminal(commit.status->status);
}

bool ends_instance(const TurnCommit& commit) {
  return ends_execution(commit) && commit.status->status != ExecutionStatus::kContinuedAsNew;
}

}  // namespace

std::optional<Timestamp> Audit::next_moment(Timestamp after) const {
  const auto next = moments_.upper_bound(after);
  return next == moments_.end() ? std::nullopt : std::optional(*next);
}

// What is queued for an instance that is not there, and will not come, is an orphan: nobody waits for it.
bool Audit::at_rest(Timestamp now) const {
  const auto rests = [now](const auto& entry) {
    const Instance& instance = entry.second;
    const bool awaited = std::any_of(instance.queue.begin(), instance.queue.end(), [&](const Queued& message) {
      return !message.may_be_discarded && !message.may_be_dropped &&
             (instance.exists || begins_execution(message.record.kind));
    });
    return !awaited && !(instance.lock && instance.lock->until > now);
  };
  return activities_.empty() && std::all_of(instances_.begin(), instances_.end(), rests);
}

bool Audit::only_ended_are_left(Timestamp now) const {
  const auto is_left = [now](const auto& entry) {
    const Instance& instance = entry.second;
    if (instance.lock && instance.lock->until > now) return true;
    return !instance.ended && !instance.queue.empty() && !is_orphan(instance);
  };
  return activities_.empty() && std::none_of(instances_.begin(), instances_.end(), is_left);
}

bool Audit::is_orphan(const Instance& instance) {
  return !instance.exists && std::none_of(instance.queue.begin(), instance.queue.end(),
                                          [](const Queued& message) { return begins_execution(message.record.kind); });
}

void Audit::note_old_orphans(Timestamp now) {
  const Milliseconds retention = MemoryProviderOptions().orphan_retention;
  for (auto& [id, instance] : instances_) {
    if (instance.queue.empty() || !is_orphan(instance)) continue;
    // Queue messages have their time each; of the others the oldest decides about all.
    const auto is_queue_message = [](const Queued& message) {
      return message.record.kind == MessageKind::kQueueMessage;
    };
    const auto is_old = [&](const Queued& message) { return message.visible_at + retention <= now; };
    const bool others_go = std::any_of(instance.queue.begin(), instance.queue.end(), [&](const Queued& message) {
      return !is_queue_message(message) && is_old(message);
    });
    for (Queued& message : instance.queue) {
      if (is_queue_message(message) ? is_old(message) : others_go) message.may_be_dropped = true;
    }
  }
}

std::vector<std::string> Audit::instances() const {
  std::vector<std::string> ids;
  for (const auto& [id, instance] : instances_) {
    if (instance.exists) ids.push_back(id);
  }
  return ids;
}

std::string Audit::instance_of(const LockToken& token) const {
  const auto known = instance_of_.find(token.value);
  return known == instance_of_.end() ? std::string() : known->second;
}

std::optional<ExecutionId> Audit::execution_of(const std::string& instance) const {
  const auto known = instances_.find(instance);
  return known == instances_.end() ? std::nullopt : known->second.execution;
}

Audit::Instance* Audit::owner_of(const LockToken& token, Timestamp now) {
  const auto known = instance_of_.find(token.value);
  if (known == instance_of_.end()) return nullptr;
  const auto instance = instances_.find(known->second);
  if (instance == instances_.end()) return nullptr;
  const auto& lock = instance->second.lock;
  return lock && lock->token == token.value && lock->until > now ? &instance->second : nullptr;
}

void Audit::fetched(const OrchestrationFetch& fetch, const OrchestrationBatch& batch) {
  const Timestamp now = batch.now;
  note_old_orphans(now);
  for (const OrchestrationItem& item : batch.items) {
    Instance& instance = instances_[item.instance];
    const auto& lock = instance.lock;
    if (instance.lost_start) instance.not_before.reset();
    if (!instance.lost_start) check_lapse(quoted(item.instance), lock, now);
    if (instance.not_before && *instance.not_before > now && !instance.may_come_early) {
      problem(quoted(item.instance) + " was fetched " + std::to_string((*instance.not_before - now).count()) +
              " ms before the delay of its abandon had passed");
    }
    if (lock && lock->until > now && !instance.lost_start && (lock->keeper.empty() || lock->keeper != fetch.owner)) {
      problem(quoted(item.instance) + " was locked again " + std::to_string((lock->until - now).count()) +
              " ms before its lock ended");
    }
    if (!instance_of_.emplace(item.token.value, item.instance).second) {
      problem("the token of " + quoted(item.instance) + " was given out before");
    }
    if (instance.lost_start) instance.attempts = item.attempt_count - 1;
    if (item.attempt_count != ++instance.attempts) {
      problem(quoted(item.instance) + " was fetched for the " + std::to_string(instance.attempts) +
              ". time since its last commit, but the store counts " + std::to_string(item.attempt_count));
      instance.attempts = item.attempt_count;
    }
    const EventId expected = instance.execution ? instance.last_event : 0;
    if (item.last_event_id != expected || (instance.execution && item.execution_id != *instance.execution)) {
      problem(quoted(item.instance) + " was fetched at event " + std::to_string(item.last_event_id) + " of execution " +
              std::to_string(item.execution_id) + ", but event " + std::to_string(expected) + " of execution " +
              std::to_string(instance.execution.value_or(kFirstExecutionId)) + " was its last");
    }
    instance.lock = Lock{item.token.value, item.locked_until, {}, fetch.owner, now, fetch.lock_timeout};
    instance.end_requested = false;
    instance.may_come_early = false;
    instance.lost_start = false;
    moment(item.locked_until);
    check_messages(instance, fetch, item, now);
  }
  check_left_out(fetch, batch);
}

// Exactly what was sent, is visible, and was not consumed.
void Audit::check_messages(Instance& instance, const OrchestrationFetch& fetch, const OrchestrationItem& item,
                           Timestamp now) {
  instance.fetched.clear();
  std::set<const Queued*> found;
  const Queued* last = nullptr;
  for (const auto* messages : {&item.messages, &item.end_requests}) {
    for (const QueuedMessage& message : *messages) {
      const auto same = std::find_if(instance.queue.begin(), instance.queue.end(), [&](const Queued& queued) {
        return !found.contains(&queued) && queued.visible_at <= now && is_same(queued.record, message.record);
      });
      if (same == instance.queue.end()) {
        problem(described(message.record) + " was delivered that was never sent, or was consumed before");
        continue;
      }
      found.insert(&*same);
      check_order(*same, last);
      instance.fetched.emplace(message.id, same);
    }
  }
  if (item.messages.size() >= fetch.max_messages) {
    check_end_requests(instance, found, now);
    return;
  }
  std::erase_if(instance.queue, [&](const Queued& queued) {
    if (queued.visible_at > now || found.contains(&queued)) return false;
    if (!queued.may_be_dropped && !queued.may_be_discarded) problem(described(queued.record) + " was not delivered");
    return queued.may_be_dropped;
  });
}

// A batch that is full still shows whether the instance is to end.
void Audit::check_end_requests(const Instance& instance, const std::set<const Queued*>& found, Timestamp now) {
  for (const MessageKind kind : {MessageKind::kCancelInstance, MessageKind::kTerminateInstance}) {
    const auto is_first = [&](const Queued& queued) {
      return queued.record.kind == kind && queued.visible_at <= now && !queued.may_be_dropped &&
             !queued.may_be_discarded;
    };
    const auto delivered = [&](const Queued& queued) { return found.contains(&queued) && queued.record.kind == kind; };
    const auto missing = std::find_if(instance.queue.begin(), instance.queue.end(), is_first);
    if (missing == instance.queue.end()) continue;
    if (std::none_of(instance.queue.begin(), instance.queue.end(), delivered)) {
      problem(described(missing->record) + " was not delivered with a full batch");
    }
  }
}

// What begins an execution first, then by the time at which it became visible, then by position.
void Audit::check_order(const Queued& message, const Queued*& last) {
  const auto rank = [](const Queued& each) {
    return std::tuple(!begins_execution(each.record.kind), each.visible_at, each.position);
  };
  if (last && rank(message) < rank(*last)) {
    problem(described(message.record) + " was delivered behind " + described(last->record) + ", which came later");
  }
  last = &message;
}

void Audit::committed(const TurnCommit& commit, const ProviderResult<CommitAnswer>& answer, Timestamp now) {
  if (!answer) return check_refusal(commit, answer.error(), now);
  const auto known = instance_of_.find(commit.token.value);
  const std::string id = known == instance_of_.end() ? "an unknown instance" : known->second;
  if (answer->repeated) {
    failed_.erase(commit.token.value);
    if (commits_.contains(commit.commit_id)) return check_claims(id, commit, *answer, now);
    return problem("a commit of " + quoted(id) + " passes for one that never was");
  }
  if (!commits_.insert(commit.commit_id).second) problem("a commit of " + quoted(id) + " was carried out twice");
  Instance* const instance = owner_of(commit.token, now);
  if (!instance) return problem("a commit of " + quoted(id) + " was accepted under a lost lock");
  failed_.erase(commit.token.value);
  const Queue consumed = consume(id, *instance, commit);
  for (const LockToken& token : commit.completed_work) complete(id, token, now);
  append(id, *instance, commit);
  note_parent(*instance, commit, consumed);
  check_cancel(id, *instance, commit, consumed);
  check_outcomes(id, *instance, commit, consumed);
  const ExecutionId execution = instance->execution.value_or(commit.execution_id);
  for (const MessageRecord& activity : commit.activities) {
    activities_[{id, execution, activity.activity_id}] =
        Activity{activity, std::nullopt, 0, activity.visible_at.value_or(now), {}, {}};
    if (activity.visible_at) moment(*activity.visible_at);
    if (activity.timeouts.schedule_to_start) moment(now + *activity.timeouts.schedule_to_start);
  }
  for (const EventId withdrawn : commit.cancelled_activities) remove_activity({id, execution, withdrawn});
  claim(commit, *answer, now);
  if (commit.status) instance->ended = ends_instance(commit);
  instance->attempts = 0;
  instance->not_before.reset();
  instance->last_commit = commit.commit_id;
  instance->fetched.clear();
  if (commit.keep_lock && !ends_execution(commit)) {
    if (!answer->locked_until) {
      problem("the lock of " + quoted(id) + " was not kept");
      instance->lock.reset();
    } else {
      instance->lock->until = *answer->locked_until;
      instance->lock->keeper = commit.owner;
      moment(*answer->locked_until);
    }
  } else {
    instance->lock.reset();
  }
  send(id, *instance, commit, consumed, now);
}

// Whoever has the lock is not told that it lost it, and asks for nothing that the store has to refuse. A commit that
// comes again is known.
void Audit::check_refusal(const TurnCommit& commit, const ProviderError& error, Timestamp now) {
  const auto known = instances_.find(instance_of(commit.token));
  if (known != instances_.end() && known->second.exists && known->second.last_commit == commit.commit_id) {
    return problem("a commit of " + quoted(known->first) + " that came again was not recognised: " + error.to_string());
  }
  const Instance* const owner = owner_of(commit.token, now);
  if (!owner || owner->lost_start) return;
  if (error.kind() != ProviderErrorKind::kLockLost) {
    return problem("a commit of " + quoted(known->first) + " was refused: " + error.to_string());
  }
  for (const LockToken& token : commit.completed_work) {
    const Activity* const activity = worker_of(token, now);
    if (!activity || activity->attempts != 1) return;
  }
  problem("a commit of " + quoted(instance_of_.at(commit.token.value)) + " was refused although its lock held");
}

Audit::Queue Audit::consume(const std::string& id, Instance& instance, const TurnCommit& commit) {
  Queue consumed;
  for (const MessageId message : commit.consumed) {
    const auto fetched = instance.fetched.find(message);
    if (fetched == instance.fetched.end()) {
      problem("a commit of " + quoted(id) + " consumes a message that it did not get");
      continue;
    }
    consumed.splice(consumed.end(), instance.queue, fetched->second);
    instance.fetched.erase(fetched);
  }
  return consumed;
}

void Audit::append(const std::string& id, Instance& instance, const TurnCommit& commit) {
  if (commit.events.empty() && !commit.started) return;
  if (!instance.execution || *instance.execution != commit.execution_id) {
    const ExecutionId next = instance.execution ? *instance.execution + 1 : kFirstExecutionId;
    if (commit.execution_id != next) {
      problem(quoted(id) + " began execution " + std::to_string(commit.execution_id) + " when " + std::to_string(next) +
              " was next");
    }
    if (!instance.exists) instance.incarnation = commit.commit_id;
    instance.execution = commit.execution_id;
    instance.pinned_version.reset();
    instance.last_event = 0;
    instance.exists = true;
    instance.ended = false;
  }
  if (commit.started) {
    instance.name = commit.started->name;
    if (!instance.parent) instance.parent = commit.started->parent;
    if (commit.started->pinned_version) instance.pinned_version = commit.started->pinned_version;
  }
  std::vector<EventRecord>& history = histories_[{id, commit.execution_id}];
  for (const EventRecord& event : commit.events) {
    if (event.event_id != ++instance.last_event) {
      problem("the history of " + quoted(id) + " goes on with event " + std::to_string(event.event_id) + " behind " +
              std::to_string(instance.last_event - 1));
      instance.last_event = event.event_id;
    }
    history.push_back(event);
  }
}

void Audit::abandoned(const Abandon& abandon, const ProviderResult<void>& answer, Timestamp now) {
  if (!answer) return;
  const auto known = instance_of_.find(abandon.token.value);
  if (known == instance_of_.end()) return problem("a token that was never given out was accepted");
  const auto found = instances_.find(known->second);
  // One whose time is over may still be given back, as long as nobody else has taken it.
  if (found == instances_.end() || !found->second.lock || found->second.lock->token != abandon.token.value) {
    return problem(quoted(known->second) + " was abandoned without its lock");
  }
  Instance& instance = found->second;
  instance.lock.reset();
  instance.fetched.clear();
  if (abandon.ignore_attempt && instance.attempts > 0) --instance.attempts;
  instance.not_before.reset();
  if (abandon.delay > Milliseconds(0) && !instance.end_requested) instance.not_before = now + abandon.delay;
  check_count(quoted(known->second), abandon);
  moment(now + abandon.delay);
}

void Audit::renewed(const LockToken& token, const ProviderResult<Timestamp>& until, Timestamp now) {
  if (!until) return;
  Instance* const instance = owner_of(token, now);
  if (!instance) return problem("the lock of an instance was renewed after it was lost");
  instance->lock->until = *until;
  moment(*until);
}

bool Audit::is_known(const std::string& id) const {
  const auto found = instances_.find(id);
  if (found == instances_.end()) return false;
  const Queue& queue = found->second.queue;
  return found->second.exists ||
         std::any_of(queue.begin(), queue.end(), [](const Queued& each) { return begins_execution(each.record.kind); });
}

// A message that must find its instance is refused without one, and only then.
void Audit::sent(const MessageRecord& message, const ProviderResult<void>& answer, Timestamp now) {
  const bool lacks_receiver = message.must_exist && !is_known(message.instance);
  if (answer && lacks_receiver) {
    problem(described(message) + " was accepted although there is no " + quoted(message.instance));
  }
  if (!answer && answer.error().kind() == ProviderErrorKind::kNotFound && !lacks_receiver) {
    problem(described(message) + " was refused although there is " + quoted(message.instance));
  }
  if (answer) enqueued(message, now);
}

void Audit::enqueued(const MessageRecord& message, Timestamp now) {
  if (message.must_exist && !is_known(message.instance)) return;  // a commit discards it
  const Timestamp visible_at = std::max(message.visible_at.value_or(now), now);
  Instance& instance = instances_[message.instance];
  instance.queue.push_back({message, message.visible_at.value_or(now), ++last_position_, {}, {}, false, false});
  const std::optional<bool> ends = ends_delay(instance, message);
  if (!ends) instance.may_come_early = true;
  if (ends == true) {
    instance.not_before.reset();
    instance.end_requested = true;
  }
  moment(visible_at);
}

void Audit::started(const MessageRecord& start, StartOutcome outcome, Timestamp now) {
  if (outcome == StartOutcome::kIgnored) return;
  Queue refused;  // starts of children that had come before: the new instance has the id, and refuses them
  if (outcome == StartOutcome::kReplaced) {
    remove({start.instance});
    refused.swap(instances_[start.instance].queue);
  }
  const Instance& instance = instances_[start.instance];
  const bool queued = std::any_of(instance.queue.begin(), instance.queue.end(),
                                  [](const Queued& each) { return begins_execution(each.record.kind); });
  if (instance.exists || queued) {
    problem("a start of " + quoted(start.instance) + " was accepted although there is one already");
  }
  enqueued(start, now);
  for (Queued& each : refused) {
    each.visible_at = std::max(each.visible_at, start.visible_at.value_or(now));
    each.position = ++last_position_;
  }
  Queue& queue = instances_[start.instance].queue;
  queue.splice(queue.end(), refused);
}

}  // namespace perdure::testing::simulation
