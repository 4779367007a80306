// What tools that move histories do: instances that ended elsewhere, with faults now and then. Only for stores that
// take such instances.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "providers/instance_import.h"
#include "testing/comparison/invention.h"
#include "testing/comparison/operations.h"

namespace perdure::testing::comparison {

namespace {

std::string text_of_copies(const std::vector<InstanceCopy>& copies) {
  Fields fields("import_instances");
  for (const InstanceCopy& copy : copies) {
    fields.add("", copy.info).add("executions", copy.executions.size());
  }
  return fields.text();
}

class CopyInvention {
 public:
  explicit CopyInvention(Run& run) : run_(run), dice_(run.dice()), invention_(run) {}

  std::vector<InstanceCopy> copies() {
    std::vector<InstanceCopy> copies;
    for (std::size_t left = dice_.between(1, 3); left > 0; --left) {
      copies.push_back(copy());
      if (copies.size() > 1 && dice_.chance(40)) copies.back().info.parent = copies.front().info.id;
    }
    if (dice_.chance(25)) spoil(dice_.below(copies.size()), copies);
    return copies;
  }

 private:
  InstanceCopy copy() {
    InstanceCopy copy;
    copy.info.id = invention_.instance();
    copy.info.name = invention_.orchestration();
    copy.info.version = invention_.version();
    copy.info.created_at = run_.now() - invention_.delay();
    copy.info.updated_at = run_.now();
    if (dice_.chance(50)) copy.custom_status = {"status " + std::to_string(dice_.below(9)), dice_.between(1, 5)};
    for (const std::string& key : key_names()) {
      if (dice_.chance(30)) copy.key_values.push_back({key, invention_.bytes(), run_.now()});
    }
    std::sort(copy.key_values.begin(), copy.key_values.end(),
              [](const KeyValue& one, const KeyValue& other) { return one.key < other.key; });
    // Those before the first may have been pruned.
    const ExecutionId first = dice_.between(1, 2);
    const ExecutionId last = first + dice_.below(3);
    for (ExecutionId id = first; id <= last; ++id) copy.executions.push_back(execution(id, id == last));
    const ExecutionInfo& end = copy.executions.back().info;
    copy.info.execution_id = end.execution_id;
    copy.info.status = end.status;
    copy.info.output = end.output;
    copy.info.pinned_version = end.pinned_version;
    copy.info.completed_at = end.completed_at;
    return copy;
  }

  ExecutionCopy execution(ExecutionId id, bool is_last) {
    ExecutionCopy copy;
    copy.history = invention_.events(kFirstEventId, dice_.below(6));
    copy.info.execution_id = id;
    copy.info.status = is_last ? dice_.one_of({ExecutionStatus::kCompleted, ExecutionStatus::kFailed,
                                               ExecutionStatus::kCancelled, ExecutionStatus::kTerminated})
                               : ExecutionStatus::kContinuedAsNew;
    copy.info.output = invention_.payload();
    copy.info.pinned_version = invention_.version();
    copy.info.started_at = run_.now() - invention_.delay();
    copy.info.completed_at = run_.now();
    copy.info.events = copy.history.size();
    if (is_last) copy.carried_forward = dice_.below(3);
    return copy;
  }

  // What no store may take, and none of the others with it.
  void spoil(std::size_t index, std::vector<InstanceCopy>& copies) {
    if (dice_.chance(15)) return copies.push_back(InstanceCopy(copies[index]));
    InstanceCopy& copy = copies[index];
    switch (dice_.below(5)) {
      case 0:
        copy.info.status = copy.executions.back().info.status = ExecutionStatus::kRunning;
        return;
      case 1:
        copy.info.output = Payload("another");
        return;
      case 2:
        ++copy.executions.front().info.events;
        return;
      case 3:
        copy.executions.clear();
        return;
      default:
        copy.info.created_at = Timestamp::max();
    }
  }

  Run& run_;
  Dice& dice_;
  Invention invention_;
};

}  // namespace

void import_instances(Run& run) {
  if (!run.can_import()) return;
  const std::vector<InstanceCopy> copies = CopyInvention(run).copies();
  const auto answers =
      run.call([&] { return text_of_copies(copies); },
               [&](Provider& store, Side) { return dynamic_cast<InstanceImport&>(store).import_instances(copies); });
  if (!answers[0]) return;
  for (const InstanceCopy& copy : copies) run.note_import(copy.info.id);
}

}  // namespace perdure::testing::comparison
