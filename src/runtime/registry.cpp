#include <perdure/registry.h>

#include <stdexcept>
#include <utility>

#include "model/name_rule.h"
#include "model/reserved_names.h"

namespace perdure {

Registry& Registry::add(std::string_view name, std::string_view version,
                        std::shared_ptr<const OrchestrationHandler> handler) {
  const std::string label = "orchestration '" + std::string(name) + "'";
  const auto parsed = SemanticVersion::parse(version);
  if (auto problem = problem_with_name("an orchestration's name", name)) {
    errors_.push_back(std::move(*problem));
  } else if (!parsed) {
    errors_.push_back(label + ": '" + std::string(version) + "' is not a version; write it like 1.2.3");
  } else if (!orchestrations_[std::string(name)].emplace(*parsed, std::move(handler)).second) {
    errors_.push_back(label + ": version " + parsed->to_string() + " was registered twice");
  }
  return *this;
}

Registry& Registry::add_handler(std::string_view name, ActivityHandler handler) {
  const std::string label = "activity '" + std::string(name) + "'";
  if (auto problem = problem_with_name("an activity's name", name)) {
    errors_.push_back(std::move(*problem));
  } else if (auto reserved = problem_with_reserved_name("an activity's name", name)) {
    errors_.push_back(std::move(*reserved));
  } else if (!activities_.emplace(name, std::make_shared<const ActivityHandler>(std::move(handler))).second) {
    errors_.push_back(label + " was registered twice");
  }
  return *this;
}

Registry& Registry::replace_activity(std::string_view name, ActivityHandler handler) {
  if (auto problem = problem_with_name("an activity's name", name)) {
    errors_.push_back(std::move(*problem));
  } else {
    activities_.insert_or_assign(std::string(name), std::make_shared<const ActivityHandler>(std::move(handler)));
  }
  return *this;
}

Registry& Registry::merge(const Registry& other) {
  if (&other == this) return *this;
  for (const auto& [name, versions] : other.orchestrations_) {
    for (const auto& [version, handler] : versions) add(name, version.to_string(), handler);
  }
  for (const auto& [name, handler] : other.activities_) {
    if (!activities_.emplace(name, handler).second) {
      errors_.push_back("activity '" + name + "' was registered twice");
    }
  }
  errors_.insert(errors_.end(), other.errors_.begin(), other.errors_.end());
  return *this;
}

Registry& Registry::set_version_policy(std::string_view name, VersionPolicy policy) {
  policies_.insert_or_assign(std::string(name), policy);
  return *this;
}

std::optional<std::string> Registry::problem_with_policy(std::string_view name, const VersionPolicy& policy) const {
  const std::string label = "the version policy of orchestration '" + std::string(name) + "'";
  const auto versions = orchestrations_.find(name);
  if (versions == orchestrations_.end()) {
    return label + " names an orchestration that is not registered; register it, or remove the policy";
  }
  if (!policy.version() || versions->second.contains(*policy.version())) return std::nullopt;
  std::string registered;
  for (const auto& [version, handler] : versions->second) {
    registered += (registered.empty() ? "" : ", ") + version.to_string();
  }
  return label + " names version " + policy.version()->to_string() + ", which is not registered; registered are " +
         registered;
}

void Registry::check() const {
  std::string text;
  for (const auto& error : errors_) text += "; " + error;
  for (const auto& [name, policy] : policies_) {
    if (const auto problem = problem_with_policy(name, policy)) text += "; " + *problem;
  }
  if (!text.empty()) throw std::invalid_argument("the registry is not valid" + text);
}

std::optional<ResolvedOrchestration> Registry::resolve(std::string_view name,
                                                       const std::optional<SemanticVersion>& version) const {
  const auto versions = orchestrations_.find(name);
  if (versions == orchestrations_.end()) return std::nullopt;
  std::optional<SemanticVersion> wanted = version;
  if (!wanted) {
    const auto policy = policies_.find(name);
    if (policy != policies_.end()) wanted = policy->second.version();
  }
  const auto found = wanted ? versions->second.find(*wanted) : std::prev(versions->second.end());
  if (found == versions->second.end()) return std::nullopt;
  return ResolvedOrchestration{found->first, found->second};
}

std::shared_ptr<const ActivityHandler> Registry::resolve_activity(std::string_view name) const {
  const auto found = activities_.find(name);
  return found == activities_.end() ? nullptr : found->second;
}

std::vector<std::string> Registry::activity_names() const {
  std::vector<std::string> names;
  names.reserve(activities_.size());
  for (const auto& [name, handler] : activities_) names.push_back(name);
  return names;
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  names.reserve(orchestrations_.size());
  for (const auto& [name, versions] : orchestrations_) names.push_back(name);
  return names;
}

std::vector<SemanticVersion> Registry::versions(std::string_view name) const {
  std::vector<SemanticVersion> found;
  if (const auto versions = orchestrations_.find(name); versions != orchestrations_.end()) {
    for (const auto& [version, handler] : versions->second) found.push_back(version);
  }
  return found;
}

}  // namespace perdure
