#include "runtime/node_code.h"

#include <mutex>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "model/reserved_names.h"

namespace perdure::runtime {

namespace {

// {"instance", "key"} -> the stored value, which is JSON already, or null.
void read_key_value(const std::shared_ptr<detail::ActivityCall>& call, const Payload& input) {
  try {
    const auto wanted = nlohmann::json::parse(input.value_or(""));
    auto value =
        call->store->read_key_value(wanted.at("instance").get<std::string>(), wanted.at("key").get<std::string>());
    if (!value) throw std::runtime_error(value.error().to_string());
    call->end(Payload(value->value_or("null")));
  } catch (...) {
    call->end(detail::activity_error_from_current_exception());
  }
}

}  // namespace

NodeCode::NodeCode(Registry registry)
    : registry_(std::move(registry)), read_key_value_(std::make_shared<const ActivityHandler>(read_key_value)) {}

std::optional<ResolvedOrchestration> NodeCode::orchestration(const std::string& name,
                                                             const std::optional<SemanticVersion>& version) const {
  const std::shared_lock lock(mutex_);
  return registry_.resolve(name, version);
}

std::shared_ptr<const ActivityHandler> NodeCode::activity(const std::string& name) const {
  if (name == kReadKeyValueActivity) return read_key_value_;
  return registry_.resolve_activity(name);  // nothing adds activities to a running node
}

void NodeCode::set_version_policy(std::string_view name, VersionPolicy policy) {
  const std::unique_lock lock(mutex_);
  registry_.set_version_policy(name, policy);
}

std::vector<std::string> NodeCode::orchestration_names() const {
  return registry_.names();
}

std::vector<SemanticVersion> NodeCode::versions(const std::string& name) const {
  return registry_.versions(name);
}

std::vector<std::string> NodeCode::activity_names() const {
  auto names = registry_.activity_names();
  names.emplace_back(kReadKeyValueActivity);
  return names;
}

}  // namespace perdure::runtime
