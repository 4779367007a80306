#include "cli/event_views.h"

#include <cstdint>
#include <optional>
#include <variant>

#include <nlohmann/json.hpp>

#include "cli/instance_views.h"
#include "cli/text.h"
#include "model/utf8.h"

namespace perdure::cli {

namespace {

// The fields of an event into a sink, by what they are. A sink leaves out what is absent, or tells that it is.
template <class Sink>
struct EventFields {
  Sink& sink;

  void operator()(const events::OrchestrationStarted& e) const {
    sink.name("name", e.name);
    sink.version("version", e.version);
    sink.payload("input", e.input);
    sink.parent(e.parent);
    sink.carried(e.carry_forward);
    sink.text("custom_status", e.initial_custom_status);
  }
  void operator()(const events::OrchestrationCompleted& e) const { sink.payload("output", e.output); }
  void operator()(const events::OrchestrationFailed& e) const { sink.error(e.error); }
  void operator()(const events::OrchestrationContinuedAsNew& e) const {
    sink.payload("input", e.input);
    sink.version("version", e.version);
  }
  void operator()(const events::OrchestrationCancelRequested& e) const { sink.text("reason", e.reason); }

  void operator()(const events::ActivityScheduled& e) const {
    sink.name("name", e.name);
    sink.payload("input", e.input);
    sink.text("session", e.session_id);
    sink.text("tag", e.tag);
    sink.duration("start_to_close", e.timeouts.start_to_close);
    sink.duration("schedule_to_start", e.timeouts.schedule_to_start);
    sink.duration("heartbeat", e.timeouts.heartbeat);
    sink.payload("progress", e.progress);
    sink.number("first_attempt", e.earlier ? std::optional(e.earlier->first) : std::nullopt);
    sink.number("earlier_attempts", e.earlier ? std::optional<std::uint64_t>(e.earlier->count) : std::nullopt);
  }
  void operator()(const events::ActivityCompleted& e) const { completed(e); }
  void operator()(const events::ActivityFailed& e) const {
    failed(e);
    sink.payload("progress", e.progress);
    sink.number("attempts", e.attempts);
  }
  void operator()(const events::ActivityCancelRequested& e) const { cancelled(e); }

  void operator()(const events::TimerCreated& e) const { sink.time("fire_at", e.fire_at); }
  void operator()(const events::TimerFired& e) const {
    sink.source(e.source);
    sink.time("fire_at", e.fire_at);
  }

  void operator()(const events::ExternalSubscribed& e) const { sink.name("name", e.name); }
  void operator()(const events::ExternalEvent& e) const {
    sink.name("name", e.name);
    sink.payload("data", e.data);
  }
  void operator()(const events::ExternalSubscriptionCancelled& e) const { cancelled(e); }

  void operator()(const events::QueueSubscribed& e) const { sink.name("queue", e.queue); }
  void operator()(const events::QueueEventDelivered& e) const {
    sink.name("queue", e.queue);
    sink.payload("data", e.data);
  }
  void operator()(const events::QueueSubscriptionCancelled& e) const { cancelled(e); }

  void operator()(const events::SubOrchestrationScheduled& e) const { started(e); }
  void operator()(const events::SubOrchestrationCompleted& e) const { completed(e); }
  void operator()(const events::SubOrchestrationFailed& e) const { failed(e); }
  void operator()(const events::SubOrchestrationCancelRequested& e) const { cancelled(e); }
  void operator()(const events::OrchestrationChained& e) const { started(e); }

  void operator()(const events::CustomStatusUpdated& e) const { sink.text("status", e.status); }
  void operator()(const events::KeyValueSet& e) const {
    sink.name("key", e.key);
    sink.payload("value", e.value);
  }
  void operator()(const events::KeyValueCleared& e) const { sink.name("key", e.key); }
  void operator()(const events::KeyValuesCleared&) const {}
  void operator()(const events::ValueRecorded& e) const {
    sink.name("kind", std::string(to_string(e.kind)));
    sink.text("value", e.value);
  }

 private:
  void started(const auto& e) const {
    sink.name("name", e.name);
    sink.text("instance", e.instance);
    sink.payload("input", e.input);
    sink.version("version", e.version);
  }
  void completed(const auto& e) const {
    sink.source(e.source);
    sink.payload("result", e.result);
  }
  void failed(const auto& e) const {
    sink.source(e.source);
    sink.error(e.error);
  }
  void cancelled(const auto& e) const {
    sink.source(e.source);
    sink.text("reason", std::string(to_string(e.reason)));
  }
};

// Every field, with null for what is absent.
struct JsonFields {
  nlohmann::json fields = nlohmann::json::object();

