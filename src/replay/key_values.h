// KeyValues: an instance's durable map as its code sees it. Ordered, because the order of keys reaches the code.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <perdure/types.h>

namespace perdure {

struct StoredValue {
  std::string value;
  Timestamp updated{};
};
using KeyValueSnapshot = std::map<std::string, StoredValue>;

class KeyValues {
 public:
  // The snapshot is the state at the end of the previous execution; this execution's own writes come from its events.
  explicit KeyValues(KeyValueSnapshot snapshot) : entries_(std::move(snapshot)) {}

  void set(const std::string& key, std::string value, Timestamp now) { entries_[key] = {std::move(value), now}; }
  void clear(const std::string& key) { entries_.erase(key); }
  void clear_all() { entries_.clear(); }

  [[nodiscard]] bool contains(const std::string& key) const { return entries_.contains(key); }
  [[nodiscard]] std::optional<std::string> get(const std::string& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? std::nullopt : std::optional(found->second.value);
  }
  [[nodiscard]] const KeyValueSnapshot& entries() const noexcept { return entries_; }
  [[nodiscard]] std::vector<std::string> updated_before(Timestamp time) const {
    std::vector<std::string> keys;
    for (const auto& [key, entry] : entries_) {
      if (entry.updated < time) keys.push_back(key);
    }
    return keys;
  }

 private:
  KeyValueSnapshot entries_;
};

}  // namespace perdure
