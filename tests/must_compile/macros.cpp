// alone
// Macros that platform headers define, in front of the library but after the standard library.
#include <algorithm>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <coroutine>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))

#include <perdure/json.h>
#include <perdure/memory_provider.h>
#include <perdure/perdure.h>
#include <perdure/postgres_provider.h>
#include <perdure/prometheus_metrics.h>
#include <perdure/spdlog_sink.h>
#include <perdure/sqlite_provider.h>
#include <perdure/testing/determinism_guard.h>
#include <perdure/testing/filter_ignoring_provider.h>
#include <perdure/testing/forwarding_provider.h>
#include <perdure/testing/provider_comparison.h>
#include <perdure/testing/provider_stress.h>
#include <perdure/testing/provider_validation.h>
#include <perdure/testing/replayer.h>
#include <perdure/testing/simulate.h>
#include <perdure/testing/test_environment.h>

#if !defined(min) || !defined(max)
#error "the macros are gone, so that this test says nothing"
#endif

perdure::Orchestration<int> flow(perdure::OrchestrationContext ctx) {
  auto both = co_await perdure::join{ctx.schedule_activity<int>("A"), ctx.schedule_activity<int>("B")};
  co_return max(std::get<0>(both), std::get<1>(both));
}
