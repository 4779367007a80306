#include "runtime/worker_requests.h"

#include <array>
#include <exception>
#include <utility>
#include <vector>

#include "runtime/asked_nodes.h"

namespace perdure::runtime::worker {

namespace {

Gauges read_gauges(const ProviderCalls& calls) {
  Gauges gauges;
  ProviderAdmin* admin = calls.store().admin();
  if (!admin) return gauges;
  if (auto system = calls.one("system_metrics", [&] { return admin->system_metrics(); })) gauges.system = *system;
  if (auto queues = calls.one("queue_depths", [&] { return admin->queue_depths(); })) gauges.queues = *queues;
  return gauges;
}

}  // namespace

Answer perform(const ProviderCalls& calls, ActivityRunner& runner, RequestBody body) {
  Provider& store = calls.store();
  return std::visit(
      [&](auto& request) -> Answer {
        using Body = std::remove_cvref_t<decltype(request)>;
        if constexpr (std::is_same_v<Body, Fetch>) {
          return calls.one("fetch_work_item", [&] { return store.fetch_work_items(request.fetch); });
        } else if constexpr (std::is_same_v<Body, Await>) {
          return calls.one("wait_for_work", [&] {
            return store.wait_for_work({.orchestrations = {}, .activities = request.fetch, .stop = request.stop},
                                       request.deadline);
          });
        } else if constexpr (std::is_same_v<Body, Watch>) {
          return calls.one("wait_for_work", [&] {
            return store.wait_for_work(
                {.orchestrations = {}, .activities = {}, .held = std::move(request.held), .stop = request.stop},
                request.deadline);
          });
        } else if constexpr (std::is_same_v<Body, Ack>) {
          return calls.batch("ack_work_item", request.acks->size(),
                             [&] { return store.ack_work_items(*request.acks); });
        } else if constexpr (std::is_same_v<Body, GiveBack>) {
          return calls.batch("abandon_work_item", request.abandons.size(),
                             [&] { return store.abandon_work_items(request.abandons); });
        } else if constexpr (std::is_same_v<Body, Renew>) {
          return calls.batch("renew_work_item_lock", request.tokens.size(),
                             [&] { return store.renew_work_locks(request.tokens, request.extend_for); });
        } else if constexpr (std::is_same_v<Body, Beat>) {
          return calls.batch("heartbeat", request.heartbeats.size(),
                             [&] { return store.heartbeat(request.heartbeats); });
        } else if constexpr (std::is_same_v<Body, RenewSessions>) {
          return calls.one("renew_session_lock", [&] {
            const std::array owners{request.owner};
            return store.renew_sessions(owners, request.extend_for, request.idle_timeout);
          });
        } else if constexpr (std::is_same_v<Body, CleanupSessions>) {
          return calls.one("cleanup_orphaned_sessions", [&] { return store.cleanup_sessions(); });
        } else if constexpr (std::is_same_v<Body, ReadGauges>) {
          return read_gauges(calls);
        } else if constexpr (std::is_same_v<Body, EndWait>) {
          request.wait.request_stop();
          return Done{};
        } else if constexpr (std::is_same_v<Body, Start>) {
          runner.start(std::move(request));
          return Done{};
        } else if constexpr (std::is_same_v<Body, Stop>) {
          runner.stop(request.run);
          return Done{};
        } else if constexpr (std::is_same_v<Body, ListNodes>) {
          return KnownNodes{registered_nodes(calls).value_or(std::vector<NodeInfo>())};
        } else {
          static_assert(std::is_same_v<Body, ReplaceThread>, "every request is carried out");
          try {
            runner.replace_thread(request.run);
          } catch (const std::exception& error) {  // no thread, or no memory for one
            return NoThread{request.run, error.what()};
          }
          return Done{};
        }
      },
      body);
}

}  // namespace perdure::runtime::worker
