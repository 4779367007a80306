// Gate: an orchestration that waits until it is told to go, on nodes of any engine version. For tests of upgrades.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <perdure/perdure.h>

namespace perdure::test {

inline SemanticVersion v(std::string_view text) {
  return SemanticVersion::of(text);
}

// Stands in for a node of that engine version.
inline RuntimeOptions engine(std::string_view version) {
  RuntimeOptions options;
  options.engine_version = v(version);
  return options;
}

// One that replays these versions.
inline RuntimeOptions supporting(std::string_view least, std::string_view most) {
  RuntimeOptions options = engine(least);
  options.supported_replay_versions = {{v(least), v(most)}};
  return options;
}

// Which node ran the code of which instance. A handle: copies are the same record, and nodes keep one.
class Ran {
 public:
  void on(const std::string& node, const std::string& instance) const {
    const std::scoped_lock lock(state_->mutex);
    state_->by_node[node].insert(instance);
  }
  [[nodiscard]] std::set<std::string> of(const std::string& node) const {
    const std::scoped_lock lock(state_->mutex);
    const auto found = state_->by_node.find(node);
    return found == state_->by_node.end() ? std::set<std::string>() : found->second;
  }

 private:
  struct State {
    std::mutex mutex;
    std::map<std::string, std::set<std::string>> by_node;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// Waits for "go" and answers the name of the node.
inline Registry gate(const std::string& node, const Ran& ran) {
  Registry registry;
  registry.add_orchestration("Gate", [node, ran](OrchestrationContext ctx) -> Orchestration<std::string> {
    ran.on(node, ctx.instance_id());
    co_await ctx.schedule_wait<std::string>("go");
    co_return node;
  });
  return registry;
}

// Begins the instance on a node of that engine, and leaves it waiting.
template <class Place>
void begin_pinned(Place& place, const Ran& ran, const std::string& instance, std::string_view version) {
  auto& node = place.start_node(gate("beginner", ran), engine(version));
  place.client().start_orchestration(instance, "Gate");
  place.settle();
  place.stop_node(node);
  ASSERT_EQ(place.client().get_instance_info(instance).pinned_version, v(version));
}

// Lets it end.
template <class Place>
void go(const Place& place, const std::string& instance) {
  place.client().raise_event(instance, "go", "now");
}

}  // namespace perdure::test
