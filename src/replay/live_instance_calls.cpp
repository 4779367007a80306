// The half of LiveInstance that orchestration code calls.
#include <type_traits>
#include <utility>

#include <perdure/error.h>
#include "model/name_rule.h"
#include "model/planted_fault.h"
#include "replay/divergence.h"
#include "replay/live_instance.h"
#include "replay/random_values.h"
#include "replay/turn_scope.h"

namespace perdure {

using detail::OperationKind;
using detail::Slot;
using detail::SlotRef;

namespace {

struct Operation {
  OperationKind kind;
  std::string name;
};

// What a decision that can be awaited is called, for its slot.
Operation operation_of(const EventBody& decision) {
  if (const auto* e = std::get_if<events::ActivityScheduled>(&decision)) return {OperationKind::kActivity, e->name};
  if (const auto* e = std::get_if<events::ExternalSubscribed>(&decision)) return {OperationKind::kExternal, e->name};
  if (const auto* e = std::get_if<events::QueueSubscribed>(&decision)) return {OperationKind::kQueue, e->queue};
  if (const auto* e = std::get_if<events::SubOrchestrationScheduled>(&decision))
    return {OperationKind::kSubOrchestration, e->name};
  return {OperationKind::kTimer, "timer"};
}

// The bytes of the names and payloads of a decision.
std::size_t bytes_of(const EventBody& decision) {
  const auto size = [](const std::optional<std::string>& text) { return text ? text->size() : 0; };
  if (const auto* activity = std::get_if<events::ActivityScheduled>(&decision)) {
    return activity->name.size() + size(activity->input) + size(activity->session_id) + size(activity->tag) +
           size(activity->progress);
  }
  if (const auto* wait = std::get_if<events::ExternalSubscribed>(&decision)) return wait->name.size();
  if (const auto* dequeue = std::get_if<events::QueueSubscribed>(&decision)) return dequeue->queue.size();
  if (const auto* child = std::get_if<events::SubOrchestrationScheduled>(&decision))
    return child->name.size() + child->instance.size() + size(child->input);
  if (const auto* start = std::get_if<events::OrchestrationChained>(&decision))
    return start->name.size() + start->instance.size() + size(start->input);
  if (const auto* status = std::get_if<events::CustomStatusUpdated>(&decision)) return size(status->status);
  if (const auto* set = std::get_if<events::KeyValueSet>(&decision)) return set->key.size() + set->value.size();
  return 0;
}

std::optional<std::string> problem_with_names_in(const EventBody& decision) {
  std::optional<std::string> problem;
  const auto check = [&problem](const char* what, const std::string& name) {
    if (!problem) problem = problem_with_name(what, name);
  };
  if (const auto* activity = std::get_if<events::ActivityScheduled>(&decision)) {
    check("an activity's name", activity->name);
    if (activity->session_id) check("a session id", *activity->session_id);
    if (activity->tag) check("a tag", *activity->tag);
  } else if (const auto* wait = std::get_if<events::ExternalSubscribed>(&decision)) {
    check("an event's name", wait->name);
  } else if (const auto* dequeue = std::get_if<events::QueueSubscribed>(&decision)) {
    check("a queue's name", dequeue->queue);
  } else if (const auto* child = std::get_if<events::SubOrchestrationScheduled>(&decision)) {
    check("an orchestration's name", child->name);
    if (!child->instance.empty()) check("an instance id", child->instance);  // empty: the engine chooses one
  } else if (const auto* start = std::get_if<events::OrchestrationChained>(&decision)) {
    check("an orchestration's name", start->name);
    check("an instance id", start->instance);
  }
  return problem;
}

}  // namespace

bool LiveInstance::inert() const noexcept {
  return closing_ || ending_ != nullptr;
}

// ---- decisions -----------------------------------------------------------------------------------------------------

const Event* LiveInstance::decide(EventBody decision) {
  if (inert()) {
    count_inert_call();
    return nullptr;
  }
  check_names(decision);
  return replaying_ ? claim_recorded(decision) : add_new(std::move(decision));
}

// A dead instance cannot stop a loop that never awaits; the one exception that code could catch is better than a hang.
void LiveInstance::count_inert_call() {
  if (++inert_calls_ > limits_.max_actions_per_turn && !closing_)
    throw MisuseError("orchestration code keeps calling the context after the execution has ended");
}

// History wins: names that an engine without this rule recorded are repeated. The check applies live and on replay, so
// that code which catches the error takes the same path again.
void LiveInstance::check_names(const EventBody& decision) const {
  const auto problem = problem_with_names_in(decision);
  if (!problem) return;
  if (replaying_) {
    const std::size_t next = next_recorded_decision();
    if (next < recorded_.size() && same_decision(recorded_[next].body, decision)) return;
  }
  throw MisuseError(*problem);
}

std::size_t LiveInstance::next_recorded_decision() const {
  std::size_t i = next_recorded_;
  while (i < recorded_.size() && classify(recorded_[i].body) != EventClass::kDecision) ++i;
  return i;
}

const Event* LiveInstance::claim_recorded(const EventBody& decision) {
  const std::size_t i = next_recorded_decision();
  if (i == recorded_.size()) {
    diverge("the code made a decision that is not in its history", i, std::nullopt, summarize(decision));
    return nullptr;
  }
  if (!same_decision(recorded_[i].body, decision)) {
    diverge("the code made another decision than its history", i, summarize(recorded_[i].body), summarize(decision));
    return nullptr;
  }
  next_recorded_ = i + 1;
  return &recorded_[i];
}

const Event* LiveInstance::add_new(EventBody decision) {
  if (auto* child = std::get_if<events::SubOrchestrationScheduled>(&decision); child && child->instance.empty()) {
    // Event ids begin anew in every execution, so from the second on its id is part of the name.
    const std::string execution =
        identity_.execution == kFirstExecutionId ? std::string() : std::to_string(identity_.execution) + "::";
    child->instance = identity_.instance + "::sub::" + execution + std::to_string(next_id_);
  }
  if (const auto exceeded = limit_exceeded_by(decision)) {
    exceed_limit(*exceeded);
    return nullptr;
  }
  decided_bytes_ += bytes_of(decision);
  decisions_.push_back({next_id_++, facts_.last_turn(), now_, engine_version(), std::move(decision)});
  return &decisions_.back();
}

SlotRef LiveInstance::open(EventBody decision) {
  auto [kind, name] = operation_of(decision);
  SlotRef slot(new Slot(*this, kind, std::move(name)));
  const Event* event = decide(std::move(decision));
  if (!event) return slot;
  slot->schedule_id = event->id;
  operations_.add(event->id, slot);
  if (kind == OperationKind::kExternal) waits_.add(slot);
  if (kind == OperationKind::kQueue) deliver(queues_.add_subscription(slot));
  return slot;
}

void LiveInstance::deliver(const MessageQueues::Delivery& delivery) noexcept {
  if (!delivery.slot) return;
  operations_.take(delivery.slot->schedule_id);
  count_given(delivery.slot->payload);
  delivery.slot->completion.complete({delivery.event, ++sequence_});
}

void LiveInstance::chain(events::OrchestrationChained start) {
  decide(std::move(start));
}

std::string LiveInstance::record(RecordedValueKind kind) {
  const Event* event = decide(events::ValueRecorded{kind, recorded_value(kind, now_, entropy_, draws_++)});
  if (planted(PlantedFault::kValuesDrawnAgain)) return recorded_value(kind, now_, entropy_, draws_ - 1);
  return event ? std::get<events::ValueRecorded>(event->body).value : std::string();
}

void LiveInstance::set_custom_status(std::optional<std::string> status) {
  if (decide(events::CustomStatusUpdated{status})) custom_status_ = std::move(status);
}

void LiveInstance::set_key_value(std::string key, std::string value) {
  if (const Event* event = decide(events::KeyValueSet{key, value})) key_values_.set(key, std::move(value), event->time);
}

void LiveInstance::clear_key_value(std::string key) {
  if (decide(events::KeyValueCleared{key})) key_values_.clear(key);
}

void LiveInstance::clear_key_values() {
  if (decide(events::KeyValuesCleared{})) key_values_.clear_all();
}

std::size_t LiveInstance::prune_key_values(Timestamp updated_before) {
  const auto keys = key_values_.updated_before(updated_before);
  for (const auto& key : keys) clear_key_value(key);
  return keys.size();
}

void LiveInstance::continue_as_new(Payload input, std::optional<SemanticVersion> version) {
  if (inert()) return count_inert_call();
  if (payload_fits("the input of continue_as_new", input)) ending().continued = Continued{std::move(input), version};
}

// ---- limits --------------------------------------------------------------------------------------------------------

namespace {

class LimitCheck {
 public:
  explicit LimitCheck(const Limits& limits) : limits_(limits) {}
  std::optional<std::string> exceeded;

