// What the orchestration dispatcher wants done, and the answers it gets: values, so that threads can carry them out in
// parallel and a simulator one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <variant>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/provider.h>
#include <perdure/provider_admin.h>
#include <perdure/turn_commit.h>
#include "runtime/provider_calls.h"
#include "runtime/turn_processor.h"

namespace perdure::runtime {

using RequestId = std::uint64_t;

namespace orchestration {

struct Fetch {
  OrchestrationFetch fetch;
};
// Until such a fetch would find something, or the deadline, or EndWait.
struct Await {
  OrchestrationFetch fetch;
  Timestamp deadline;
  std::stop_token stop;
};
struct ReadHistory {
  LockToken token;
  EventId after = 0;
};
// Runs user code.
struct RunTurn {
  TurnTask task;
};
// Shared with the dispatcher, which repeats what fails.
struct Commit {
  std::shared_ptr<const std::vector<TurnCommit>> commits;
};
struct GiveBack {
  std::vector<Abandon> abandons;
};
struct Renew {
  std::vector<LockToken> tokens;
  Milliseconds extend_for{0};
};
// Ends the wait, whether or not it has begun.
struct EndWait {
  std::stop_source wait;
};

using RequestBody = std::variant<Fetch, Await, ReadHistory, RunTurn, Commit, GiveBack, Renew, EndWait>;

struct Request {
  RequestId id = 0;
  RequestBody body;
};

// One alternative for each kind of request, in the same order.
struct Done {};
using Answer = std::variant<ProviderResult<OrchestrationBatch>, ProviderResult<bool>, ProviderResult<StoredHistory>,
                            TurnDecision, std::vector<ProviderResult<CommitAnswer>>, std::vector<ProviderResult<void>>,
                            std::vector<ProviderResult<Timestamp>>, Done>;

// Carries one out. Never throws: what a provider throws becomes an error of the call.
[[nodiscard]] Answer perform(const ProviderCalls& calls, const TurnProcessor& processor, RequestBody body);

}  // namespace orchestration
}  // namespace perdure::runtime
