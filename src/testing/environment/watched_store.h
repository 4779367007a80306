// WatchedStore: the store as the node of a test environment sees it. It knows which activities are under way and what
// the node waits for, and spares virtual time the renewal of locks.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <perdure/testing/forwarding_provider.h>
#include "testing/environment/plan.h"

namespace perdure::testing {

// Longer than any test, and short enough to add to a time.
inline constexpr Milliseconds kLongestLock = std::chrono::hours(24 * 365 * 1'000);

// An activity that the node has locked.
struct OpenWork {
  ActivityIdentity identity;
  std::string name;
  bool has_deadline = false;  // the node ends it by itself when it takes too long
  LockToken token;
  Timestamp locked_at{};
};

// A lock of an activity would be renewed for as long as it runs, and each renewal would be a moment of its own in
// virtual time. So it gets all of that time at once, and what a living node would have had is worked out when it dies.
class WatchedStore final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  // What the node waits for, of what it asked since the last call of forget_waits().
  [[nodiscard]] const WorkWait& waits() const noexcept { return waits_; }
  void forget_waits() noexcept { waits_ = {}; }
  // Sorted by name and id. What was withdrawn or deleted meanwhile is not among them.
  [[nodiscard]] std::vector<OpenWork> open_work();
  // The node has died: its locks end when they would have ended with this timeout.
  void let_locks_end(Milliseconds lock_timeout);

  // Activities go through the queue, where they are seen.
  Capabilities capabilities() const noexcept override;
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override;
  std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> acks) override;
  std::vector<ProviderResult<void>> abandon_work_items(std::span<const Abandon> abandons) override;
  std::vector<ProviderResult<Timestamp>> renew_work_locks(std::span<const LockToken> tokens,
                                                          Milliseconds extend_for) override;
  std::vector<ProviderResult<Timestamp>> heartbeat(std::span<const Heartbeat> heartbeats) override;
  ProviderResult<bool> wait_for_work(const WorkWait& wait, Timestamp deadline) override;

 private:
  WorkWait waits_;
  std::map<std::string, OpenWork> open_;  // by token
};

}  // namespace perdure::testing
