// What the stores on a database say, in the same words.
#pragma once

#include <string>

#include <perdure/provider_error.h>
#include <perdure/records.h>
#include <perdure/types.h>

namespace perdure {

// `what` was not done: "commit of 'order-1'".
[[nodiscard]] ProviderError lock_lost(const std::string& what);
[[nodiscard]] ProviderError queued_already(const MessageRecord& activity);
[[nodiscard]] ProviderError no_such_instance(const std::string& instance);
[[nodiscard]] ProviderError no_such_execution(const std::string& instance, ExecutionId execution);
[[nodiscard]] ProviderError exists_already(const std::string& instance);
[[nodiscard]] ProviderError still_running(const std::string& instance);
[[nodiscard]] ProviderError is_a_child(const std::string& instance, const std::string& parent);
[[nodiscard]] ProviderError leaves_children(const std::string& parent);
[[nodiscard]] ProviderError damaged_node(const std::string& id);
// kInvalidArgument, about a turn of this instance.
[[nodiscard]] ProviderError refused_turn(const std::string& instance, const std::string& why);

}  // namespace perdure
