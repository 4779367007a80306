// What the demonstration says at its end: the timeline, what would have been lost, and whether all of it held.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ledger.h"
#include "order.h"
#include "progress.h"
#include "worker.h"

namespace order_demo {

// Everything that was seen.
struct Story {
  std::vector<WorkerLife> workers;       // the first one, and the one that went on
  std::vector<perdure::Event> at_death;  // the history when the first worker was found dead
  std::vector<perdure::Event> history;   // the history in the end
  perdure::OrchestrationStatus status;   // in the end
  std::vector<LedgerEntry> ledger;       // in the end

  [[nodiscard]] const WorkerLife& dead() const { return workers.front(); }
  // When the successor of the dead worker began with the step that the latter did not finish.
  [[nodiscard]] std::optional<perdure::Timestamp> resumed() const {
    if (workers.size() < 2) return std::nullopt;
    for (const LedgerEntry& entry : ledger) {
      if (entry.worker == workers.back().id && entry.step == kStepOfDeath) return entry.time;
    }
    return std::nullopt;
  }
  // The history in the end begins with what was in it at the death.
  [[nodiscard]] bool went_on() const {
    return !at_death.empty() && at_death.size() <= history.size() &&
           std::equal(at_death.begin(), at_death.end(), history.begin());
  }
};

// ---- The timeline ----

// What tells this event from others of its kind, in a few words.
inline std::string details(const perdure::Event& event, const Progress& progress) {
  namespace events = perdure::events;
  if (const auto* started = std::get_if<events::OrchestrationStarted>(&event.body)) return started->name;
  if (const auto* activity = std::get_if<events::ActivityScheduled>(&event.body)) return activity->name;
  if (const auto* wait = std::get_if<events::ExternalSubscribed>(&event.body)) return wait->name;
  if (const auto* external = std::get_if<events::ExternalEvent>(&event.body)) {
    return external->name + " = " + text_of(external->data);
  }
  if (const auto* timer = std::get_if<events::TimerCreated>(&event.body)) {
    return "fires in " + std::to_string((timer->fire_at - event.time) / std::chrono::hours(1)) + " h";
  }
  if (const auto* completed = std::get_if<events::ActivityCompleted>(&event.body)) {
    for (const StepProgress& each : progress) {
      if (each.scheduled_by == completed->source) return each.step.name + (" = " + each.result);
    }
  }
  if (const auto* failed = std::get_if<events::OrchestrationFailed>(&event.body)) return describe(failed->error);
  return "";
}

inline void print_timeline(const Story& story, const Style& style) {
  print("The recorded history of the order:");
  print();
  if (story.history.empty()) return;
  const Progress progress = progress_of(story.history);
  const perdure::Timestamp start = (story.at_death.empty() ? story.history : story.at_death).front().time;
  const WorkerLife& dead = story.dead();
  const auto mark = [&](perdure::Timestamp time, const std::string& what) {
    print(style.paint(Colour::kRed, "  " + right('+' + milliseconds(time - start), 9) + "  ======= " + what));
  };
  bool marked = story.workers.size() < 2;  // nobody died
  const auto mark_death = [&] {
    marked = true;
    mark(*dead.ended, "worker " + std::to_string(dead.id) + ' ' + dead.death.text());
    const auto resumed = story.resumed();
    if (!resumed) return;
    mark(*resumed, "worker " + std::to_string(story.workers.back().id) + " resumes at " + kStepOfDeath + ", " +
                       milliseconds(*resumed - *dead.ended) + " later");
  };
  for (const perdure::Event& event : story.history) {
    if (!marked && event.time >= *dead.ended) mark_death();
    const std::string kind(perdure::kind_name(event.body));
    const std::string more = details(event, progress);
    print("  " + right('+' + milliseconds(event.time - start), 9) + "  turn " + std::to_string(event.turn) + "  " +
          (more.empty() ? kind : padded(kind, 24) + more));
  }
  if (!marked) mark_death();
}

// ---- What would have been lost ----

inline void print_losses(const Story& story) {
  if (story.workers.size() < 2 || story.at_death.empty()) return;
  const Progress progress = progress_of(story.at_death);
  print();
  print("Worker " + std::to_string(story.dead().id) + " died with these results in its memory. Without the history:");
  print();
  for (const StepProgress& each : progress) {
    if (!each.committed) continue;
    print("  " + padded(each.step.name, 14) + padded(each.result, 20) + each.step.if_lost + ", " +
          milliseconds(*each.committed - *each.begun) + " lost");
  }
  const auto lived = *story.dead().ended - story.at_death.front().time;
  print("  " + padded("the code", 14) + padded(std::string("in ") + kStepOfDeath, 20) +
        "starts again at its first line, " + milliseconds(lived) + " lost");
  if (!story.went_on()) return;
  print();
  print("With the history, " + std::to_string(story.at_death.size()) + " events restored the state of the order.");
  print(std::string(kStepOfDeath) +
        " was in progress without a committed result, so it ran a second time. Activities run at least");
  print("once. An activity whose effect must not happen twice passes the idempotency_key() of its");
  print("ActivityContext to the service it calls. The key is the same in every attempt.");
}

// ---- Whether all of it held ----

struct Check {
  bool held = false;
  std::string what;
  std::string otherwise;  // what was seen, if it did not hold
};

inline std::string names_of(const Progress& progress, bool (*wanted)(const StepProgress&)) {
  std::string names;
  for (const StepProgress& each : progress) {
    if (wanted(each)) names += (names.empty() ? "" : ", ") + std::string(each.step.name);
  }
  return names.empty() ? "nothing" : names;
}

inline Check check_moment_of_death(const Story& story) {
  const Progress progress = progress_of(story.at_death);
  const auto committed = names_of(progress, [](const StepProgress& each) { return each.committed.has_value(); });
  const auto open = names_of(progress, [](const StepProgress& each) { return each.under_way(); });
  const std::string expected = std::string(kReserveStock) + ", " + kChargeCard + ", " + kApproved;
  return {committed == expected && open == kStepOfDeath,
          expected + " were committed at that time, and " + kStepOfDeath + " was in progress",
          committed + " committed, " + open + " in progress"};
}

inline Check check_resumption(const Story& story) {
  const auto resumed = story.resumed();
  const std::string what = "the restarted program resumed at once and did not wait for locks to expire";
  if (!resumed || !story.dead().ended) return {false, what, "it never resumed"};
  const auto later = *resumed - *story.dead().ended;
  return {later < kLockTimeout, what + " (" + milliseconds(later) + ')', "it took " + milliseconds(later)};
}

// A step is what its ledger says: begun so often, ended so often.
inline void check_ledger(const Story& story, std::vector<Check>& checks) {
  const Progress then = progress_of(story.at_death);
  for (const StepProgress& each : then) {
    const std::string name = each.step.name;
    if (name == kApproved) continue;  // no activity
    const std::size_t begun = count(story.ledger, name, Ledger::kBegins);
    const std::size_t ended = count(story.ledger, name, Ledger::kEnds);
    const std::string seen = "started " + std::to_string(begun) + ", completed " + std::to_string(ended) + " times";
    if (each.under_way()) {
      checks.push_back(
          {begun == 2 && ended == 1, name + ", which was interrupted, started twice and completed once", seen});
    } else {
      const std::string when =
          each.committed ? ", committed before the kill, did not run again" : " ran once, after the kill";
      checks.push_back({begun == 1 && ended == 1, name + when, seen});
    }
  }
}

inline Check check_history(const Story& story) {
  constexpr std::array<std::string_view, 13> kExpected{
      "OrchestrationStarted", "ActivityScheduled", "ActivityCompleted",     "ActivityScheduled", "ActivityCompleted",
      "ExternalSubscribed",   "TimerCreated",      "ExternalEvent",         "ActivityScheduled", "ActivityCompleted",
      "ActivityScheduled",    "ActivityCompleted", "OrchestrationCompleted"};
  const bool as_expected = std::equal(
      story.history.begin(), story.history.end(), kExpected.begin(), kExpected.end(),
      [](const perdure::Event& event, std::string_view kind) { return perdure::kind_name(event.body) == kind; });
  return {as_expected, "the history has the " + std::to_string(kExpected.size()) + " expected events and no others",
          "it has the " + std::to_string(story.history.size()) + " events of the timeline"};
}

inline Check check_result(const Story& story, const std::string& order, const std::string& approved_by) {
  const std::string what = "the order completed with the results of both processes";
  if (!story.status.completed()) {
    return {false, what, std::string(perdure::to_string(story.status.state)) + ' ' + story.status.error_text()};
  }
  const Progress then = progress_of(story.at_death);
  const Progress later = progress_of(story.history);
  const Receipt expected{order, then[0].result, then[1].result, approved_by, later[3].result, later[4].result};
  const bool same = story.status.result<Receipt>() == expected && !expected.parcel.empty() && !expected.mail.empty();
  return {same, what, "it ended with " + story.status.output.value_or("nothing")};
}

inline std::vector<Check> check(const Story& story, const std::string& order, const std::string& approved_by) {
  const WorkerLife& first = story.workers.front();
  std::vector<Check> checks;
  checks.reserve(12);
  checks.push_back({first.ended && first.death.by_sigkill(), "the program killed itself with SIGKILL",
                    first.ended ? first.death.text() : "it is still running"});
  checks.push_back(check_moment_of_death(story));
  checks.push_back(check_resumption(story));
  check_ledger(story, checks);
  checks.push_back(check_history(story));
  checks.push_back({story.went_on(), "the events from before the kill are unchanged", "they differ"});
  checks.push_back(check_result(story, order, approved_by));
  const WorkerLife& last = story.workers.back();
  checks.push_back({last.ended && last.death.in_peace(), "the restarted program exited when it was asked to",
                    last.ended ? last.death.text() : "it is still running"});
  return checks;
}

// Returns whether all of them held.
inline bool print_checks(const std::vector<Check>& checks, const Style& style) {
  print();
  print("Checks:");
  print();
  bool all = true;
  for (const Check& each : checks) {
    all = all && each.held;
    print("  " + style.paint(each.held ? Colour::kGreen : Colour::kRed, each.held ? "ok  " : "FAIL") + "  " +
          each.what + (each.held ? "" : ": " + each.otherwise));
  }
  return all;
}

}  // namespace order_demo
