#include <cstdio>

#include "lifecycles/life_nodes.h"
#include "lifecycles/random_life.h"

namespace perdure::test {

std::shared_ptr<Provider> open_life_store(const StoreAddress& address, const Logger& logger) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (address.url.empty()) {
    MemoryProviderOptions options;
    options.orphan_retention = kOrphanRetention;
    options.logger = logger;
    return make_memory_provider(options);
  }
  if (address.url.starts_with(kSqlite)) {
    SqliteOptions options;
    options.synchronous = SqliteSynchronous::kNormal;  // processes die here, not machines
    options.orphan_retention = kOrphanRetention;
    options.logger = logger;
    return SqliteProvider::open(address.url.substr(kSqlite.size()), options);
  }
  PostgresOptions options;
  options.schema = address.schema;
  options.orphan_retention = kOrphanRetention;
  options.logger = logger;
  return PostgresProvider::connect(address.url, options);
}

RuntimeOptions life_node_options(LifeNodeKind kind, bool runs_once, const Logger& logger) {
  RuntimeOptions options;
  options.orchestrator_lock_timeout = Milliseconds(1'000);
  options.worker_lock_timeout = Milliseconds(runs_once ? 60'000 : 1'000);
  options.session_lock_timeout = Milliseconds(1'000);
  options.session_idle_timeout = options.worker_lock_timeout / 2 + Milliseconds(100);
  if (runs_once) options.max_sessions_per_runtime = 10'000;  // idle ones stay until the end of the run
  options.session_cleanup_interval = Milliseconds(250);
  options.max_attempts = 10'000;  // each death is an attempt
  options.long_poll_timeout = Milliseconds(1'000);
  options.worker_tag_filter = TagFilter::untagged_and({kind == LifeNodeKind::kFast ? kFastTag : kOtherTag});
  options.logger = logger;
  if (kind == LifeNodeKind::kPlain) {
    options.fast_path = false;
    options.fetch_only_registered = true;
    options.cached_executions = 4;
  }
  if (kind == LifeNodeKind::kUncached) options.cached_executions = 0;
  return options;
}

bool ProblemSink::enabled(LogLevel level, std::string_view) const {
  return level >= LogLevel::kWarn && level != LogLevel::kOff;
}

void ProblemSink::write(const LogRecord& record) {
  std::string line = format_log_text(record);
  if (record.level < LogLevel::kError && line.find(kViolation) == std::string::npos) return;
  const std::scoped_lock lock(mutex_);
  if (to_standard_error_) std::fprintf(stderr, "%s\n", line.c_str());
  lines_.push_back(std::move(line));
}

std::vector<std::string> ProblemSink::lines() const {
  const std::scoped_lock lock(mutex_);
  return lines_;
}

}  // namespace perdure::test
