// TurnsNode: a node that runs turns and no activities, with the client of its process. Nothing in it is in time by
// luck: no lock must be renewed while a test runs, and no store is polled.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <perdure/perdure.h>
#include <perdure/postgres_provider.h>
#include <perdure/sqlite_provider.h>
#include "scenarios/open_calls.h"

namespace perdure::test {

inline constexpr Milliseconds kNoRenewal{60 * 60'000};

inline RuntimeOptions options_without_renewals() {
  RuntimeOptions options;
  options.fetch_only_registered = true;
  options.worker_lock_timeout = kNoRenewal;
  options.orchestrator_lock_timeout = kNoRenewal;
  options.session_idle_timeout = 2 * kNoRenewal;
  return options;
}

// "sqlite:<path>", or what libpq takes.
inline std::shared_ptr<Provider> open_without_polls(const std::string& url) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (url.starts_with(kSqlite)) {
    SqliteOptions options;
    options.synchronous = SqliteSynchronous::kNormal;  // how fast the disk is does not matter here
    return SqliteProvider::open(url.substr(kSqlite.size()), options);
  }
  PostgresOptions options;
  options.poll_interval = kNoRenewal;
  return PostgresProvider::connect(url, options);
}

class TurnsNode {
 public:
  explicit TurnsNode(const std::shared_ptr<Provider>& store)
      : client_(store), runtime_(store, workflows(), options_without_renewals()) {}

  // "start", "churn" (an instance that runs one activity after the other), "cancel" or "delete" (by force).
  void carry_out(std::string_view command, const std::string& instance) {
    if (command == "start") client_.start_orchestration(instance, "Flow");
    if (command == "churn") client_.start_orchestration(instance, "Churn");
    if (command == "cancel") client_.cancel_instance(instance, "by hand");
    if (command == "delete") client_.delete_instance(instance, true);
  }

 private:
  static Registry workflows() {
    Registry registry;
    add_flow(registry, ActivityOptions());
    registry.add_orchestration("Churn", [](OrchestrationContext ctx) -> Orchestration<void> {
      for (int i = 0; i < 100; ++i) static_cast<void>(co_await ctx.schedule_activity<std::string>("Brief").as_result());
      co_await ctx.continue_as_new();
    });
    return registry;
  }

  Client client_;
  Runtime runtime_;
};

}  // namespace perdure::test
