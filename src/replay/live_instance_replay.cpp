// LiveInstance: the replay of committed turns. Each recorded decision, drop and end must be repeated by the code.
#include <algorithm>
#include <utility>

#include "model/error_text.h"
#include "replay/divergence.h"
#include "replay/live_instance.h"

namespace perdure {

namespace {

// The last turn of an execution that ended without its code's say: the code did not run, or what it did was discarded,
// or, in a cancelled turn, one cannot tell.
bool ended_by_engine(std::span<const Event> turn) {
  for (const Event& event : turn) {
    const auto* failed = std::get_if<events::OrchestrationFailed>(&event.body);
    if (!failed) continue;
    const auto* error = std::get_if<ApplicationError>(&failed->error);
    if (!error) return true;
    return error->kind != ApplicationErrorKind::kOrchestrationFailed && error->kind != ApplicationErrorKind::kPanicked;
  }
  return false;
}

std::optional<EventId> dropped_source(const EventBody& body) {
  return std::visit(
      [](const auto& event) -> std::optional<EventId> {
        if constexpr (requires { event.source, event.reason; }) {
          if (event.reason == CancelReason::kDroppedFuture) return event.source;
        }
        return std::nullopt;
      },
      body);
}

std::string drop_text(EventId id) {
  return "drop of the future of event " + std::to_string(id);
}

std::string describe_end(const std::variant<Payload, ApplicationError>& result) {
  if (const auto* error = std::get_if<ApplicationError>(&result)) {
    return summarize(events::OrchestrationFailed{*error});
  }
  return summarize(events::OrchestrationCompleted{std::get<Payload>(result)});
}

bool same_error(const ApplicationError& recorded, ApplicationError error) {
  if (!is_stored_form(recorded.message, error.message)) return false;
  error.message = recorded.message;
  return error == recorded;
}

}  // namespace

void LiveInstance::replay(std::span<const Event> events) {
  if (failure()) return;
  // The facts of the whole history first: they are needed to end an execution whose code stops fitting half-way.
  for (const Event& event : events) {
    if (const auto problem = facts_.problem_with(event)) {
      facts_.stop_at_damage(events.back());
      return die(ConfigurationError{ConfigurationErrorKind::kCorruptHistory, identity_.instance, *problem});
    }
    facts_.record(event);
  }
  const Running running(*this);
  replaying_ = true;
  for (std::size_t first = 0; first < events.size() && !failure();) {
    std::size_t last = first;
    while (last < events.size() && events[last].turn == events[first].turn) ++last;
    replay_turn(events.subspan(first, last - first));
    first = last;
  }
  replaying_ = false;
  recorded_ = {};
}

void LiveInstance::replay_turn(std::span<const Event> turn) {
  if (ended_by_engine(turn)) return;
  recorded_ = turn;
  next_recorded_ = 0;
  now_ = turn.front().time;
  bool terminal = false;
  for (std::size_t i = 0; i < turn.size() && !failure(); ++i) {
    switch (classify(turn[i].body)) {
      case EventClass::kInput:
        apply(turn[i]);
        break;
      case EventClass::kDecision:
        if (i >= next_recorded_)
          diverge("a recorded decision was not repeated", i, summarize(turn[i].body), std::nullopt);
        break;
      case EventClass::kBreadcrumb:
        if (const auto source = dropped_source(turn[i].body); source && std::erase(dropped_, *source) == 0) {
          diverge("a recorded drop of a future was not repeated", i, drop_text(*source), std::nullopt);
        }
        break;
      case EventClass::kTerminal:
        terminal = true;
        check_terminal(turn[i].body, i);
        break;
    }
  }
  if (!failure()) check_end_of_recorded_turn(turn, terminal);
}

void LiveInstance::check_end_of_recorded_turn(std::span<const Event> turn, bool terminal) {
  if (!dropped_.empty()) {
    const auto first = *std::min_element(dropped_.begin(), dropped_.end());
    return diverge("the code dropped a future that its history did not drop", turn.size(), std::nullopt,
                   drop_text(first));
  }
  if (terminal) return;
  if (finished()) {
    diverge("the code finished although its history continues", turn.size(), std::nullopt,
            describe_end(finished()->result));
  } else if (const auto* next = continued()) {
    diverge("the code continued as new although its history continues", turn.size(), std::nullopt,
            summarize(events::OrchestrationContinuedAsNew{next->input, next->version}));
  }
}

// A stored end must be the end that the code comes to.
void LiveInstance::check_terminal(const EventBody& body, std::size_t position) {
  bool same = false;
  if (const auto* completed = std::get_if<events::OrchestrationCompleted>(&body)) {
    const auto* output = finished() ? std::get_if<Payload>(&finished()->result) : nullptr;
    same = output && *output == completed->output;
  } else if (const auto* next = std::get_if<events::OrchestrationContinuedAsNew>(&body)) {
    same = continued() && continued()->input == next->input;
  } else if (const auto* failed = std::get_if<events::OrchestrationFailed>(&body)) {
    const auto* recorded = std::get_if<ApplicationError>(&failed->error);
    const auto* error = finished_with_error();
    same = recorded && error && same_error(*recorded, *error);
  }
  if (same) return;
  std::optional<std::string> done;
  if (finished()) done = describe_end(finished()->result);
  if (const auto* next = continued()) done = summarize(events::OrchestrationContinuedAsNew{next->input, next->version});
  diverge("the code did not end as recorded", position, summarize(body), done ? done : "the code is still waiting");
}

void LiveInstance::diverge(const std::string& headline, std::size_t position,
                           const std::optional<std::string>& recorded, const std::optional<std::string>& done) {
  const std::string where = headline + " (instance '" + identity_.instance + "', execution " +
                            std::to_string(identity_.execution) + ", orchestration '" + facts_.name() + "' " +
                            identity_.version.to_string() + ", turn " + std::to_string(recorded_.front().turn) + ")";
  die(ConfigurationError{ConfigurationErrorKind::kNondeterminism, facts_.name(),
                         divergence_report(where, {recorded_, position}, recorded, done)});
}

}  // namespace perdure
