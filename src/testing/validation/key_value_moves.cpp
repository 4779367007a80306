#include "testing/validation/key_value_moves.h"

#include <algorithm>

namespace perdure::testing {

namespace {

Values values_of(const std::vector<KeyValue>& entries, Where where) {
  Values values;
  for (const KeyValue& entry : entries) {
    expect(values.emplace(entry.key, entry.value).second, "a key is listed twice: " + entry.key, where);
    expect_equal(entry.updated_at, written_at(), "the time of the value of " + entry.key, where);
  }
  return values;
}

}  // namespace

Timestamp written_at() {
  return Timestamp(Milliseconds{1'234'567});
}

KeyValueMutation set(const std::string& key, const std::string& value) {
  return SetKeyValue{.key = key, .value = value, .updated_at = written_at()};
}

KeyValueMutation clear(const std::string& key) {
  return ClearKeyValue{.key = key};
}

KeyValueMutation clear_all() {
  return ClearAllKeyValues{};
}

void write(Scene& scene, const std::string& instance, const std::vector<KeyValueMutation>& mutations, Where where) {
  scene.turn(instance, [&](TurnCommit& commit) { commit.key_values = mutations; }, where);
}

Values read(Scene& scene, const std::string& instance, Where where) {
  const Values values = values_of(take(scene.store().read_key_values(instance), where), where);
  for (const auto& [key, value] : values) {
    expect_equal(take(scene.store().read_key_value(instance, key), where), std::optional<std::string>(value),
                 "the value of " + key + " read alone", where);
  }
  return values;
}

Values read_snapshot(Scene& scene, const std::string& instance, Where where) {
  const std::vector<KeyValue> seen_by_operators = take(scene.admin(where).read_key_value_snapshot(instance), where);
  const OrchestrationItem item = scene.wake(instance, where);
  expect(item.history.has_value(), "the fetch brought no history", where);
  const std::vector<KeyValue>& entries = item.history->key_values;
  expect(std::is_sorted(entries.begin(), entries.end(),
                        [](const KeyValue& left, const KeyValue& right) { return left.key < right.key; }),
         "the snapshot is not in order of the keys", where);
  const StoredHistory later = take(scene.store().read_history(item.token, 0), where);
  expect(later.key_values == entries, "read_history() gives another snapshot than the fetch", where);
  expect(seen_by_operators == entries, "read_key_value_snapshot() gives another snapshot than the fetch", where);
  scene.ack(scene.commit_of(item), where);
  return values_of(entries, where);
}

}  // namespace perdure::testing
