// What the stores on a database say, in the same words.
#pragma once

#include <string>
#include <system_error>

#include <perdure/provider_error.h>
#include <perdure/records.h>
#include <perdure/types.h>
#include "providers/home_process.h"

namespace perdure {

// `what` was not done: "commit of 'order-1'".
[[nodiscard]] ProviderError lock_lost(const std::string& what);
[[nodiscard]] ProviderError queued_already(const MessageRecord& activity);
[[nodiscard]] ProviderError no_such_instance(const std::string& instance);
// kInvalidArgument, for what a queue cannot take.
[[nodiscard]] ProviderError without_instance();
[[nodiscard]] ProviderError not_for_instances(const MessageRecord& activity);
[[nodiscard]] ProviderError not_a_start();
[[nodiscard]] ProviderError not_an_activity();
[[nodiscard]] ProviderError not_its_completion(const std::string& instance, EventId activity_id);
[[nodiscard]] ProviderError node_without_id();
// For a message with must_exist.
[[nodiscard]] ProviderError no_receiver(const std::string& instance);
[[nodiscard]] ProviderError no_such_execution(const std::string& instance, ExecutionId execution);
[[nodiscard]] ProviderError exists_already(const std::string& instance);
[[nodiscard]] ProviderError still_running(const std::string& instance);
[[nodiscard]] ProviderError is_a_child(const std::string& instance, const std::string& parent);
// The instance runs, and its parent would wait for it forever.
[[nodiscard]] ProviderError is_awaited(const std::string& instance);
[[nodiscard]] ProviderError leaves_children(const std::string& parent);
[[nodiscard]] ProviderError damaged_node(const std::string& id);
// After fork(): kUnsupported.
[[nodiscard]] ProviderError used_by_child(const HomeProcess& opened_by);
// kUnavailable, from a text so short that the error needs no memory.
[[nodiscard]] ProviderError out_of_memory();
// kUnavailable.
[[nodiscard]] ProviderError no_thread_to_open(const std::string& store, const std::system_error& error);
// kInvalidArgument, about a turn of this instance.
[[nodiscard]] ProviderError refused_turn(const std::string& instance, const std::string& why);

}  // namespace perdure
