// The options that say which instances: of list, and of the commands that delete and prune.
#pragma once

#include <string>
#include <vector>

#include <perdure/provider_admin.h>
#include <perdure/types.h>

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}

namespace perdure::cli {

// As they were written; empty: not given.
struct FilterOptions {
  std::vector<std::string> statuses;
  std::string name;
  std::string version;
  std::string created_after;
  std::string created_before;
  std::string completed_before;

  bool operator==(const FilterOptions&) const = default;
  // None was given: every instance matches.
  [[nodiscard]] bool empty() const { return *this == FilterOptions(); }
};

// --status --name --version --created-after --created-before --completed-before. They live as long as the command.
void add_filter_options(CLI::App& command, FilterOptions& options);

// A status means itself alone; `running` includes what has just continued as new. Durations are counted back from
// `now`, which is the store's. Throws std::invalid_argument that names the option.
[[nodiscard]] InstanceFilter filter_of(const FilterOptions& options, Timestamp now);

}  // namespace perdure::cli
