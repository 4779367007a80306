// Which instances wait for something that no registered node can do.
#include <algorithm>
#include <utility>

#include <perdure/client.h>
#include "client/lost_rows.h"
#include "client/store_result.h"
#include "model/event_codec.h"
#include "model/message_codec.h"
#include "model/reserved_names.h"
#include "model/time_range.h"

namespace perdure {

namespace {

bool admits(const std::vector<std::string>& filter, const std::string& name) {
  return filter.empty() || std::find(filter.begin(), filter.end(), name) != filter.end();
}

// An execution that no turn has begun: of a queued start, or of a continuation. Without a version any will do.
struct NextExecution {
  std::string name;
  std::optional<SemanticVersion> version;
};

// What the nodes of a store can do together.
class Abilities {
 public:
  explicit Abilities(std::vector<NodeInfo> nodes) : nodes_(std::move(nodes)) {}

  // Why none can go on with it; nothing: one can.
  [[nodiscard]] std::optional<std::string> refusal(const InstanceInfo& instance) const {
    if (nodes_.empty()) return std::string(kNobody);
    const bool code = any([&](const NodeInfo& node) { return has_code(node, instance.name, instance.version); });
    if (!code) return no_code(instance.name, instance.version);
    const bool both = any([&](const NodeInfo& node) {
      return has_code(node, instance.name, instance.version) && replays(node, instance.pinned_version);
    });
    if (both) return std::nullopt;
    return "its execution is pinned to engine version " + instance.pinned_version->to_string() +
           ", which no registered node with its code replays; start a node of that version, or widen "
           "supported_replay_versions";
  }

  [[nodiscard]] std::optional<std::string> refusal(const NextExecution& next) const {
    if (nodes_.empty()) return std::string(kNobody);
    if (any([&](const NodeInfo& node) { return has_code(node, next.name, next.version); })) return std::nullopt;
    return no_code(next.name, next.version);
  }

  [[nodiscard]] std::optional<std::string> refusal(const QueuedActivity& activity) const {
    const std::string what = "activity '" + activity.name + "' (" + std::to_string(activity.activity_id) + ")";
    if (activity.ready_at > kLastTime) {
      return what + " is scheduled for a time after 9999; terminate the instance, or restore the store from a backup";
    }
    if (nodes_.empty()) return std::string(kNobody);
    const auto has_activity = [&](const NodeInfo& node) {
      return admits(node.filter.activities, activity.name) &&
             std::find(node.activities.begin(), node.activities.end(), activity.name) != node.activities.end();
    };
    if (!any(has_activity)) return what + " is not registered on any node; register it on a node that runs activities";
    if (any([&](const NodeInfo& node) { return has_activity(node) && served_tags(node.tags).matches(activity.tag); })) {
      return std::nullopt;
    }
    return what + (activity.tag ? " has tag '" + *activity.tag + "'" : std::string(" has no tag")) +
           ", which no registered node with its code serves; add it to the worker_tag_filter of such a node";
  }

 private:
  static constexpr const char* kNobody = "no node is registered; start a runtime on the store";

  template <class Predicate>
  [[nodiscard]] bool any(Predicate holds) const {
    return std::any_of(nodes_.begin(), nodes_.end(), holds);
  }
  static bool has_code(const NodeInfo& node, const std::string& name, const std::optional<SemanticVersion>& version) {
    return admits(node.filter.orchestrations, name) &&
           std::any_of(node.orchestrations.begin(), node.orchestrations.end(), [&](const OrchestrationVersion& known) {
             return known.name == name && (!version || known.version == *version);
           });
  }
  static bool replays(const NodeInfo& node, const std::optional<SemanticVersion>& pin) {
    const auto& ranges = node.filter.engine_versions;
    return !pin || ranges.empty() ||
           std::any_of(ranges.begin(), ranges.end(), [&](const VersionRange& range) { return range.contains(*pin); });
  }
  static std::string no_code(const std::string& name, const std::optional<SemanticVersion>& version) {
    return "orchestration '" + name + "'" + (version ? " version " + version->to_string() : std::string()) +
           " is not registered on any node; register it on a node that runs orchestrations";
  }

  std::vector<NodeInfo> nodes_;
};

// Returns the version that the continuation of an instance asks for, from the history of the execution before it. An
// instance that continued or was deleted since it was listed has none.
std::optional<SemanticVersion> continued_version(ProviderAdmin& admin, const InstanceInfo& instance) {
  const auto history = admin.read_history(instance.id, instance.execution_id);
  if (!history) return std::nullopt;
  for (auto record = history->rbegin(); record != history->rend(); ++record) {
    try {
      const Event event = decode_event(*record);
      if (const auto* next = std::get_if<events::OrchestrationContinuedAsNew>(&event.body)) return next->version;
    } catch (const DecodeError&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// Goes through the pages until there are no more, or enough has been found.
template <class Query, class List>
void each_page(Query query, const std::size_t& found, std::size_t limit, List list) {
  do {
    query.cursor = list(query);
  } while (!query.cursor.empty() && found < limit);
}

}  // namespace

std::vector<StuckInstance> Client::find_stuck_instances(std::size_t limit) const {
  const Abilities abilities(list_nodes());
  std::vector<StuckInstance> stuck;
  std::size_t found = 0;
  const auto look_at = [&](const std::string& instance, const auto& what) {
    if (found == limit) return true;
    auto reason = abilities.refusal(what);
    if (!reason) return false;
    stuck.push_back({instance, std::move(*reason)});
    ++found;
    return true;
  };
  const auto report = [&](const std::string& instance, std::optional<std::string> reason) {
    if (found == limit || !reason) return;
    stuck.push_back({instance, *std::move(reason)});
    ++found;
  };
  InstanceQuery running;
  running.filter.statuses = {ExecutionStatus::kRunning};
  each_page(running, found, limit, [&](const InstanceQuery& query) {
    InstancePage page = list_instances(query);
    for (const InstanceInfo& instance : page.instances) {
      if (look_at(instance.id, instance)) continue;
      report(instance.id, reason_for_endless_wait(store(), admin(), instance));
    }
    return page.next;
  });
  found = 0;
  InstanceQuery continued;
  continued.filter.statuses = {ExecutionStatus::kContinuedAsNew};
  each_page(continued, found, limit, [&](const InstanceQuery& query) {
    InstancePage page = list_instances(query);
    for (const InstanceInfo& instance : page.instances) {
      if (found < limit && has_lost_its_continuation(instance.id)) {
        stuck.push_back({instance.id, std::string("it ") + kLost});
        ++found;
      } else if (!look_at(instance.id, NextExecution{instance.name, continued_version(admin(), instance)})) {
        report(instance.id, reason_for_endless_delay(admin(), instance.id));
      }
    }
    return page.next;
  });
  found = 0;
  each_page(StartQuery(), found, limit, [&](const StartQuery& query) {
    StartPage page = value_of(admin().list_queued_starts(query));
    for (const QueuedStart& start : page.starts) {
      if (look_at(start.instance, NextExecution{start.name, requested_version(start.body_head)})) continue;
      report(start.instance, reason_for_endless_delay(admin(), start.instance));
    }
    return page.next;
  });
  found = 0;
  each_page(ActivityQuery(), found, limit, [&](const ActivityQuery& query) {
    ActivityPage page = list_activities(query);
    for (const QueuedActivity& activity : page.activities) look_at(activity.instance, activity);
    return page.next;
  });
  return stuck;
}

}  // namespace perdure
