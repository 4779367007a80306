// How far the order is, read from its history, and the display of that while it changes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <unistd.h>

#include "child_process.h"
#include "ledger.h"
#include "order.h"

namespace order_demo {

// ---- What the history says ----

struct StepProgress {
  Step step;
  perdure::EventId scheduled_by = 0;
  std::optional<perdure::Timestamp> begun;
  std::optional<perdure::Timestamp> committed;
  std::string result;

  [[nodiscard]] bool under_way() const { return begun && !committed; }
};
using Progress = std::array<StepProgress, kSteps.size()>;

inline std::string text_of(const perdure::Payload& payload) {
  return payload ? perdure::Codec<std::string>::decode(*payload) : std::string();
}

inline Progress progress_of(const std::vector<perdure::Event>& history) {
  Progress progress;
  for (std::size_t i = 0; i < kSteps.size(); ++i) progress[i].step = kSteps[i];
  const auto begin = [&](const perdure::Event& event, std::string_view name) {
    for (StepProgress& each : progress) {
      if (each.step.name != name) continue;
      each.scheduled_by = event.id;
      each.begun = event.time;
    }
  };
  const auto commit = [&](const perdure::Event& event, const perdure::Payload& result, const auto& is_it) {
    for (StepProgress& each : progress) {
      if (!is_it(each)) continue;
      each.committed = event.time;
      each.result = text_of(result);
    }
  };
  for (const perdure::Event& event : history) {
    if (const auto* activity = std::get_if<perdure::events::ActivityScheduled>(&event.body)) {
      begin(event, activity->name);
    } else if (const auto* wait = std::get_if<perdure::events::ExternalSubscribed>(&event.body)) {
      begin(event, wait->name);
    } else if (const auto* completed = std::get_if<perdure::events::ActivityCompleted>(&event.body)) {
      commit(event, completed->result,
             [&](const StepProgress& each) { return each.scheduled_by == completed->source; });
    } else if (const auto* external = std::get_if<perdure::events::ExternalEvent>(&event.body)) {
      commit(event, external->data, [&](const StepProgress& each) { return each.step.name == external->name; });
    }
  }
  return progress;
}

// ---- What is known about the processes ----

struct WorkerLife {
  pid_t id = 0;
  std::optional<perdure::Timestamp> ended;
  Death death;  // once it has ended
};

// ---- Text ----

enum class Colour { kNone, kRed = 31, kGreen = 32, kYellow = 33, kGrey = 90 };

struct Style {
  bool redraws = false;  // a terminal that can move its cursor
  bool colours = false;  // and whose owner wants colours

  static Style of_standard_output() {
    const auto variable = [](const char* name) {
      const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody changes the environment
      return std::string(value == nullptr ? "" : value);
    };
    const bool terminal = ::isatty(STDOUT_FILENO) == 1 && !variable("TERM").empty() && variable("TERM") != "dumb";
    return {terminal, terminal && variable("NO_COLOR").empty()};
  }
  [[nodiscard]] std::string paint(Colour colour, const std::string& text) const {
    if (!colours || colour == Colour::kNone) return text;
    return "\x1b[" + std::to_string(static_cast<int>(colour)) + 'm' + text + "\x1b[0m";
  }
};

inline std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}
inline std::string right(const std::string& text, std::size_t width) {
  return std::string(text.size() < width ? width - text.size() : 0, ' ') + text;
}
inline std::string milliseconds(perdure::Milliseconds duration) {
  return std::to_string(duration.count()) + " ms";
}
inline void print(const std::string& line = "") {
  std::fputs((line + '\n').c_str(), stdout);
}

// ---- The display ----

// On a terminal a block of lines that is drawn again and again; elsewhere a line whenever something has changed.
class Display {
 public:
  explicit Display(Style style) : style_(style) {}

