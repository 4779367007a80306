#include "providers/memory/reads.h"

namespace perdure::memory {

namespace {

const Instance* created_instance(const Store& store, const std::string& id) {
  const KeyRow* const row = store.keys.find(id);
  return row != nullptr && row->instance ? &*row->instance : nullptr;
}

}  // namespace

std::optional<InstanceStatus> read_status(const Store& store, const std::string& instance) {
  const KeyRow* const row = store.keys.find(instance);
  if (row == nullptr || is_orphan(*row)) return std::nullopt;
  InstanceStatus status;
  if (!row->instance) {
    status.pending = true;
    status.name = row->mailbox.first_start()->record.name;
    return status;
  }
  const Instance& known = *row->instance;
  status.name = known.name;
  status.version = known.version;
  status.execution_id = known.current_id();
  status.status = known.current().status;
  status.output = known.current().output;
  status.custom_status = known.custom_status;
  status.custom_status_version = known.custom_status_version;
  status.incarnation = known.incarnation;
  return status;
}

std::optional<CustomStatus> read_custom_status(const Store& store, const std::string& instance,
                                               std::uint64_t last_seen_version) {
  const Instance* const known = created_instance(store, instance);
  if (known == nullptr || known->custom_status_version <= last_seen_version) return std::nullopt;
  return CustomStatus{.value = known->custom_status, .version = known->custom_status_version};
}

std::optional<std::string> read_key_value(const Store& store, const std::string& instance, const std::string& key) {
  const Instance* const known = created_instance(store, instance);
  return known == nullptr ? std::nullopt : known->key_values.find(key);
}

std::vector<KeyValue> read_key_values(const Store& store, const std::string& instance) {
  const Instance* const known = created_instance(store, instance);
  return known == nullptr ? std::vector<KeyValue>() : known->key_values.live();
}

std::optional<InstanceStats> read_stats(const Store& store, const std::string& instance) {
  const Instance* const known = created_instance(store, instance);
  if (known == nullptr) return std::nullopt;
  const Execution& current = known->current();
  InstanceStats stats;
  stats.history_events = current.events.size();
  stats.history_bytes = current.bytes;
  stats.carried_forward = current.carried_forward;
  for (const KeyValue& entry : known->key_values.live()) {
    ++stats.key_values;
    stats.key_value_bytes += entry.value.size();
  }
  return stats;
}

bool has_changed(const Store& store, const std::string& instance, const InstanceChange& change) {
  const KeyRow* const row = store.keys.find(instance);
  if (row == nullptr || !row->instance) return false;
  if (change.ended && !runs(*row)) return true;
  if (change.custom_status_after && row->instance->custom_status_version > *change.custom_status_after) return true;
  if (change.incarnation_other_than && row->instance->incarnation != *change.incarnation_other_than) return true;
  return change.key_value && row->instance->key_values.find(*change.key_value);
}

}  // namespace perdure::memory
