#include "testing/environment/stall_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <map>

#include "model/reserved_names.h"
#include "replay/history_facts.h"

namespace perdure::testing {

namespace {

constexpr std::size_t kDeepest = 8;    // children of children
constexpr std::size_t kShownIds = 10;  // of other instances

// The subscriptions that nothing has answered, by the rules of replay/channels.h: an event goes to the first that waits
// for it or is lost, a queue's message is kept. (Those that an execution was handed are events of its own first turn.)
class Subscriptions {
 public:
  void record(const Event& event) {
    if (const auto* wait = std::get_if<events::ExternalSubscribed>(&event.body)) {
      waits_[wait->name].push_back(event.id);
    } else if (const auto* raised = std::get_if<events::ExternalEvent>(&event.body)) {
      if (auto& waiting = waits_[raised->name]; !waiting.empty()) waiting.pop_front();
    } else if (const auto* read = std::get_if<events::QueueSubscribed>(&event.body)) {
      reads_[read->queue].push_back(event.id);
    } else if (const auto* message = std::get_if<events::QueueEventDelivered>(&event.body)) {
      ++unread_[message->queue];
    } else if (const auto* no_wait = std::get_if<events::ExternalSubscriptionCancelled>(&event.body)) {
      drop(waits_, no_wait->source);
    } else if (const auto* no_read = std::get_if<events::QueueSubscriptionCancelled>(&event.body)) {
      drop(reads_, no_read->source);
    }
  }

  [[nodiscard]] std::vector<std::string> describe() const {
    std::vector<std::string> lines;
    for (const auto& [name, waiting] : waits_) {
      for (const EventId id : waiting) {
        lines.push_back("event '" + name + "' (" + std::to_string(id) +
                        "): raise it with raise_event_after() or client().raise_event() while it is waited for");
      }
    }
    for (const auto& [queue, reading] : reads_) {
      const auto unread = unread_.find(queue);
      const std::size_t answered = unread == unread_.end() ? 0 : std::min(unread->second, reading.size());
      for (std::size_t i = answered; i < reading.size(); ++i) {
        lines.push_back("a message of queue '" + queue + "' (" + std::to_string(reading[i]) +
                        "): send it with client().enqueue_event()");
      }
    }
    return lines;
  }

 private:
  using ByName = std::map<std::string, std::deque<EventId>>;

  static void drop(ByName& subscriptions, EventId id) {
    for (auto& [name, ids] : subscriptions) std::erase(ids, id);
  }

  ByName waits_;
  ByName reads_;
  std::map<std::string, std::size_t> unread_;
};

std::string describe_activity(const events::ActivityScheduled& activity, const ActivityIdentity& identity,
                              const StallScene& scene) {
  std::string text = "activity '" + activity.name + "' (" + std::to_string(identity.activity_id) + ")";
  if (scene.under_way.contains(identity)) {
    return text + ": it has been started and never ends; see set_activity_duration()";
  }
  if (!scene.tags.matches(activity.tag) && !is_engine_activity(activity.name)) {
    const std::string tag = activity.tag ? "tag '" + *activity.tag + "'" : std::string("no tag");
    return text + ": it has " + tag + ", which this environment does not serve; see RuntimeOptions::worker_tag_filter";
  }
  return text;
}

class StallReport {
 public:
  StallReport(const Client& client, const StallScene& scene) : client_(client), scene_(scene) {}

  // What it waits for, a line each.
  [[nodiscard]] std::vector<std::string> lines_about(const std::string& instance, std::size_t depth = 0) const {
    const OrchestrationStatus status = client_.get_orchestration_status(instance);
    if (status.state == OrchestrationState::kNotFound) return {"its start, which was not sent"};
    if (status.state == OrchestrationState::kPending) {
      return {"its first turn: this environment does not fetch instances of '" + status.name +
              "'; see RuntimeOptions::fetch_only_registered"};
    }
    const std::vector<Event> history = client_.read_execution_history(instance);
    HistoryFacts facts;
    Subscriptions subscriptions;
    for (const Event& event : history) {
      facts.record(event);
      subscriptions.record(event);
    }
    std::vector<std::string> lines;
    for (const EventId id : facts.open_activities()) {
      const auto& activity = std::get<events::ActivityScheduled>(history.at(id - 1).body);
      lines.push_back(describe_activity(activity, {instance, status.execution_id, id}, scene_));
    }
    for (std::string& line : subscriptions.describe()) lines.push_back(std::move(line));
    for (const auto& [id, child] : facts.open_children()) {
      lines.push_back("child '" + child + "' (" + std::to_string(id) + "), which waits for");
      if (depth == kDeepest) continue;
      for (const std::string& line : lines_about(child, depth + 1)) lines.push_back("  " + line);
    }
    if (lines.empty()) lines.emplace_back("no operation of its history");
    return lines;
  }

 private:
  const Client& client_;
  const StallScene& scene_;
};

std::string other_instances(const Client& client) {
  InstanceQuery query;
  query.limit = kShownIds;
  std::string text;
  for (const InstanceInfo& info : client.list_instances(query).instances) {
    text += (text.empty() ? "'" : ", '") + info.id + "'";
  }
  return text.empty() ? "there is no instance at all" : "those that do: " + text;
}

}  // namespace

std::string describe_stall(const Client& client, const std::string& instance, const StallScene& scene) {
  const std::string when = "at " + to_text(scene.now - scene.start);
  const OrchestrationStatus status = client.get_orchestration_status(instance);
  if (status.state == OrchestrationState::kNotFound) {
    return "instance '" + instance + "' does not exist " + when +
           ", and nothing is left that could start it; start it with start() or run(). " + other_instances(client);
  }
  std::string text = "instance '" + instance + "' of '" + status.name + "' has not ended " + when +
                     ", and nothing is left that could happen. It waits for\n";
  for (const std::string& line : StallReport(client, scene).lines_about(instance)) text += "  " + line + "\n";
  const std::vector<Event> history = client.read_execution_history(instance);
  if (!history.empty()) text += "Its history:\n" + draw_timeline(history, scene.start);
  return text;
}

std::string draw_timeline(std::span<const Event> history, Timestamp start) {
  std::string text;
  for (const Event& event : history) {
    text += "  " + to_text(event.time - start) + "  turn " + std::to_string(event.turn) + "  " +
            std::to_string(event.id) + " " + summarize(event.body) + "\n";
  }
  return text;
}

std::string to_text(Milliseconds duration) {
  const auto days = std::chrono::floor<std::chrono::days>(duration);
  const std::chrono::hh_mm_ss time(duration - days);
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%lldd %02d:%02d:%02d.%03d", static_cast<long long>(days.count()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
  return buffer.data();
}

}  // namespace perdure::testing