  void show(const std::vector<perdure::Event>& history, const std::vector<WorkerLife>& workers) {
    const Progress progress = progress_of(history);
    const bool alive = !workers.empty() && !workers.back().ended;
    std::vector<Line> lines;
    lines.reserve(progress.size() + workers.size() + 1);
    for (const StepProgress& each : progress) lines.push_back(line_of(each, alive));
    if (style_.redraws) lines.push_back(bar(progress));
    for (const WorkerLife& worker : workers) lines.push_back(line_of(worker, history));
    style_.redraws ? redraw(std::move(lines)) : append(std::move(lines));
  }

 private:
  struct Line {
    std::string state;  // of which a change is news
    std::string text;
    bool worth_a_line = true;
  };

  [[nodiscard]] Line line_of(const StepProgress& each, bool alive) const {
    const bool waits = std::string_view(each.step.name) == kApproved;
    if (each.committed) return line("done", Colour::kGreen, each, *each.committed - *each.begun, each.result);
    if (!each.begun) return {"", "  " + padded("", 13) + style_.paint(Colour::kGrey, each.step.title), false};
    if (waits) return line("waiting", Colour::kYellow, each, now() - *each.begun, "");
    if (!alive) return line("interrupted", Colour::kRed, each, now() - *each.begun, "");
    return line("running", Colour::kYellow, each, now() - *each.begun, "");
  }
  [[nodiscard]] Line line(const std::string& state, Colour colour, const StepProgress& each,
                          perdure::Milliseconds taken, const std::string& result) const {
    // A time that still grows is of no use in a line that is not drawn again.
    const bool timed = style_.redraws || each.committed;
    return {state, "  " + style_.paint(colour, padded(state, 13)) +
                       (timed ? padded(each.step.title, 22) + right(milliseconds(taken), 8) : each.step.title) +
                       (result.empty() ? "" : "   " + result)};
  }
  [[nodiscard]] Line line_of(const WorkerLife& worker, const std::vector<perdure::Event>& history) const {
    const auto since = [&](perdure::Timestamp time) {
      return history.empty() ? std::string() : ", " + milliseconds(time - history.front().time) + " into the order";
    };
    std::string text = "  worker " + std::to_string(worker.id) + ": ";
    if (!worker.ended) return {"at work", text + "at work"};
    text += style_.paint(worker.death.in_peace() ? Colour::kNone : Colour::kRed, worker.death.text());
    return {"ended", text + since(*worker.ended)};
  }
  [[nodiscard]] Line bar(const Progress& progress) const {
    constexpr std::size_t kWidthOfStep = 8;
    const auto done = static_cast<std::size_t>(std::count_if(
        progress.begin(), progress.end(), [](const StepProgress& each) { return each.committed.has_value(); }));
    const std::string full(done * kWidthOfStep, '#');
    const std::string rest((progress.size() - done) * kWidthOfStep, '.');
    return {"", "  [" + style_.paint(Colour::kGreen, full) + rest + "] " + std::to_string(done) + " of " +
                    std::to_string(progress.size()) + " committed"};
  }

  // Often enough for times to run, and at once when there is news.
  void redraw(std::vector<Line> lines) {
    const bool same = std::equal(lines.begin(), lines.end(), shown_.begin(), shown_.end(),
                                 [](const Line& left, const Line& right) { return left.state == right.state; });
    if (same && now() < drawn_ + perdure::Milliseconds(40)) return;
    drawn_ = now();
    std::string frame;
    if (!shown_.empty()) frame += "\x1b[" + std::to_string(shown_.size()) + 'A';
    for (const Line& each : lines) frame += each.text + "\x1b[K\n";
    std::fputs(frame.c_str(), stdout);
    std::fflush(stdout);
    shown_ = std::move(lines);
  }
  void append(std::vector<Line> lines) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool news = i >= shown_.size() || shown_[i].state != lines[i].state;
      if (news && lines[i].worth_a_line) print(lines[i].text);
    }
    std::fflush(stdout);
    shown_ = std::move(lines);
  }

  Style style_;
  std::vector<Line> shown_;
  perdure::Timestamp drawn_{};
};

}  // namespace order_demo
