#include "providers/memory/key_values.h"

#include <utility>
#include <variant>

#include "model/planted_fault.h"

namespace perdure::memory {

void KeyValues::apply(const KeyValueMutation& mutation) {
  if (const auto* set = std::get_if<SetKeyValue>(&mutation)) {
    delta_[set->key] = Value{.value = set->value, .updated_at = set->updated_at};
  } else if (const auto* clear = std::get_if<ClearKeyValue>(&mutation)) {
    delta_[clear->key] = std::nullopt;
  } else {
    for (auto& [key, value] : delta_) value.reset();
    if (planted(PlantedFault::kClearAllKeepsOlderKeys)) return;
    for (const auto& [key, value] : store_) delta_[key] = std::nullopt;
  }
}

void KeyValues::merge() {
  store_ = merged();
  delta_.clear();
}

std::vector<KeyValue> KeyValues::snapshot() const {
  return listed(store_);
}

std::vector<KeyValue> KeyValues::live() const {
  return listed(merged());
}

std::optional<std::string> KeyValues::find(const std::string& key) const {
  if (const auto changed = delta_.find(key); changed != delta_.end()) {
    return changed->second ? std::optional(changed->second->value) : std::nullopt;
  }
  const auto kept = store_.find(key);
  return kept == store_.end() ? std::nullopt : std::optional(kept->second.value);
}

std::vector<KeyValue> KeyValues::listed(const std::map<std::string, Value>& values) {
  std::vector<KeyValue> list;
  list.reserve(values.size());
  for (const auto& [key, value] : values) {
    list.push_back({.key = key, .value = value.value, .updated_at = value.updated_at});
  }
  return list;
}

std::map<std::string, KeyValues::Value> KeyValues::merged() const {
  std::map<std::string, Value> values = store_;
  for (const auto& [key, value] : delta_) {
    if (value) {
      values[key] = *value;
    } else {
      values.erase(key);
    }
  }
  return values;
}

}  // namespace perdure::memory
