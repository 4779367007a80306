// NodeCode: what a node can run: the user's registry and the engine's own activities, with policies that may change
// while it runs.
#pragma once

#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/provider.h>
#include <perdure/registry.h>

namespace perdure::runtime {

// Thread-safe.
class NodeCode {
 public:
  explicit NodeCode(Registry registry);

  [[nodiscard]] std::optional<ResolvedOrchestration> orchestration(const std::string& name,
                                                                   const std::optional<SemanticVersion>& version) const;
  [[nodiscard]] std::shared_ptr<const ActivityHandler> activity(const std::string& name) const;
  // Throws std::invalid_argument for an orchestration or version that is not registered.
  void set_version_policy(std::string_view name, VersionPolicy policy);

  // Ascending; empty for an unknown name.
  [[nodiscard]] std::vector<SemanticVersion> versions(const std::string& name) const;
  // Names that a node with nothing but this code would fetch.
  [[nodiscard]] std::vector<std::string> orchestration_names() const;
  [[nodiscard]] std::vector<std::string> activity_names() const;

 private:
  mutable std::shared_mutex mutex_;
  Registry registry_;
  std::shared_ptr<const ActivityHandler> read_key_value_;
};

}  // namespace perdure::runtime
