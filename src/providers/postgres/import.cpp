// Ended instances from another store.
#include <string>
#include <utility>
#include <vector>

#include "providers/discarded_messages.h"
#include "providers/event_packing.h"
#include "providers/instance_import.h"
#include "providers/postgres/postgres_store.h"
#include "providers/postgres/versions.h"
#include "providers/store_errors.h"

namespace perdure::postgres {

namespace {

// An argument may have a gigabyte at the most, and is held in memory on both sides.
constexpr std::size_t kHistoryBytesPerCall = std::size_t{16} << 20;

constexpr const char* kImportInstance =
    "INSERT INTO instances(id, name, version, parent, status, execution, last_event, pin, created_at, incarnation,"
    " updated_at, completed_at) VALUES($1::text, $2::text, $3::text, $4::text, $5::bigint, $6::bigint, $7::bigint,"
    " $8::text, $9::bigint, $10::bigint, $11::bigint, $12::bigint)";
constexpr const char* kImportExecutions =
    "INSERT INTO executions(key, execution, status, output, pin, carry_forward, started_at, completed_at)"
    " SELECT i.key, e.* FROM instances i CROSS JOIN unnest($2::bigint[], $3::smallint[], $4::bytea[], $5::text[],"
    " $6::bigint[], $7::bigint[], $8::bigint[]) e WHERE i.id = $1::text";
constexpr const char* kImportHistory =
    "INSERT INTO history(key, execution, first_event, events, body_bytes, data)"
    " SELECT i.key, h.* FROM instances i CROSS JOIN unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],"
    " $6::bytea[]) h WHERE i.id = $1::text";
constexpr const char* kImportKeyValues =
    "INSERT INTO key_values(key, name, value, updated_at)"
    " SELECT i.key, v.* FROM instances i CROSS JOIN unnest($2::bytea[], $3::bytea[], $4::bigint[]) v"
    " WHERE i.id = $1::text";
constexpr const char* kImportCustomStatus =
    "INSERT INTO custom_statuses(key, value, version)"
    " SELECT i.key, $2::bytea, $3::bigint FROM instances i WHERE i.id = $1::text";
constexpr const char* kDiscardOrphans = "SELECT * FROM discard_orphans($1::text[])";
constexpr const char* kKnownInstance =
    "SELECT i.id FROM unnest($1::text[]) WITH ORDINALITY w(id, place) JOIN instances i ON i.id = w.id"
    " WHERE is_known(i.key) ORDER BY w.place LIMIT 1";

class HistoryLists {
 public:
  void add(ExecutionId execution, std::span<const EventRecord> turn) {
    std::uint64_t bytes = 0;
    for (const EventRecord& event : turn) bytes += event.body.size();
    executions_.add(execution);
    first_events_.add(turn.front().event_id);
    events_.add(std::uint64_t{turn.size()});
    body_bytes_.add(bytes);
    const std::string data = pack_events(turn);
    size_ += data.size();
    data_.add(data);
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] Call insertion(const std::string& instance) const {
    return {kImportHistory, Parameters(instance, executions_, first_events_, events_, body_bytes_, data_)};
  }

 private:
  List executions_ = bigints();
  List first_events_ = bigints();
  List events_ = bigints();
  List body_bytes_ = bigints();
  List data_ = byte_strings();
  std::size_t size_ = 0;
};

void add_history(const InstanceCopy& instance, std::vector<Call>& calls) {
  HistoryLists lists;
  for (const ExecutionCopy& execution : instance.executions) {
    const std::span<const EventRecord> history(execution.history);
    for (std::size_t first = 0; first < history.size();) {
      const std::size_t length = turn_length(history, first);
      lists.add(execution.info.execution_id, history.subspan(first, length));
      first += length;
      if (lists.size() < kHistoryBytesPerCall) continue;
      calls.push_back(lists.insertion(instance.info.id));
      lists = HistoryLists();
    }
  }
  if (lists.size() > 0) calls.push_back(lists.insertion(instance.info.id));
}

void add_executions(const InstanceCopy& instance, std::vector<Call>& calls) {
  List ids = bigints();
  List statuses = smallints();
  List outputs = byte_strings();
  List pins = texts();
  List carried = bigints();
  List started = bigints();
  List completed = bigints();
  for (const ExecutionCopy& execution : instance.executions) {
    ids.add(execution.info.execution_id);
    statuses.add(static_cast<std::int64_t>(execution.info.status));
    outputs.add(execution.info.output);
    pins.add(sortable(execution.info.pinned_version));
    carried.add(execution.carried_forward);
    started.add(execution.info.started_at);
    completed.add(execution.info.completed_at);
  }
  calls.push_back(
      {kImportExecutions, Parameters(instance.info.id, ids, statuses, outputs, pins, carried, started, completed)});
}

void add_key_values(const InstanceCopy& instance, std::vector<Call>& calls) {
  List names = byte_strings();
  List values = byte_strings();
  List updated = bigints();
  for (const KeyValue& value : instance.key_values) {
    names.add(value.key);
    values.add(value.value);
    updated.add(value.updated_at);
  }
  if (!names.empty()) calls.push_back({kImportKeyValues, Parameters(instance.info.id, names, values, updated)});
}

void add_instance(const InstanceCopy& instance, std::int64_t incarnation, std::vector<Call>& calls) {
  const InstanceInfo& info = instance.info;
  const EventId last_event = instance.executions.back().history.size();
  calls.push_back({kImportInstance, Parameters(info.id, info.name, sortable(info.version), info.parent,
                                               static_cast<std::int64_t>(info.status), info.execution_id, last_event,
                                               sortable(info.pinned_version), info.created_at, incarnation,
                                               info.updated_at, info.completed_at)});
  add_executions(instance, calls);
  add_history(instance, calls);
  add_key_values(instance, calls);
  if (instance.custom_status.version > 0) {
    calls.push_back(
        {kImportCustomStatus, Parameters(info.id, instance.custom_status.value, instance.custom_status.version)});
  }
}

}  // namespace

ProviderResult<void> PostgresStore::import_instances(std::span<const InstanceCopy> instances) {
  if (std::optional<ProviderError> error = check_import(instances)) return *error;
  return guarded<void>([&]() -> ProviderResult<void> {
    if (instances.empty()) return {};
    List ids = texts();
    for (const InstanceCopy& instance : instances) ids.add(instance.info.id);
    std::vector<Call> calls{{kDiscardOrphans, Parameters(ids)}};
    for (const InstanceCopy& instance : instances) add_instance(instance, next_secret(), calls);
    for (int tries = 1;; ++tries) {
      try {
        const std::vector<Rows> answers = pool_.run(calls, Repeat::kNever);
        const Rows& discarded = answers.front();
        for (int row = 0; row < discarded.size(); ++row) {
          DiscardedMessages{.instance = discarded.text(row, 0), .count = discarded.unsigned_integer(row, 1)}.report(
              options_.logger, options_.metrics);
        }
        break;
      } catch (const PostgresError& error) {
        if (error.state() != kDuplicate) throw;
        const Rows known = pool_.run(kKnownInstance, Parameters(ids), Repeat::kIfLost);
        if (!known.empty()) return exists_already(known.text(0, 0));
        if (tries == 5) throw;  // else it was deleted since, or a message for it came in between
      }
    }
    waker_->changed({.groups = ~std::uint64_t{0}});
    return {};
  });
}

}  // namespace perdure::postgres
