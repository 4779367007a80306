#include "replay/divergence.h"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace perdure {

namespace {

constexpr std::size_t kContextEvents = 3;

bool same(const events::ActivityScheduled& a, const events::ActivityScheduled& b) {
  return a.name == b.name && a.input == b.input && a.session_id == b.session_id && a.tag == b.tag;
}
bool same(const events::ExternalSubscribed& a, const events::ExternalSubscribed& b) {
  return a.name == b.name;
}
bool same(const events::QueueSubscribed& a, const events::QueueSubscribed& b) {
  return a.queue == b.queue;
}
bool same(const events::SubOrchestrationScheduled& a, const events::SubOrchestrationScheduled& b) {
  return a.name == b.name && a.input == b.input;
}
bool same(const events::OrchestrationChained& a, const events::OrchestrationChained& b) {
  return a.name == b.name && a.instance == b.instance && a.input == b.input;
}
bool same(const events::KeyValueSet& a, const events::KeyValueSet& b) {
  return a.key == b.key && a.value == b.value;
}
bool same(const events::KeyValueCleared& a, const events::KeyValueCleared& b) {
  return a.key == b.key;
}
bool same(const events::ValueRecorded& a, const events::ValueRecorded& b) {
  return a.kind == b.kind;
}
// TimerCreated, CustomStatusUpdated, KeyValuesCleared: being the next decision of that kind is enough.
template <class Body>
bool same(const Body&, const Body&) {
  return true;
}

}  // namespace

bool same_decision(const EventBody& recorded, const EventBody& decided) {
  if (recorded.index() != decided.index()) return false;
  return std::visit([&](const auto& a) { return same(a, *std::get_if<std::decay_t<decltype(a)>>(&decided)); },
                    recorded);
}

std::string divergence_report(const std::string& headline, const DivergencePlace& place,
                              const std::optional<std::string>& recorded, const std::optional<std::string>& done) {
  std::string text = headline + "\n";
  const std::size_t first = place.position > kContextEvents ? place.position - kContextEvents : 0;
  const auto number = [](EventId id) { return std::to_string(id) + "  "; };
  for (std::size_t i = first; i < std::min(place.position, place.turn.size()); ++i) {
    text += "    " + number(place.turn[i].id) + summarize(place.turn[i].body) + "\n";
  }
  const bool inside = place.position < place.turn.size();
  text += "  - " + (inside && recorded ? number(place.turn[place.position].id) : std::string()) +
          recorded.value_or("(nothing)") + "   <- recorded in history\n";
  text += "  + " + done.value_or("(nothing)") + "   <- decided by the code\n";
  text +=
      "The code must repeat the decisions of its history. Register changed code as a new version, or restore the code "
      "that wrote this history; clocks, random numbers and unordered containers in it have the same effect.";
  return text;
}

}  // namespace perdure
