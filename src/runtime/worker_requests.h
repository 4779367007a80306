// What the worker dispatcher wants done, and the answers it gets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include <perdure/activity_handler.h>
#include <perdure/provider.h>
#include <perdure/provider_admin.h>
#include "runtime/local_work.h"
#include "runtime/orchestration_requests.h"

namespace perdure::runtime {

namespace worker {

struct Fetch {
  WorkFetch fetch;
};
struct Await {
  WorkFetch fetch;
  Timestamp deadline;
  std::stop_token stop;
};
// Waits until one of these activities is lost.
struct Watch {
  std::vector<LockToken> held;
  Timestamp deadline;
  std::stop_token stop;
};
// Shared with the dispatcher, which repeats what fails.
struct Ack {
  std::shared_ptr<const std::vector<WorkAck>> acks;
};
struct GiveBack {
  std::vector<Abandon> abandons;
};
struct Renew {
  std::vector<LockToken> tokens;
  Milliseconds extend_for{0};
};
struct Beat {
  std::vector<Heartbeat> heartbeats;
};
struct RenewSessions {
  std::string owner;
  Milliseconds extend_for{0};
  Milliseconds idle_timeout{0};
};
struct CleanupSessions {};
struct ReadGauges {};
// For the error of an activity that no node has code for.
struct ListNodes {};
// Ends the wait, whether or not it has begun.
struct EndWait {
  std::stop_source wait;
};
// Runs user code, on a thread of its own. Its end is told to the dispatcher by ended(), and that the thread is free
// again by returned(), in any order.
struct Start {
  RunId run = 0;
  detail::ActivityCall::About about;
  Payload input;
  std::shared_ptr<const ActivityHandler> handler;
};
// Requests the stop of a run.
struct Stop {
  RunId run = 0;
};
// Gives the place of a run that does not stop to a new thread.
struct ReplaceThread {
  RunId run = 0;
};

using RequestBody = std::variant<Fetch, Await, Watch, Ack, GiveBack, Renew, Beat, RenewSessions, CleanupSessions,
                                 ReadGauges, EndWait, Start, Stop, ReplaceThread, ListNodes>;

struct Request {
  RequestId id = 0;
  RequestBody body;
};

struct Gauges {
  std::optional<SystemMetrics> system;
  std::optional<QueueDepths> queues;
};
struct KnownNodes {
  std::vector<NodeInfo> nodes;
};
struct Done {};
// To ReplaceThread: the system has no thread.
struct NoThread {
  RunId run = 0;
  std::string error;
};
using Answer =
    std::variant<Done, ProviderResult<WorkBatch>, ProviderResult<bool>, std::vector<ProviderResult<void>>,
                 std::vector<ProviderResult<Timestamp>>, ProviderResult<std::size_t>, Gauges, NoThread, KnownNodes>;

// Who runs activities.
class ActivityRunner {
 public:
  virtual void start(Start start) = 0;
  virtual void stop(RunId run) = 0;
  // Throws std::system_error or std::bad_alloc if no thread can be made; then nothing has changed. If the thread of the
  // run had ended, the run counts as returned afterwards.
  virtual void replace_thread(RunId run) = 0;

 protected:
  ~ActivityRunner() = default;
};

// Carries one out. Never throws.
[[nodiscard]] Answer perform(const ProviderCalls& calls, ActivityRunner& runner, RequestBody body);

}  // namespace worker
}  // namespace perdure::runtime
