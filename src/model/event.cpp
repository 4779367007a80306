// Names, classes and one-line summaries of events.
#include <perdure/event.h>

#include "model/names.h"
#include "model/utf8.h"

namespace perdure {

namespace {

constexpr std::size_t kShownOfValue = 80;

// Builds " 'name' of 2 input=…" part by part. An empty value shows as (empty), because "" is also a JSON payload.
class Summary {
 public:
  explicit Summary(std::string_view kind) : text_(kind) {}

  Summary& name(std::string_view name) { return append(" '", name, "'"); }
  Summary& of(EventId source) { return append(" of ", std::to_string(source), ""); }

  Summary& value(std::string_view label, std::string_view value) {
    text_ += ' ';
    text_ += label;
    return value.empty() ? append("=", "(empty)", "") : append("=", value, "");
  }
  Summary& value(std::string_view label, const Payload& payload) {
    return payload ? value(label, std::string_view(*payload)) : *this;
  }
  Summary& value(std::string_view label, const std::optional<SemanticVersion>& version) {
    return version ? value(label, std::string_view(version->to_string())) : *this;
  }
  Summary& value(std::string_view label, Timestamp time) {
    return value(label, std::string_view(std::to_string(time.time_since_epoch().count())));
  }
  Summary& value(std::string_view label, const ErrorDetails& error) {
    return value(label, std::string_view(describe(error)));
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  Summary& append(std::string_view before, std::string_view value, std::string_view after) {
    text_ += before;
    text_ += detail::printable(value, kShownOfValue);
    text_ += after;
    return *this;
  }

  std::string text_;
};

// Adds what tells events of one kind apart.
struct Summarize {
  Summary& summary;

  void operator()(const events::OrchestrationStarted& e) const {
    summary.name(e.name).value("version", e.version).value("input", e.input);
    if (e.parent) summary.value("parent", std::string_view(e.parent->instance)).of(e.parent->schedule_id);
    if (!e.carry_forward.empty()) summary.value("carried", std::string_view(std::to_string(e.carry_forward.size())));
    summary.value("custom_status", e.initial_custom_status);
  }
  void operator()(const events::OrchestrationCompleted& e) const { summary.value("output", e.output); }
  void operator()(const events::OrchestrationFailed& e) const { summary.value("error", e.error); }
  void operator()(const events::OrchestrationContinuedAsNew& e) const {
    summary.value("version", e.version).value("input", e.input);
  }
  void operator()(const events::OrchestrationCancelRequested& e) const {
    summary.value("reason", std::string_view(e.reason));
  }

  void operator()(const events::ActivityScheduled& e) const {
    summary.name(e.name).value("input", e.input).value("session", e.session_id).value("tag", e.tag);
  }
  void operator()(const events::ActivityCompleted& e) const { completed(e); }
  void operator()(const events::ActivityFailed& e) const { failed(e); }
  void operator()(const events::ActivityCancelRequested& e) const { cancelled(e); }

  void operator()(const events::TimerCreated& e) const { summary.value("fire_at", e.fire_at); }
  void operator()(const events::TimerFired& e) const { summary.of(e.source).value("fire_at", e.fire_at); }

  void operator()(const events::ExternalSubscribed& e) const { summary.name(e.name); }
  void operator()(const events::ExternalEvent& e) const { summary.name(e.name).value("data", e.data); }
  void operator()(const events::ExternalSubscriptionCancelled& e) const { cancelled(e); }

  void operator()(const events::QueueSubscribed& e) const { summary.name(e.queue); }
  void operator()(const events::QueueEventDelivered& e) const { summary.name(e.queue).value("data", e.data); }
  void operator()(const events::QueueSubscriptionCancelled& e) const { cancelled(e); }

  void operator()(const events::SubOrchestrationScheduled& e) const { started(e); }
  void operator()(const events::SubOrchestrationCompleted& e) const { completed(e); }
  void operator()(const events::SubOrchestrationFailed& e) const { failed(e); }
  void operator()(const events::SubOrchestrationCancelRequested& e) const { cancelled(e); }
  void operator()(const events::OrchestrationChained& e) const { started(e); }

  void operator()(const events::CustomStatusUpdated& e) const {
    e.status ? summary.value("status", e.status) : summary.value("status", std::string_view("(cleared)"));
  }
  void operator()(const events::KeyValueSet& e) const { summary.name(e.key).value("value", std::string_view(e.value)); }
  void operator()(const events::KeyValueCleared& e) const { summary.name(e.key); }
  void operator()(const events::KeyValuesCleared&) const {}
  void operator()(const events::ValueRecorded& e) const { summary.value(to_string(e.kind), std::string_view(e.value)); }

 private:
  void started(const auto& e) const {
    summary.name(e.name).value("instance", std::string_view(e.instance)).value("version", e.version);
    summary.value("input", e.input);
  }
  void completed(const auto& e) const { summary.of(e.source).value("result", e.result); }
  void failed(const auto& e) const { summary.of(e.source).value("error", e.error); }
  void cancelled(const auto& e) const { summary.of(e.source).value("reason", to_string(e.reason)); }
};

}  // namespace

EventClass classify(const EventBody& body) noexcept {
  return detail::kEventKinds[body.index()].event_class;
}

std::string_view kind_name(const EventBody& body) noexcept {
  return detail::kEventKinds[body.index()].name;
}

std::string summarize(const EventBody& body) {
  Summary summary(kind_name(body));
  std::visit(Summarize{summary}, body);
  return summary.take();
}

std::string_view to_string(CancelReason reason) noexcept {
  return detail::enum_text(reason);
}
std::string_view to_string(RecordedValueKind kind) noexcept {
  return detail::enum_text(kind);
}

}  // namespace perdure
