#include "providers/store_errors.h"

namespace perdure {

ProviderError lock_lost(const std::string& what) {
  return {ProviderErrorKind::kLockLost, what +
                                            ": the lock has expired, was taken over, or what it locked is gone; "
                                            "drop this result and fetch again"};
}

ProviderError queued_already(const MessageRecord& activity) {
  return {ProviderErrorKind::kAlreadyExists, "instance '" + activity.instance + "', execution " +
                                                 std::to_string(activity.execution.value_or(0)) + ": activity " +
                                                 std::to_string(activity.activity_id) + " is queued already"};
}

ProviderError no_such_instance(const std::string& instance) {
  return {ProviderErrorKind::kNotFound, "there is no instance '" + instance + "'; check the id"};
}

ProviderError no_receiver(const std::string& instance) {
  return {ProviderErrorKind::kNotFound,
          "there is no instance '" + instance +
              "'; check the id, start it first, or send with even_if_missing to have the message kept until it starts"};
}

ProviderError no_such_execution(const std::string& instance, ExecutionId execution) {
  return {ProviderErrorKind::kNotFound, "instance '" + instance + "' has no execution " + std::to_string(execution)};
}

ProviderError exists_already(const std::string& instance) {
  return {ProviderErrorKind::kAlreadyExists,
          "instance '" + instance + "' exists already; choose another id, or another policy"};
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
          "instance '" + instance + "' runs, and its parent waits for it; delete the root of its tree"};
}

ProviderError leaves_children(const std::string& parent) {
  return {ProviderErrorKind::kChildrenLeftBehind,
          "instance '" + parent + "' has children that are not listed; delete the whole tree"};
}

ProviderError damaged_node(const std::string& id) {
  return {ProviderErrorKind::kCorruptData, "what node '" + id + "' has announced is damaged; restart it, or remove it"};
}

ProviderError used_by_child(const HomeProcess& opened_by) {
  return {
      ProviderErrorKind::kUnsupported,
      opened_by.complaint("the store was opened", "fork before the store is opened, or exec a program in the child")};
}

ProviderError no_thread_to_open(const std::string& store, const std::system_error& error) {
  return {ProviderErrorKind::kUnavailable, "the store '" + store + "' cannot be opened: no thread can be made (" +
                                               error.code().message() +
                                               "); raise the limit of threads (ulimit -u, pids.max)"};
}

ProviderError refused_turn(const std::string& instance, const std::string& why) {
  return {ProviderErrorKind::kInvalidArgument, "instance '" + instance + "': " + why};
}

}  // namespace perdure
