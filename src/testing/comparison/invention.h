// Random arguments. Few ids and names, so that things meet; odd bytes, because a store must keep them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <perdure/provider.h>
#include <perdure/provider_admin.h>
#include "testing/comparison/run.h"

namespace perdure::testing::comparison {

[[nodiscard]] const std::vector<std::string>& instance_ids();
[[nodiscard]] const std::vector<std::string>& key_names();

class Invention {
 public:
  explicit Invention(Run& run) : run_(run), dice_(run.dice()) {}

  [[nodiscard]] std::string instance();
  [[nodiscard]] std::string orchestration();
  [[nodiscard]] std::string activity_name();
  [[nodiscard]] std::string owner();
  [[nodiscard]] std::string bytes();
  [[nodiscard]] Payload payload();
  [[nodiscard]] std::optional<SemanticVersion> version();
  [[nodiscard]] Milliseconds lease();
  [[nodiscard]] Milliseconds delay();
  [[nodiscard]] std::optional<Timestamp> visible_at();
  [[nodiscard]] Timestamp some_time();

  [[nodiscard]] CapabilityFilter capability_filter();
  [[nodiscard]] SuspectRule suspects();
  [[nodiscard]] OrchestrationFetch instance_fetch();
  [[nodiscard]] WorkFetch work_fetch();
  [[nodiscard]] NodeInfo node(const std::string& id);
  [[nodiscard]] InstanceFilter instance_filter();
  [[nodiscard]] PruneOptions prune_options();

  [[nodiscard]] MessageRecord start(const std::string& instance);
  [[nodiscard]] ParentLink link();
  // Of the instance, if one of its turns is in flight, but also any other.
  [[nodiscard]] ParentLink link_of(const std::string& instance);
  // For the orchestrator queue, of any kind that belongs there.
  [[nodiscard]] MessageRecord message(const std::string& instance);
  [[nodiscard]] MessageRecord activity(const std::string& instance, ExecutionId execution, EventId id);
  [[nodiscard]] MessageRecord completion_of(const MessageRecord& activity);
  [[nodiscard]] std::vector<EventRecord> events(EventId first, std::size_t count);
  [[nodiscard]] KeyValueMutation mutation();

  // Of something in flight as a rule, but also used ones and ones that never were.
  [[nodiscard]] Both<LockToken> turn_token();
  [[nodiscard]] Both<LockToken> work_token();

 private:
  [[nodiscard]] TagFilter tags();

  Run& run_;
  Dice& dice_;
};

}  // namespace perdure::testing::comparison