  void name(const char* what, const std::string& value) {
    bytes(what, value, limits_.max_name_bytes, "max_name_bytes");
  }
  void name(const char* what, const std::optional<std::string>& value) {
    if (value) name(what, *value);
  }
  void payload(const char* what, const Payload& value) {
    if (value) bytes(what, *value, limits_.max_payload_bytes, "max_payload_bytes");
  }
  void bytes(const char* what, const std::string& value, std::size_t limit, const char* option) {
    count(what, value.size(), limit, option, " bytes");
  }
  void count(const char* what, std::size_t size, std::size_t limit, const char* option, const char* unit) {
    if (exceeded || size <= limit) return;
    exceeded = std::string(what) + " has " + std::to_string(size) + unit + "; the limit is " + std::to_string(limit) +
               " (" + option + ")";
  }

 private:
  const Limits& limits_;
};

}  // namespace

std::optional<std::string> LiveInstance::limit_exceeded_by(const EventBody& decision) const {
  LimitCheck check(limits_);
  check.count("one turn", decisions_.size() + 1, limits_.max_actions_per_turn, "max_actions_per_turn", " actions");
  check.count("one turn", decided_bytes_ + bytes_of(decision), limits_.max_turn_bytes, "max_turn_bytes", " bytes");
  if (const auto* activity = std::get_if<events::ActivityScheduled>(&decision)) {
    check.name("an activity's name", activity->name);
    check.name("a session id", activity->session_id);
    check.payload("an activity's input", activity->input);
    if (activity->tag) check.bytes("a tag", *activity->tag, limits_.max_tag_bytes, "max_tag_bytes");
  } else if (const auto* wait = std::get_if<events::ExternalSubscribed>(&decision)) {
    check.name("an event's name", wait->name);
  } else if (const auto* dequeue = std::get_if<events::QueueSubscribed>(&decision)) {
    check.name("a queue's name", dequeue->queue);
  } else if (const auto* child = std::get_if<events::SubOrchestrationScheduled>(&decision)) {
    check.name("an orchestration's name", child->name);
    check.name("an instance id", child->instance);
    check.payload("a child's input", child->input);
  } else if (const auto* start = std::get_if<events::OrchestrationChained>(&decision)) {
    check.name("an orchestration's name", start->name);
    check.name("an instance id", start->instance);
    check.payload("the input of a detached start", start->input);
  } else if (const auto* status = std::get_if<events::CustomStatusUpdated>(&decision)) {
    if (status->status) {
      check.bytes("the custom status", *status->status, limits_.max_custom_status_bytes, "max_custom_status_bytes");
    }
  } else if (const auto* set = std::get_if<events::KeyValueSet>(&decision)) {
    check.name("a key", set->key);
    check.bytes("a key's value", set->value, limits_.max_kv_value_bytes, "max_kv_value_bytes");
    const std::size_t keys = key_values_.entries().size() + (key_values_.contains(set->key) ? 0 : 1);
    check.count("the key-value store", keys, limits_.max_kv_keys, "max_kv_keys", " keys");
  }
  return check.exceeded;
}

bool LiveInstance::payload_fits(const char* what, const Payload& payload) {
  if (replaying_) return true;
  LimitCheck check(limits_);
  check.payload(what, payload);
  if (check.exceeded) exceed_limit(*check.exceeded);
  return !check.exceeded;
}

void LiveInstance::exceed_limit(const std::string& what) {
  die(ApplicationError{ApplicationErrorKind::kLimitExceeded, what + " (instance '" + identity_.instance + "')", false});
}

// ---- futures -------------------------------------------------------------------------------------------------------

void LiveInstance::drop(Slot& slot) noexcept {
  if (inert() || slot.detached) return;
  if (slot.completion.awaited()) {
    return die(ApplicationError{ApplicationErrorKind::kMisuse,
                                "the future of " + std::string(to_string(slot.kind)) + " '" + slot.name +
                                    "' was dropped while other code awaits it (instance '" + identity_.instance + "')",
                                false});
  }
  if (slot.kind == OperationKind::kQueue) deliver(queues_.drop(slot));
  if (slot.completion.done() || slot.schedule_id == 0 || slot.kind == OperationKind::kRetriedActivity) return;
  if (slot.kind == OperationKind::kExternal) waits_.remove(slot);
  const EventId id = slot.schedule_id;
  if (slot.kind != OperationKind::kTimer) dropped_.push_back(id);
  operations_.take(id);
}

void LiveInstance::detach(const SlotRef& slot) {
  if (inert()) return;
  slot->detached = true;
  if (slot->kind != OperationKind::kRetriedActivity) return;
  std::erase_if(adopted_, [](const SlotRef& each) { return each->completion.done(); });
  adopted_.push_back(slot);
}

void LiveInstance::taken(Slot& slot) noexcept {
  if (slot.kind == OperationKind::kQueue) queues_.read(slot);
}

// ---- reads ---------------------------------------------------------------------------------------------------------

std::optional<std::string> LiveInstance::key_value(const std::string& key) const {
  return key_values_.get(key);
}

std::map<std::string, std::string> LiveInstance::key_values() const {
  std::map<std::string, std::string> values;
  for (const auto& [key, entry] : key_values_.entries()) values.emplace(key, entry.value);
  return values;
}

void LiveInstance::trace(LogLevel level, std::string_view message) {
  if (replaying_ || inert() || !traces_) return;
  const OutsideTurn outside;  // a sink reads clocks and writes files, which is its business
  traces_->trace(level, message);
}

}  // namespace perdure
