#include "cli/filter_options.h"

#include <optional>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include <perdure/status.h>
#include <perdure/version.h>
#include "cli/time_argument.h"

namespace perdure::cli {

namespace {

void add_filter_status(InstanceFilter& filter, const std::string& text) {
  if (text == "running") {
    filter.statuses.push_back(ExecutionStatus::kRunning);
    filter.statuses.push_back(ExecutionStatus::kContinuedAsNew);
  } else if (text == "completed") {
    filter.statuses.push_back(ExecutionStatus::kCompleted);
  } else if (text == "failed") {
    filter.statuses.push_back(ExecutionStatus::kFailed);
  } else if (text == "cancelled") {
    filter.statuses.push_back(ExecutionStatus::kCancelled);
  } else if (text == "terminated") {
    filter.statuses.push_back(ExecutionStatus::kTerminated);
  } else {
    throw std::invalid_argument("--status: '" + text +
                                "' is not a status; use running, completed, failed, cancelled or terminated");
  }
}

std::optional<Timestamp> filter_time(const char* option, const std::string& text, Timestamp now) {
  if (text.empty()) return std::nullopt;
  return parse_time(option, text, now);
}

}  // namespace

void add_filter_options(CLI::App& command, FilterOptions& options) {
  command
      .add_option("--status", options.statuses,
                  "Select by status: running, completed, failed, cancelled or terminated, comma-separated")
      ->delimiter(',')
      ->allow_extra_args(false)  // what follows is an argument of its own
      ->transform(CLI::IsMember({"running", "completed", "failed", "cancelled", "terminated"}, CLI::ignore_case));
  command.add_option("--name", options.name, "Select by the name of the orchestration");
  command.add_option("--version", options.version, "Select by the version of the orchestration, as 1.2.3");
  command.add_option("--created-after", options.created_after,
                     "Select instances created after TIME, or a duration ago, like 2h");
  command.add_option("--created-before", options.created_before,
                     "Select instances created before TIME, or a duration ago, like 2h");
  command.add_option("--completed-before", options.completed_before,
                     "Select instances completed before TIME, or a duration ago, like 7d");
}

InstanceFilter filter_of(const FilterOptions& options, Timestamp now) {
  InstanceFilter filter;
  filter.exact_statuses = true;
  filter.statuses.reserve(options.statuses.size() + 1);
  for (const std::string& status : options.statuses) add_filter_status(filter, status);
  if (!options.name.empty()) filter.name = options.name;
  if (!options.version.empty()) {
    filter.version = SemanticVersion::parse(options.version);
    if (!filter.version)
      throw std::invalid_argument("--version: '" + options.version + "' is not a version; write it like 1.2.3");
  }
  filter.created_from = filter_time("--created-after", options.created_after, now);
  filter.created_before = filter_time("--created-before", options.created_before, now);
  filter.completed_before = filter_time("--completed-before", options.completed_before, now);
  return filter;
}

}  // namespace perdure::cli
