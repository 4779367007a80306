#include "providers/store_errors.h"

namespace perdure {

ProviderError lock_lost(const std::string& what) {
  return {ProviderErrorKind::kLockLost,
          what + ": the lock expired, was taken over, or its item was deleted; discard this result and fetch again"};
}

ProviderError queued_already(const MessageRecord& activity) {
  return {ProviderErrorKind::kAlreadyExists,
          "instance '" + activity.instance + "', execution " + std::to_string(activity.execution.value_or(0)) +
              ": activity " + std::to_string(activity.activity_id) + " is already queued; use another activity id"};
}

ProviderError no_such_instance(const std::string& instance) {
  return {ProviderErrorKind::kNotFound, "there is no instance '" + instance + "'; check the id"};
}

ProviderError without_instance() {
  return {ProviderErrorKind::kInvalidArgument, "a message has no instance id; set MessageRecord::instance"};
}

ProviderError not_for_instances(const MessageRecord& activity) {
  return {ProviderErrorKind::kInvalidArgument,
          "instance '" + activity.instance + "': an activity belongs in the worker queue; use enqueue_activities"};
}

ProviderError not_a_start() {
  return {ProviderErrorKind::kInvalidArgument,
          "enqueue_start requires a start message with an instance id; use enqueue_messages for other messages"};
}

ProviderError not_an_activity() {
  return {ProviderErrorKind::kInvalidArgument,
          "the worker queue takes only activities with an instance id and an execution; use enqueue_messages for other "
          "messages"};
}

ProviderError not_its_completion(const std::string& instance, EventId activity_id) {
  return {ProviderErrorKind::kInvalidArgument, "instance '" + instance + "', activity " + std::to_string(activity_id) +
                                                   ": the message is not a completion of this activity"};
}

ProviderError node_without_id() {
  return {ProviderErrorKind::kInvalidArgument, "a node has no id; set NodeInfo::id"};
}

ProviderError no_receiver(const std::string& instance) {
  return {ProviderErrorKind::kNotFound,
          "there is no instance '" + instance +
              "'; check the id, start it first, or send with even_if_missing to buffer the message until it starts"};
}

ProviderError no_such_execution(const std::string& instance, ExecutionId execution) {
  return {ProviderErrorKind::kNotFound, "instance '" + instance + "' has no execution " + std::to_string(execution)};
}

ProviderError exists_already(const std::string& instance) {
  return {ProviderErrorKind::kAlreadyExists,
          "instance '" + instance + "' already exists; choose another id or another policy"};
}

ProviderError still_running(const std::string& instance) {
  return {ProviderErrorKind::kStillRunning,
          "instance '" + instance + "' is still running; wait for it, terminate it, or delete with force"};
}

ProviderError is_a_child(const std::string& instance, const std::string& parent) {
  return {ProviderErrorKind::kSubOrchestration,
          "instance '" + instance + "' is a sub-orchestration of '" + parent + "'; delete the root of its tree"};
}

ProviderError is_awaited(const std::string& instance) {
  return {ProviderErrorKind::kSubOrchestration,
          "instance '" + instance + "' is running, and its parent waits for it; delete the root of its tree"};
}

ProviderError leaves_children(const std::string& parent) {
  return {ProviderErrorKind::kChildrenLeftBehind,
          "instance '" + parent + "' has children that are not in the list; delete the whole tree"};
}

ProviderError damaged_node(const std::string& id) {
  return {ProviderErrorKind::kCorruptData,
          "the stored registration of node '" + id + "' is corrupt; restart the node or remove its entry"};
}

ProviderError used_by_child(const HomeProcess& opened_by) {
  return {
      ProviderErrorKind::kUnsupported,
      opened_by.complaint("the store was opened", "fork before the store is opened, or exec a program in the child")};
}

ProviderError out_of_memory() {
  return {ProviderErrorKind::kUnavailable, "out of memory"};
}

ProviderError no_thread_to_open(const std::string& store, const std::system_error& error) {
  return {ProviderErrorKind::kUnavailable, "the store '" + store + "' cannot be opened: cannot create a thread (" +
                                               error.code().message() +
                                               "); raise the limit of threads (ulimit -u, pids.max)"};
}

ProviderError refused_turn(const std::string& instance, const std::string& why) {
  return {ProviderErrorKind::kInvalidArgument, "instance '" + instance + "': " + why};
}

}  // namespace perdure
