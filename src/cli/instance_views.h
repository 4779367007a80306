// How the commands that look show what they found: states, errors and instances, for people and as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <perdure/error_details.h>
#include <perdure/orchestration_status.h>
#include <perdure/provider_admin.h>
#include <perdure/status.h>
#include <perdure/types.h>
#include <perdure/version.h>
#include "cli/context.h"
#include "cli/text.h"

namespace perdure::cli {

// As one document. What is no UTF-8 in it is replaced.
void print_json(const Context& context, const nlohmann::json& document);
// As one line.
void print_json_line(const Context& context, const nlohmann::json& document);

// A name or an id as it may stand in a line: whatever would move a terminal is escaped.
[[nodiscard]] std::string name_text(std::string_view name);
[[nodiscard]] std::string version_text(const std::optional<SemanticVersion>& version);  // "-" if there is none

[[nodiscard]] std::string status_text(const Context& context, ExecutionStatus status);
[[nodiscard]] std::string state_text(const Context& context, OrchestrationState state);

[[nodiscard]] nlohmann::json time_json(const std::optional<Timestamp>& time);
[[nodiscard]] nlohmann::json version_json(const std::optional<SemanticVersion>& version);
[[nodiscard]] nlohmann::json text_json(const std::optional<std::string>& text);
[[nodiscard]] nlohmann::json error_json(const ErrorDetails& error);
[[nodiscard]] nlohmann::json status_json(const std::string& instance, const OrchestrationStatus& status);
[[nodiscard]] nlohmann::json instance_json(const InstanceInfo& info);
[[nodiscard]] nlohmann::json activity_json(const QueuedActivity& activity);

// "ready", "locked until ..." or "delayed until ..."
[[nodiscard]] std::string readiness_text(const QueuedActivity& activity, Timestamp now);

// Lines of a label and a value, the values below each other.
using Facts = std::vector<std::pair<std::string, std::string>>;
void print_facts(const Context& context, const Facts& facts);

// Throws ClientError of kNotFound: the instance is not there.
[[noreturn]] void throw_no_instance(const std::string& instance);

}  // namespace perdure::cli
