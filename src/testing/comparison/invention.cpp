#include "testing/comparison/invention.h"

#include <limits>
#include <utility>

#include "testing/validation/scene.h"

namespace perdure::testing::comparison {

namespace {

const std::vector<std::string> kOrchestrations{"Flow", "Order", "flow"};
const std::vector<std::string> kActivities{"Work", "Charge", "Ship"};
const std::vector<std::string> kOwners{"owner-a", "owner-b"};
const std::vector<std::string> kSessions{"s1", "s2", "s3", "s4"};
const std::vector<std::string> kTags{"gpu", "GPU"};

}  // namespace

const std::vector<std::string>& instance_ids() {
  static const std::vector<std::string> kIds{"order-1", "order-2", "Order-1", "it's %_", "\xC3\xB6", "child"};
  return kIds;
}

const std::vector<std::string>& key_names() {
  static const std::vector<std::string> kKeys{"a", "B", "", "\xC3\xB6", "b"};
  return kKeys;
}

std::string Invention::instance() {
  return dice_.one_of(instance_ids());
}

std::string Invention::orchestration() {
  return dice_.one_of(kOrchestrations);
}

std::string Invention::activity_name() {
  return dice_.one_of(kActivities);
}

std::string Invention::owner() {
  return dice_.one_of(kOwners);
}

std::string Invention::bytes() {
  switch (dice_.below(6)) {
    case 0:
      return {};
    case 1:
      return {'a', '\0', '\xFF', 'z'};
    case 2:
      return std::string(dice_.between(100, 3'000), 'x');
    default:
      return "\"" + std::to_string(dice_.below(1'000)) + "\"";
  }
}

Payload Invention::payload() {
  if (dice_.chance(30)) return std::nullopt;
  return bytes();
}

std::optional<SemanticVersion> Invention::version() {
  if (dice_.chance(40)) return std::nullopt;
  return dice_.one_of({SemanticVersion{1, 0, 0}, SemanticVersion{1, 10, 0}, SemanticVersion{2, 0, 1}});
}

Milliseconds Invention::lease() {
  if (dice_.chance(2)) return dice_.one_of({Milliseconds{0}, Milliseconds::max()});
  return Milliseconds{dice_.one_of({1'000, 5'000, 5'001, 20'000, 60'000})};
}

Milliseconds Invention::delay() {
  return Milliseconds{dice_.one_of({1, 100, 1'000, 5'000, 30'000})};
}

std::optional<Timestamp> Invention::visible_at() {
  if (dice_.chance(75)) return std::nullopt;
  const Milliseconds shift = dice_.chance(20) ? -delay() : delay();
  return run_.now() + shift;
}

Timestamp Invention::some_time() {
  const Milliseconds shift{static_cast<std::int64_t>(dice_.below(120'000)) - 119'000};
  return run_.now() + shift;
}

CapabilityFilter Invention::capability_filter() {
  CapabilityFilter filter;
  if (dice_.chance(80)) return filter;
  if (dice_.chance(50)) filter.engine_versions.push_back({SemanticVersion{1, 0, 0}, SemanticVersion{1, 10, 0}});
  if (dice_.chance(20)) filter.engine_versions.push_back({SemanticVersion{2, 0, 1}, SemanticVersion{3, 0, 0}});
  if (dice_.chance(40)) filter.orchestrations.push_back(orchestration());
  if (dice_.chance(40)) filter.activities.push_back(activity_name());
  return filter;
}

SuspectRule Invention::suspects() {
  SuspectRule rule;
  if (dice_.chance(75)) return rule;
  rule.from_attempts = static_cast<std::uint32_t>(dice_.below(4));
  rule.admit = dice_.chance(70);
  return rule;
}

OrchestrationFetch Invention::instance_fetch() {
  OrchestrationFetch fetch;
  fetch.limit = dice_.chance(2) ? 0 : dice_.between(1, 4);
  fetch.lock_timeout = lease();
  if (dice_.chance(60)) fetch.owner = owner();
  fetch.filter = capability_filter();
  fetch.suspects = suspects();
  fetch.with_history = dice_.chance(60);
  if (dice_.chance(15)) fetch.max_messages = dice_.below(4);
  if (dice_.chance(15)) fetch.max_bytes = dice_.below(400);
  return fetch;
}

TagFilter Invention::tags() {
  switch (dice_.below(10)) {
    case 0:
      return TagFilter::none();
    case 1:
      return TagFilter::tags({dice_.one_of(kTags)});
    case 2:
      return TagFilter::untagged_and({dice_.one_of(kTags)});
    case 3:
      return TagFilter::untagged_and(kTags);
    case 4:
      return TagFilter::untagged();
    default:
      return TagFilter::any();
  }
}

WorkFetch Invention::work_fetch() {
  WorkFetch fetch;
  fetch.limit = dice_.chance(2) ? 0 : dice_.between(1, 4);
  fetch.lock_timeout = lease();
  fetch.tags = tags();
  if (dice_.chance(70)) {
    fetch.session.emplace();
    fetch.session->owner = owner();
    fetch.session->lock_timeout = lease();
    if (dice_.chance(60)) fetch.session->max_sessions = dice_.below(4);
  }
  fetch.filter = capability_filter();
  fetch.suspects = suspects();
  return fetch;
}

NodeInfo Invention::node(const std::string& id) {
  NodeInfo node;
  node.id = id;
  node.engine_version = version().value_or(SemanticVersion{0, 0, 1});
  node.filter = capability_filter();
  node.tags = tags();
  for (std::size_t left = dice_.below(3); left > 0; --left) {
    node.orchestrations.push_back(
        {.name = orchestration(), .version = version().value_or(SemanticVersion{10, 20, 30})});
  }
  for (std::size_t left = dice_.below(3); left > 0; --left) node.activities.push_back(activity_name());
  return node;
}

InstanceFilter Invention::instance_filter() {
  InstanceFilter filter;
  if (dice_.chance(40)) {
    filter.statuses.push_back(static_cast<ExecutionStatus>(dice_.below(6)));
    if (dice_.chance(30)) filter.statuses.push_back(ExecutionStatus::kFailed);
    filter.exact_statuses = dice_.chance(30);
  }
  if (dice_.chance(20)) {
    filter.ids.emplace();
    for (std::size_t left = dice_.below(5); left > 0; --left) filter.ids->push_back(instance());
  }
  if (dice_.chance(15)) filter.name = orchestration();
  if (dice_.chance(10)) filter.version = version();
  if (dice_.chance(15)) filter.created_from = some_time();
  if (dice_.chance(15)) filter.created_before = some_time();
  if (dice_.chance(15)) filter.completed_before = some_time();
  return filter;
}

PruneOptions Invention::prune_options() {
  PruneOptions options;
  options.keep_last = dice_.below(4);
  if (dice_.chance(30)) options.completed_before = some_time();
  return options;
}

MessageRecord Invention::start(const std::string& instance) {
  MessageRecord record = start_message(instance, orchestration());
  record.visible_at = visible_at();
  return record;
}

ParentLink Invention::link() {
  return {.instance = instance(),
          .execution_id = dice_.between(1, 2),
          .schedule_id = dice_.between(1, 20),
          .incarnation = dice_.between(0, 1'000)};
}

ParentLink Invention::link_of(const std::string& instance) {
  for (const Both<OrchestrationItem>& turn : run_.in_flight().turns) {
    const auto& metadata = turn[0].metadata;
    const bool is_known = turn[0].instance == instance && metadata && metadata->parent;
    if (is_known && dice_.chance(50)) return *metadata->parent;
  }
  return link();
}

MessageRecord Invention::message(const std::string& instance) {
  const auto made = [&]() -> MessageRecord {
    switch (dice_.below(14)) {
      case 0: {
        MessageRecord record = cancel_message(instance);
        if (dice_.chance(50)) record.parent = link_of(instance);
        return record;
      }
      case 1:
        return terminate_message(instance);
      case 2: {
        const EventId id = dice_.between(1, 20);
        return timer_message(instance, id, run_.now() + delay());
      }
      case 3:
      case 4:
      case 5:
        return queue_message(instance, bytes());
      case 6: {
        if (dice_.chance(30)) return continue_message(instance, orchestration());
        MessageRecord record = start_message(instance, orchestration());
        if (dice_.chance(60)) record.parent = link();
        return record;
      }
      case 7:
        return completion_of(activity(instance, kFirstExecutionId, dice_.between(1, 20)));
      case 8: {  // written by a newer engine
        MessageRecord record = event_message(instance, "later");
        record.kind = static_cast<MessageKind>(dice_.between(13, 999));
        record.body = bytes();
        return record;
      }
      default:
        return event_message(instance, "event", bytes());
    }
  };
  MessageRecord record = made();
  if (!record.visible_at) record.visible_at = visible_at();
  record.must_exist = dice_.chance(25);
  return record;
}

MessageRecord Invention::activity(const std::string& instance, ExecutionId execution, EventId id) {
  MessageRecord record = testing::activity(instance, id, activity_name(), execution);
  if (dice_.chance(30)) record.session = dice_.one_of(kSessions);
  if (dice_.chance(30)) record.tag = dice_.one_of(kTags);
  if (dice_.chance(20)) record.timeouts.schedule_to_start = Milliseconds{dice_.one_of({0, 500, 3'000, 20'000})};
  if (dice_.chance(10)) record.timeouts.start_to_close = delay();
  if (dice_.chance(10)) record.timeouts.heartbeat = delay();
  if (dice_.chance(10)) record.body = bytes();
  record.visible_at = visible_at();
  return record;
}

MessageRecord Invention::completion_of(const MessageRecord& activity) {
  MessageRecord record = dice_.chance(25) ? failure(activity, "it broke") : completion(activity, bytes());
  record.must_exist = dice_.chance(15);
  return record;
}

std::vector<EventRecord> Invention::events(EventId first, std::size_t count) {
  std::vector<EventRecord> records;
  for (EventId id = first; id < first + count; ++id) {
    records.push_back(id == kFirstEventId ? started_event(orchestration()) : event(id, activity_name()));
    records.back().time = run_.now();
    if (dice_.chance(15)) records.back().body = bytes();
  }
  return records;
}

KeyValueMutation Invention::mutation() {
  const std::size_t kind = dice_.below(10);
  if (kind == 0) return ClearAllKeyValues{};
  const std::string key = dice_.one_of(key_names());
  if (kind <= 3) return ClearKeyValue{.key = key};
  return SetKeyValue{.key = key, .value = bytes(), .updated_at = some_time()};
}

Both<LockToken> Invention::turn_token() {
  InFlight& known = run_.in_flight();
  if (!known.turns.empty() && dice_.chance(80)) {
    const Both<OrchestrationItem>& turn = dice_.one_of(known.turns);
    return {turn[0].token, turn[1].token};
  }
  if (!known.ended_turns.empty() && dice_.chance(80)) return dice_.one_of(known.ended_turns);
  if (!known.work.empty() && dice_.chance(50)) return {known.work[0][0].token, known.work[0][1].token};
  const LockToken unknown{dice_.one_of<std::string>({"", "nobody's", "1", "i1-1"})};
  return {unknown, unknown};
}

Both<LockToken> Invention::work_token() {
  InFlight& known = run_.in_flight();
  if (!known.work.empty() && dice_.chance(80)) {
    const Both<WorkItem>& work = dice_.one_of(known.work);
    return {work[0].token, work[1].token};
  }
  if (!known.ended_work.empty() && dice_.chance(80)) return dice_.one_of(known.ended_work);
  if (!known.turns.empty() && dice_.chance(50)) return {known.turns[0][0].token, known.turns[0][1].token};
  const LockToken unknown{dice_.one_of<std::string>({"", "nobody's", "1", "a1-1"})};
  return {unknown, unknown};
}

}  // namespace perdure::testing::comparison
