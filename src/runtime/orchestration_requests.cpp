#include "runtime/orchestration_requests.h"

#include <utility>
#include <vector>

#include "runtime/asked_nodes.h"

namespace perdure::runtime::orchestration {

Answer perform(const ProviderCalls& calls, const TurnProcessor& processor, RequestBody body) {
  Provider& store = calls.store();
  return std::visit(
      [&](auto& request) -> Answer {
        using Body = std::remove_cvref_t<decltype(request)>;
        if constexpr (std::is_same_v<Body, Fetch>) {
          return calls.one("fetch_orchestration_item", [&] { return store.fetch_orchestration_items(request.fetch); });
        } else if constexpr (std::is_same_v<Body, Await>) {
          return calls.one("wait_for_work", [&] {
            return store.wait_for_work({.orchestrations = request.fetch, .activities = {}, .stop = request.stop},
                                       request.deadline);
          });
        } else if constexpr (std::is_same_v<Body, ReadHistory>) {
          return calls.one("read", [&] { return store.read_history(request.token, request.after); });
        } else if constexpr (std::is_same_v<Body, RunTurn>) {
          if (processor.is_exhausted(request.task.item)) {
            request.task.nodes = registered_nodes(calls).value_or(std::vector<NodeInfo>());
          }
          return calls.timed(metric::kTurnDuration, [&] { return processor.process(std::move(request.task)); });
        } else if constexpr (std::is_same_v<Body, Commit>) {
          return calls.batch("ack_orchestration_item", request.commits->size(),
                             [&] { return store.ack_orchestration_items(*request.commits); });
        } else if constexpr (std::is_same_v<Body, GiveBack>) {
          return calls.batch("abandon_orchestration_item", request.abandons.size(),
                             [&] { return store.abandon_orchestration_items(request.abandons); });
        } else if constexpr (std::is_same_v<Body, Renew>) {
          return calls.batch("renew_orchestration_lock", request.tokens.size(),
                             [&] { return store.renew_orchestration_locks(request.tokens, request.extend_for); });
        } else {
          static_assert(std::is_same_v<Body, EndWait>, "every request is carried out");
          request.wait.request_stop();
          return Done{};
        }
      },
      body);
}

}  // namespace perdure::runtime::orchestration
