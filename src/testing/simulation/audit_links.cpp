// Links between parents and children, distinguished by their incarnations. An id alone proves little: its instance may
// have been deleted and replaced by another one.
#include <algorithm>
#include <utility>
#include <variant>

#include <perdure/event.h>
#include "model/event_codec.h"
#include "model/message_codec.h"
#include "testing/simulation/audit.h"

namespace perdure::testing::simulation {

namespace {

std::string name_of(const std::string& text) {
  return "'" + text + "'";
}

template <class Body>
std::uint16_t kind_of_event() {
  static const std::uint16_t kind =
      encode_event(Event{.id = 1, .turn = 1, .time = {}, .engine_version = {}, .body = Body{}}).kind;
  return kind;
}

template <class Body>
const EventRecord* find_event(const TurnCommit& commit) {
  const auto found = std::find_if(commit.events.begin(), commit.events.end(),
                                  [](const EventRecord& event) { return event.kind == kind_of_event<Body>(); });
  return found == commit.events.end() ? nullptr : &*found;
}

// Returns nothing for a body that this engine cannot decode.
template <class Body>
std::optional<Body> body_of(const MessageRecord& record) {
  try {
    MessageBody body = decode_message_body(static_cast<std::uint16_t>(record.kind), record.body);
    if (auto* found = std::get_if<Body>(&body)) return std::move(*found);
  } catch (const DecodeError&) {
    return std::nullopt;
  }
  return std::nullopt;
}
template <class Body>
std::optional<Body> body_of(const EventRecord& record) {
  try {
    Event event = decode_event(record);
    if (auto* found = std::get_if<Body>(&event.body)) return std::move(*found);
  } catch (const DecodeError&) {
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<ParentLink> link_in_start(const MessageRecord& record) {
  return record.kind == MessageKind::kStartOrchestration ? record.parent : std::nullopt;
}

bool tells_parent(MessageKind kind) {
  return kind == MessageKind::kSubOrchestrationCompleted || kind == MessageKind::kSubOrchestrationFailed;
}

// Returns 0 if the body cannot be decoded.
EventId schedule_of(const MessageRecord& outcome) {
  if (const auto completed = body_of<messages::SubOrchestrationCompleted>(outcome)) return completed->schedule_id;
  const auto failed = body_of<messages::SubOrchestrationFailed>(outcome);
  return failed ? failed->schedule_id : 0;
}

// Returns the operation whose outcome it is, or 0 if it is not the outcome of a child.
EventId source_of(const EventRecord& record) {
  if (record.kind == kind_of_event<events::SubOrchestrationCompleted>()) {
    const auto completed = body_of<events::SubOrchestrationCompleted>(record);
    return completed ? completed->source : 0;
  }
  if (record.kind != kind_of_event<events::SubOrchestrationFailed>()) return 0;
  const auto failed = body_of<events::SubOrchestrationFailed>(record);
  return failed ? failed->source : 0;
}

}  // namespace

std::vector<QueuedStart> Audit::queued_starts() const {
  std::vector<QueuedStart> starts;
  for (const auto& [id, instance] : instances_) {
    if (instance.exists) continue;
    const Queued* first = nullptr;
    for (const Queued& each : instance.queue) {
      if (each.record.kind != MessageKind::kStartOrchestration) continue;
      if (first == nullptr || each.visible_at < first->visible_at) first = &each;
    }
    if (first == nullptr) continue;
    starts.push_back({id, first->record.name, first->record.body.substr(0, QueuedStart::kHeadBytes)});
  }
  return starts;
}

std::size_t Audit::orphans() const {
  std::size_t count = 0;
  for (const auto& [id, instance] : instances_) {
    if (is_known(id)) continue;
    count += static_cast<std::size_t>(
        std::count_if(instance.queue.begin(), instance.queue.end(), [](const Queued& each) { return !each.sender; }));
  }
  return count;
}

std::vector<std::string> Audit::orphan_ids() const {
  std::vector<std::string> ids;
  for (const auto& [id, instance] : instances_) {
    const auto must_wait = [](const Queued& each) {
      return !each.sender && !each.may_be_dropped && !each.may_be_discarded;
    };
    if (is_orphan(instance) && std::any_of(instance.queue.begin(), instance.queue.end(), must_wait)) ids.push_back(id);
  }
  return ids;
}

std::optional<bool> Audit::ends_delay(const Instance& instance, const MessageRecord& message) {
  if (!perdure::ends_instance(message.kind)) return false;
  if (!message.parent) return true;
  if (instance.exists) return message.parent == instance.parent;
  const Queued* first = nullptr;
  for (const Queued& each : instance.queue) {
    if (!begins_execution(each.record.kind)) continue;
    if (each.may_be_discarded) return std::nullopt;
    if (first == nullptr || each.visible_at < first->visible_at) first = &each;
  }
  return first != nullptr && message.parent == first->record.parent;
}

void Audit::note_parent(Instance& instance, const TurnCommit& commit, const Queue& consumed) {
  if (!commit.started || !commit.started->parent || instance.incarnation != commit.commit_id) return;
  const EventRecord* const event = find_event<events::OrchestrationStarted>(commit);
  if (event == nullptr) return;
  const auto started = body_of<events::OrchestrationStarted>(*event);
  if (!started || !started->parent) return;
  for (const Queued& message : consumed) {
    if (message.sender && link_in_start(message.record) == started->parent) instance.parent_sender = message.sender;
  }
}

// An instance is cancelled only by a client, or by the parent that started it.
void Audit::check_cancel(const std::string& id, const Instance& instance, const TurnCommit& commit,
                         const Queue& consumed) {
  if (find_event<events::OrchestrationCancelRequested>(commit) == nullptr) return;
  const Queued* foreign = nullptr;
  for (const Queued& message : consumed) {
    if (message.record.kind != MessageKind::kCancelInstance) continue;
    if (!message.sender || message.sender == instance.parent_sender) return;
    foreign = &message;
  }
  if (foreign != nullptr) {
    problem(name_of(id) + " was cancelled by " + name_of(foreign->sender->instance) + ", which is not its parent");
  }
}

// A parent accepts outcomes only from children that this very incarnation has scheduled.
void Audit::check_outcomes(const std::string& id, const Instance& instance, const TurnCommit& commit,
                           const Queue& consumed) {
  const Sender self{id, instance.incarnation};
  for (const EventRecord& record : commit.events) {
    const EventId source = source_of(record);
    if (source == 0) continue;
    bool is_own = false;
    bool is_foreign = false;
    for (const Queued& message : consumed) {
      if (!tells_parent(message.record.kind)) continue;
      const EventId schedule = schedule_of(message.record);
      if (schedule != source && schedule != 0) continue;
      (!message.meant_for || message.meant_for == self ? is_own : is_foreign) = true;
    }
    if (is_foreign && !is_own) {
      problem(name_of(id) + " took the outcome of a child that an earlier incarnation had scheduled");
    }
  }
}

void Audit::send(const std::string& id, const Instance& instance, const TurnCommit& commit, const Queue& consumed,
                 Timestamp now) {
  const Sender self{id, instance.incarnation};
  for (const MessageRecord& message : commit.messages) {
    const bool reaches_somebody = is_known(message.instance);
    if (message.must_exist && !reaches_somebody) continue;  // the store discards it
    enqueued(message, now);
    Queued& sent = instances_[message.instance].queue.back();
    sent.sender = self;
    // These messages may be discarded if there is no receiver.
    const bool is_for_somebody = tells_parent(message.kind) || message.kind == MessageKind::kCancelInstance;
    sent.may_be_discarded = is_for_somebody && !reaches_somebody;
    if (!tells_parent(message.kind)) continue;
    if (instance.parent_sender && instance.parent_sender->instance == message.instance) {
      sent.meant_for = instance.parent_sender;
    }
    // A refusal goes to the sender of the start.
    for (const Queued& start : consumed) {
      const auto link = start.sender ? link_in_start(start.record) : std::nullopt;
      if (link && link->instance == message.instance && link->execution_id == message.execution &&
          link->schedule_id == schedule_of(message)) {
        sent.meant_for = start.sender;
      }
    }
  }
}

const Audit::Instance* Audit::alive(const std::optional<Sender>& sender) const {
  if (!sender) return nullptr;
  const auto found = instances_.find(sender->instance);
  const bool same =
      found != instances_.end() && found->second.exists && found->second.incarnation == sender->incarnation;
  return same ? &found->second : nullptr;
}

// Starts of its children that no turn has taken are deleted with it. Other messages may still be delivered, and their
// receivers discard them.
void Audit::forget_messages_of(const Sender& sender) {
  for (auto& [id, instance] : instances_) {
    for (auto each = instance.queue.begin(); each != instance.queue.end();) {
      const auto message = each++;
      if (message->sender != sender) continue;
      message->may_be_discarded = true;
      if (!link_in_start(message->record)) continue;
      const bool is_fetched = std::any_of(instance.fetched.begin(), instance.fetched.end(),
                                          [&](const auto& entry) { return entry.second == message; });
      // The commit of the node that has the lock may fail, and an instance that has not begun leaves no trace.
      if (is_fetched || !instance.exists) instance.lost_start = true;
      if (!is_fetched) instance.queue.erase(message);
    }
  }
}

void Audit::remove(const std::set<std::string>& instances) {
  std::vector<Sender> gone;
  std::map<std::string, Queue> kept;
  for (const std::string& id : instances) {
    const auto found = instances_.find(id);
    if (found == instances_.end()) continue;
    if (found->second.exists) gone.push_back({id, found->second.incarnation});
    Queue& queue = found->second.queue;
    for (auto each = queue.begin(); each != queue.end();) {
      const auto message = each++;
      const Instance* const sender =
          message->sender && !instances.contains(message->sender->instance) ? alive(message->sender) : nullptr;
      const bool is_start = link_in_start(message->record).has_value();
      if (sender == nullptr || (!is_start && message->record.kind != MessageKind::kCancelInstance)) continue;
      // A parent that has ended does not wait for it.
      message->may_be_discarded = !is_start || sender->ended;
      kept[id].splice(kept[id].end(), queue, message);
    }
    instances_.erase(found);
    std::erase_if(activities_, [&](const auto& entry) { return std::get<0>(entry.first) == id; });
    std::erase_if(histories_, [&](const auto& entry) { return entry.first.first == id; });
  }
  for (auto& [id, queue] : kept) instances_[id].queue = std::move(queue);
  for (const Sender& sender : gone) forget_messages_of(sender);
}

void Audit::deleted(const std::set<std::string>& instances) {
  remove(instances);
  for (const auto& [id, instance] : instances_) {
    if (instance.exists && instance.parent && instances.contains(instance.parent->instance)) {
      problem(name_of(instance.parent->instance) + " was deleted, but its child " + name_of(id) + " was left behind");
    }
  }
}

}  // namespace perdure::testing::simulation
