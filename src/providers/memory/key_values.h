// The key-values of an instance: what past executions left, and what the current one did to it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/turn_commit.h>
#include <perdure/types.h>

namespace perdure::memory {

class KeyValues {
 public:
  void apply(const KeyValueMutation& mutation);
  // The execution ended: what it did is copied into the store.
  void merge();

  // The store alone, by key: what a replay of the current execution begins with.
  [[nodiscard]] std::vector<KeyValue> snapshot() const;
  // The delta over the store, by key: what clients see.
  [[nodiscard]] std::vector<KeyValue> live() const;
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const;

 private:
  struct Value {
    std::string value;
    Timestamp updated_at{};
  };

  [[nodiscard]] static std::vector<KeyValue> listed(const std::map<std::string, Value>& values);
  [[nodiscard]] std::map<std::string, Value> merged() const;

  std::map<std::string, Value> store_;
  std::map<std::string, std::optional<Value>> delta_;  // nullopt: a tombstone
};

}  // namespace perdure::memory
