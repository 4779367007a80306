#include <map>
#include <set>
#include <variant>

#include "testing/simulation/end_checks.h"

namespace perdure::testing::simulation {

namespace {

// Goes through a history once.
class HistoryRules {
 public:
  void check(const Event& event) {
    if (event.id != ++last_id_) broken(event, "its id should be " + std::to_string(last_id_));
    if (event.turn < last_turn_) broken(event, "its turn lies behind that of the event before");
    if (event.time < last_time_) broken(event, "its time lies behind that of the event before");
    if ((event.id == 1) != std::holds_alternative<events::OrchestrationStarted>(event.body)) {
      broken(event, "a history begins with its start, and has one");
    }
    if (ended_ && classify(event.body) != EventClass::kBreadcrumb) broken(event, "it comes behind the end");
    last_turn_ = event.turn;
    last_time_ = event.time;
    ended_ = ended_ || classify(event.body) == EventClass::kTerminal;
    if (classify(event.body) == EventClass::kDecision) scheduled_.emplace(event.id, &event);
    std::visit([&](const auto& body) { check_body(event, body); }, event.body);
  }
  std::vector<std::string> take() {
    if (ended_by_request_) check_breadcrumbs();
    return std::move(broken_);
  }

 private:
  void broken(const Event& event, const std::string& why) {
    broken_.push_back("event " + std::to_string(event.id) + " (" + std::string(kind_name(event.body)) + "): " + why);
  }

  template <class Scheduled>
  const Scheduled* completes(const Event& event, EventId source) {
    const auto found = scheduled_.find(source);
    const auto* scheduled = found == scheduled_.end() ? nullptr : std::get_if<Scheduled>(&found->second->body);
    if (!scheduled) broken(event, "event " + std::to_string(source) + ", which it completes, is no such operation");
    if (!completed_.emplace(source, event.id).second) {
      broken(event, "event " + std::to_string(source) + " is completed a second time");
    }
    return scheduled;
  }

  // A cancel and a terminate reach every activity, and say so.
  void check_breadcrumbs() {
    for (const auto& [id, event] : scheduled_) {
      const bool is_activity = std::holds_alternative<events::ActivityScheduled>(event->body);
      if (!is_activity || completed_.contains(id) || withdrawn_.contains(id)) continue;
      broken(*event, "it was open at the end, and nothing says that it was withdrawn");
    }
  }

  template <class Body>
  void check_body(const Event&, const Body&) {}  // the others have no rules of their own
  void check_body(const Event& event, const events::ActivityCompleted& body) {
    completes<events::ActivityScheduled>(event, body.source);
  }
  void check_body(const Event&, const events::ActivityCancelRequested& body) { withdrawn_.insert(body.source); }
  void check_body(const Event&, const events::OrchestrationFailed& body) {
    const auto* error = std::get_if<ApplicationError>(&body.error);
    ended_by_request_ =
        error && (error->kind == ApplicationErrorKind::kCancelled || error->kind == ApplicationErrorKind::kTerminated);
  }
  void check_body(const Event& event, const events::ActivityFailed& body) {
    completes<events::ActivityScheduled>(event, body.source);
  }
  void check_body(const Event& event, const events::SubOrchestrationCompleted& body) {
    completes<events::SubOrchestrationScheduled>(event, body.source);
  }
  void check_body(const Event& event, const events::SubOrchestrationFailed& body) {
    completes<events::SubOrchestrationScheduled>(event, body.source);
  }
  void check_body(const Event& event, const events::TimerFired& body) {
    const auto* timer = completes<events::TimerCreated>(event, body.source);
    if (timer && event.time < timer->fire_at) broken(event, "the timer fired early");
  }

  std::vector<std::string> broken_;
  std::map<EventId, const Event*> scheduled_;
  std::map<EventId, EventId> completed_;
  std::set<EventId> withdrawn_;
  bool ended_by_request_ = false;
  EventId last_id_ = 0;
  TurnNumber last_turn_ = 0;
  Timestamp last_time_ = Timestamp::min();
  bool ended_ = false;
};

}  // namespace

std::vector<std::string> broken_rules(std::span<const Event> history) {
  HistoryRules rules;
  for (const Event& event : history) rules.check(event);
  return rules.take();
}

}  // namespace perdure::testing::simulation
