#include "runtime/node_code.h"

#include <cstdint>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <perdure/detail/thrown.h>
#include "model/reserved_names.h"

namespace perdure::runtime {

namespace {

std::string key_from_json(const nlohmann::json& key) {
  if (key.is_string()) return key.get<std::string>();
  const auto bytes = key.get<std::vector<std::uint8_t>>();
  return {bytes.begin(), bytes.end()};
}

// The dispatcher gives an activity of the engine back if its failure may pass.
ApplicationError failed(std::string message, bool may_pass) {
  return {ApplicationErrorKind::kActivityFailed, std::move(message), may_pass};
}

// {"instance", "key"} -> the stored value, whatever its bytes are, or an absent payload.
void read_key_value(const std::shared_ptr<detail::ActivityCall>& call, const Payload& input) {
  try {
    const auto wanted = nlohmann::json::parse(input.value_or(""));
    auto value = call->store->read_key_value(wanted.at("instance").get<std::string>(), key_from_json(wanted.at("key")));
    if (value) {
      call->end(std::move(*value));
    } else {
      // Only a failure of the store is worth another try; corrupt data stays corrupt.
      const bool later = !value.error().data_error() && value.error().kind() != ProviderErrorKind::kCorruptData;
      call->end(failed(value.error().to_string(), later));
    }
  } catch (const std::exception& error) {
    call->end(failed(detail::text_of(error), false));
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
  if (const auto problem = registry_.problem_with_policy(name, policy)) throw std::invalid_argument(*problem);
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