  void name(const char* label, const std::string& name) { fields[label] = name; }
  void version(const char* label, const std::optional<SemanticVersion>& version) {
    fields[label] = version_json(version);
  }
  void payload(const char* label, const Payload& payload) { fields[label] = payload_json(payload); }
  void text(const char* label, const std::optional<std::string>& text) { fields[label] = text_json(text); }
  void number(const char* label, const std::optional<std::uint64_t>& number) {
    fields[label] = number ? nlohmann::json(*number) : nlohmann::json();
  }
  void time(const char* label, Timestamp time) { fields[label] = time_json(time); }
  void duration(const std::string& label, const std::optional<Milliseconds>& duration) {
    fields[label + "_ms"] = duration ? nlohmann::json(duration->count()) : nlohmann::json();
  }
  void source(EventId source) { fields["source"] = source; }
  void error(const ErrorDetails& error) { fields["error"] = error_json(error); }
  void parent(const std::optional<ParentLink>& parent) {
    fields["parent"] = nullptr;
    if (!parent) return;
    fields["parent"] = {{"instance", parent->instance},
                        {"execution_id", parent->execution_id},
                        {"event_id", parent->schedule_id},
                        {"incarnation", parent->incarnation}};
  }
  void carried(const std::vector<CarriedMessage>& messages) {
    nlohmann::json& list = fields["carried_forward"] = nlohmann::json::array();
    for (const CarriedMessage& message : messages) {
      list.push_back({{"queue", message.queue}, {"data", payload_json(message.data)}});
    }
  }
};

// What is there, as words.
struct TextFields {
  std::size_t longest;
  std::string line{};

  void word(std::string_view word) {
    if (!line.empty()) line += ' ';
    line += word;
  }
  void pair(const std::string& label, std::string_view value) { word(label + '=' + std::string(value)); }

  void name(const char*, const std::string& name) { word('\'' + name_text(name) + '\''); }
  void version(const char* label, const std::optional<SemanticVersion>& version) {
    if (version) pair(label, version->to_string());
  }
  void payload(const char* label, const Payload& payload) {
    if (payload) pair(label, payload_text(payload, longest));
  }
  void text(const char* label, const std::optional<std::string>& text) {
    if (text) pair(label, '\'' + detail::printable(*text, longest) + '\'');
  }
  void number(const char* label, const std::optional<std::uint64_t>& number) {
    if (number) pair(label, std::to_string(*number));
  }
  void time(const char* label, Timestamp time) { pair(label, time_text(time)); }
  void duration(const std::string& label, const std::optional<Milliseconds>& duration) {
    if (duration) pair(label, duration_text(*duration));
  }
  void source(EventId source) { word("of " + std::to_string(source)); }
  void error(const ErrorDetails& error) { pair("error", '\'' + detail::printable(describe(error), longest) + '\''); }
  void parent(const std::optional<ParentLink>& parent) {
    if (parent) pair("parent", '\'' + name_text(parent->instance) + "' of " + std::to_string(parent->schedule_id));
  }
  void carried(const std::vector<CarriedMessage>& messages) {
    if (!messages.empty()) pair("carried_forward", std::to_string(messages.size()));
  }
};

}  // namespace

nlohmann::json event_json(const Event& event) {
  JsonFields sink;
  std::visit(EventFields<JsonFields>{sink}, event.body);
  return {{"event_id", event.id},
          {"turn", event.turn},
          {"time", time_json(event.time)},
          {"kind", kind_name(event.body)},
          {"class", class_name(classify(event.body))},
          {"engine_version", event.engine_version.to_string()},
          {"details", std::move(sink.fields)}};
}

std::string event_text(const EventBody& body, std::size_t longest) {
  TextFields sink{longest};
  std::visit(EventFields<TextFields>{sink}, body);
  return std::move(sink.line);
}

std::string_view class_name(EventClass event_class) {
  switch (event_class) {
    case EventClass::kInput:
      return "input";
    case EventClass::kDecision:
      return "decision";
    case EventClass::kBreadcrumb:
      return "breadcrumb";
    case EventClass::kTerminal:
      return "terminal";
  }
  return "unknown";
}

}  // namespace perdure::cli
