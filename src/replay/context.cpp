#include <perdure/context.h>

#include <charconv>
#include <limits>
#include <utility>

#include <perdure/detail/json_scalars.h>
#include <perdure/error.h>
#include "model/name_rule.h"
#include "model/reserved_names.h"
#include "model/utf8.h"
#include "replay/retry_loop.h"

namespace perdure {

namespace {

// now + delay, where "for ever" stays in the calendar.
Timestamp saturating_add(Timestamp now, Milliseconds delay) {
  if (delay <= Milliseconds::zero()) return now;
  const auto room = std::numeric_limits<std::int64_t>::max() - now.time_since_epoch().count();
  return delay.count() > room ? Timestamp(Milliseconds(std::numeric_limits<std::int64_t>::max())) : now + delay;
}

std::uint64_t parse_recorded(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;  // an inert instance records nothing, and 0 is as good as any
}

void check_instance_id(std::string_view id) {
  if (const auto problem = problem_with_name("an instance id", id)) throw MisuseError(*problem);
}

// The engine's own activities do not pass here.
void check_not_reserved(std::string_view what, std::string_view name) {
  if (const auto problem = problem_with_reserved_name(what, name)) throw MisuseError(*problem);
}

// Keys are bytes. JSON has text only, so another key becomes the list of its bytes.
std::string json_from_key(std::string_view key) {
  if (!detail::find_invalid_utf8(key)) return detail::json_from_string(key);
  std::string list;
  for (const char byte : key) {
    list += list.empty() ? "[" : ",";
    list += std::to_string(static_cast<unsigned char>(byte));
  }
  return list + "]";
}

}  // namespace

detail::SlotRef OrchestrationContext::schedule_activity_raw(std::string_view name, Payload input,
                                                            const ActivityOptions& options) {
  auto& running = core("schedule_activity");
  check_not_reserved("an activity's name", name);
  if (options.tag()) check_not_reserved("a tag", *options.tag());
  events::ActivityScheduled activity{std::string(name), std::move(input), options.session(), options.tag(),
                                     options.timeouts()};
  if (!options.retry()) return running.open(std::move(activity));
  return detail::start_retry_loop(running, std::move(activity), *options.retry());
}

Future<void> OrchestrationContext::schedule_timer(Milliseconds delay) {
  auto& running = core("schedule_timer");
  return Future<void>(running.open(events::TimerCreated{saturating_add(running.now(), delay)}));
}

Future<void> OrchestrationContext::schedule_timer_at(Timestamp fire_at) {
  return Future<void>(core("schedule_timer_at").open(events::TimerCreated{fire_at}));
}

detail::SlotRef OrchestrationContext::subscribe(std::string_view name) {
  return core("schedule_wait").open(events::ExternalSubscribed{std::string(name)});
}

detail::SlotRef OrchestrationContext::dequeue(std::string_view queue) {
  return core("dequeue_event").open(events::QueueSubscribed{std::string(queue)});
}

detail::SlotRef OrchestrationContext::schedule_child(std::string_view name, Payload input,
                                                     const SubOrchestrationOptions& options) {
  if (options.instance_id() && options.instance_id()->empty()) check_instance_id(*options.instance_id());
  return core("schedule_sub_orchestration")
      .open(events::SubOrchestrationScheduled{std::string(name), options.instance_id().value_or(std::string()),
                                              std::move(input), options.version()});
}

void OrchestrationContext::start_detached(std::string_view name, std::string_view instance_id, Payload input,
                                          const StartOptions& options) {
  core("schedule_orchestration")
      .chain({std::string(name), std::string(instance_id), std::move(input), options.version()});
}

void OrchestrationContext::end_with_continue_as_new(Payload input, const StartOptions& options) {
  core("continue_as_new").continue_as_new(std::move(input), options.version());
}

void OrchestrationContext::check_not_empty(std::size_t size) {
  if (size == 0) throw MisuseError("select of an empty vector would wait forever");
}

std::string OrchestrationContext::new_guid() {
  return core("new_guid").record(RecordedValueKind::kGuid);
}

Timestamp OrchestrationContext::utc_now() {
  const auto milliseconds = parse_recorded(core("utc_now").record(RecordedValueKind::kUtcNow));
  return Timestamp(Milliseconds(static_cast<std::int64_t>(milliseconds)));
}

std::uint64_t OrchestrationContext::random() {
  return parse_recorded(core("random").record(RecordedValueKind::kRandom));
}

void OrchestrationContext::set_custom_status(std::string status) {
  core("set_custom_status").set_custom_status(std::move(status));
}

void OrchestrationContext::reset_custom_status() {
  core("reset_custom_status").set_custom_status(std::nullopt);
}

std::optional<std::string> OrchestrationContext::get_custom_status() const {
  return core("get_custom_status").custom_status();
}

void OrchestrationContext::set_kv(std::string_view key, std::string value) {
  core("set_kv_value").set_key_value(std::string(key), std::move(value));
}

Payload OrchestrationContext::get_kv(std::string_view key) const {
  return core("get_kv_value").key_value(std::string(key));
}

void OrchestrationContext::throw_kv_codec_error(std::string_view key, const std::string& reason) {
  throw CodecError(Error(Error::Source::kCodec, std::string(key),
                         ApplicationError{ApplicationErrorKind::kOrchestrationFailed, reason, false}));
}

std::map<std::string, std::string> OrchestrationContext::get_kv_all_values() const {
  return core("get_kv_all_values").key_values();
}

std::vector<std::string> OrchestrationContext::get_kv_all_keys() const {
  std::vector<std::string> keys;
  for (auto& [key, value] : core("get_kv_all_keys").key_values()) keys.push_back(key);
  return keys;
}

std::size_t OrchestrationContext::get_kv_length() const {
  return core("get_kv_length").key_values().size();
}

void OrchestrationContext::clear_kv_value(std::string_view key) {
  core("clear_kv_value").clear_key_value(std::string(key));
}

void OrchestrationContext::clear_all_kv_values() {
  core("clear_all_kv_values").clear_key_values();
}

std::size_t OrchestrationContext::prune_kv_values_updated_before(Timestamp time) {
  return core("prune_kv_values_updated_before").prune_key_values(time);
}

detail::SlotRef OrchestrationContext::read_foreign_kv(std::string_view instance_id, std::string_view key) {
  check_instance_id(instance_id);
  std::string input =
      R"({"instance":)" + detail::json_from_string(instance_id) + R"(,"key":)" + json_from_key(key) + "}";
  return core("get_kv_value_from_instance")
      .open(events::ActivityScheduled{
          std::string(kReadKeyValueActivity), std::move(input), std::nullopt, std::nullopt, {}});
}

const std::string& OrchestrationContext::instance_id() const {
  return core("instance_id").instance_id();
}

ExecutionId OrchestrationContext::execution_id() const {
  return core("execution_id").execution_id();
}

const std::string& OrchestrationContext::orchestration_name() const {
  return core("orchestration_name").orchestration_name();
}

SemanticVersion OrchestrationContext::orchestration_version() const {
  return core("orchestration_version").orchestration_version().value_or(SemanticVersion());
}

bool OrchestrationContext::is_replaying() const {
  return core("is_replaying").is_replaying();
}

void OrchestrationContext::trace(LogLevel level, std::string_view message) const {
  core("trace").trace(level, message);
}

}  // namespace perdure
