#include "cli/history_timeline.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "cli/text.h"
#include "model/utf8.h"

namespace perdure::cli {

namespace {

class TimelineBuilder {
 public:
  void add(const Event& event) {
    event_ = &event;
    std::visit(*this, event.body);
  }
  std::vector<TimelineRow> take() {
    // Operations still open when the execution ends are closed with it; timers have no cancellation event.
    const auto whole = row_of_.find(execution_);
    if (whole != row_of_.end() && rows_[whole->second].end) {
      for (TimelineRow& row : rows_) {
        if (row.end) continue;
        row.end = rows_[whole->second].end;
        row.how = OperationEnd::kGivenUp;
      }
    }
    return std::move(rows_);
  }

  void operator()(const events::OrchestrationStarted& e) {
    execution_ = event_->id;
    begin(e.name + (e.version ? ' ' + e.version->to_string() : ""));
  }
  void operator()(const events::OrchestrationCompleted&) { end(execution_, OperationEnd::kCompleted); }
  void operator()(const events::OrchestrationFailed&) { end(execution_, OperationEnd::kFailed); }
  void operator()(const events::OrchestrationContinuedAsNew&) { end(execution_, OperationEnd::kCompleted); }

  void operator()(const events::ActivityScheduled& e) { begin(e.name); }
  void operator()(const events::ActivityCompleted& e) { end(e.source, OperationEnd::kCompleted); }
  void operator()(const events::ActivityFailed& e) { end(e.source, OperationEnd::kFailed); }
  void operator()(const events::ActivityCancelRequested& e) { end(e.source, OperationEnd::kGivenUp); }

  void operator()(const events::TimerCreated& e) {
    // The time of a timer may be any, also one so long ago that a difference would overflow.
    begin("timer " + duration_text(std::max(e.fire_at, event_->time) - event_->time));
  }
  void operator()(const events::TimerFired& e) { end(e.source, OperationEnd::kCompleted); }

  void operator()(const events::ExternalSubscribed& e) {
    begin("event " + e.name);
    waits_[e.name].push_back(event_->id);
  }
  void operator()(const events::ExternalEvent& e) { arrive(waits_[e.name]); }
  void operator()(const events::ExternalSubscriptionCancelled& e) { end(e.source, OperationEnd::kGivenUp); }

  // A message may have come before somebody asked for it.
  void operator()(const events::QueueSubscribed& e) {
    begin("queue " + e.queue);
    if (std::size_t& kept = kept_[e.queue]; kept > 0) {
      --kept;
      end(event_->id, OperationEnd::kCompleted);
    } else {
      dequeues_[e.queue].push_back(event_->id);
    }
  }
  void operator()(const events::QueueEventDelivered& e) {
    if (!arrive(dequeues_[e.queue])) ++kept_[e.queue];
  }
  void operator()(const events::QueueSubscriptionCancelled& e) { end(e.source, OperationEnd::kGivenUp); }

  void operator()(const events::SubOrchestrationScheduled& e) { begin(e.name + ' ' + e.instance); }
  void operator()(const events::SubOrchestrationCompleted& e) { end(e.source, OperationEnd::kCompleted); }
  void operator()(const events::SubOrchestrationFailed& e) { end(e.source, OperationEnd::kFailed); }
  void operator()(const events::SubOrchestrationCancelRequested& e) { end(e.source, OperationEnd::kGivenUp); }

  void operator()(const auto&) {}  // takes no time

 private:
  void begin(std::string label) {
    row_of_[event_->id] = rows_.size();
    rows_.push_back({.event = event_->id, .label = std::move(label), .begin = event_->time, .end = {}});
  }
  // The first end counts: what comes later belongs to nobody any more.
  void end(EventId source, OperationEnd how) {
    const auto found = row_of_.find(source);
    if (found == row_of_.end()) return;
    TimelineRow& row = rows_[found->second];
    if (row.end) return;
    row.end = event_->time;
    row.how = how;
  }
  // Ends the oldest of these waits that is open. False: there is none.
  bool arrive(std::vector<EventId>& waits) {
    for (const EventId wait : waits) {
      if (rows_[row_of_.at(wait)].end) continue;
      end(wait, OperationEnd::kCompleted);
      return true;
    }
    return false;
  }

  const Event* event_ = nullptr;
  EventId execution_ = 0;  // what began it
  std::vector<TimelineRow> rows_;
  std::map<EventId, std::size_t> row_of_;
  std::map<std::string, std::vector<EventId>> waits_;
  std::map<std::string, std::vector<EventId>> dequeues_;
  std::map<std::string, std::size_t> kept_;
};

constexpr std::size_t kLongestLabel = 40;

struct EndMark {
  const char* text;
  const char* bar;
  Colour colour;
};

EndMark mark_of(OperationEnd how) {
  switch (how) {
    case OperationEnd::kCompleted:
      return {"completed", "━", Colour::kGood};
    case OperationEnd::kFailed:
      return {"failed", "━", Colour::kBad};
    case OperationEnd::kGivenUp:
      return {"given up", "╌", Colour::kQuiet};
    case OperationEnd::kOpen:
      break;
  }
  return {"open", "╌", Colour::kWarning};
}

std::string repeated(const char* text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

std::vector<TimelineRow> timeline_of(std::span<const Event> history) {
  TimelineBuilder builder;
  for (const Event& event : history) builder.add(event);
  return builder.take();
}

void print_timeline(const Context& context, std::span<const TimelineRow> rows, Timestamp now, std::size_t width) {
  if (rows.empty()) return;
  const Timestamp first = rows.front().begin;
  Timestamp last = first;
  for (const TimelineRow& row : rows) last = std::max({last, row.begin, row.end.value_or(row.begin)});
  if (std::ranges::any_of(rows, [](const TimelineRow& row) { return !row.end; })) last = std::max(last, now);
  const auto span = static_cast<double>(std::max<std::int64_t>((last - first).count(), 1));
  const auto column = [&](Timestamp time) {
    const double share = static_cast<double>((time - first).count()) / span;
    return static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width));
  };
  std::string scale = duration_text(last - first);
  scale.insert(0, width > scale.size() + 1 ? width - scale.size() - 1 : 1, ' ');
  Table table({"EVENT", "OPERATION", "AFTER", "TOOK", "END", '0' + scale});
  for (const TimelineRow& row : rows) {
    const auto [text, bar, colour] = mark_of(row.how);
    const std::size_t from = std::min(column(row.begin), width - 1);
    const std::size_t to = std::max(column(row.end.value_or(last)), from + 1);
    table.add({std::to_string(row.event), detail::printable(row.label, kLongestLabel), duration_text(row.begin - first),
               row.end ? duration_text(*row.end - row.begin) : "-", painted(context, colour, text),
               std::string(from, ' ') + painted(context, colour, repeated(bar, to - from))});
  }
  table.print(context);
}

}  // namespace perdure::cli
