// Waits for a custom status over a replacement of the instance, whose versions begin at 0 again.
#include <functional>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "client/client_scene.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

// Something happens immediately before, or immediately after, the store is asked for a change.
class ReplacingStore final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::function<void()> before_wait;
  std::function<void()> after_wait;

  ProviderResult<bool> wait_for_change(const std::string& instance, const InstanceChange& change,
                                       Timestamp deadline) override {
    if (const auto act = std::exchange(before_wait, {})) act();
    auto changed = ForwardingProvider::wait_for_change(instance, change, deadline);
    if (const auto act = std::exchange(after_wait, {})) act();
    return changed;
  }
};

class ReplacedWaits : public ClientScene {
 protected:
  ReplacedWaits() {
    start("i", "Talk");
    say("i", "one");
    say("i", "two");
  }
  void replace() {
    client->start_orchestration("i", "Talk", StartInstanceOptions().policy(StartPolicy::kReplaceIfTerminal));
  }

  std::shared_ptr<ReplacingStore> view = std::make_shared<ReplacingStore>(store);
  Client observer{view};
};
PERDURE_ON_EVERY_STORE(ReplacedWaits);

TEST_P(ReplacedWaits, AReplacementBeforeTheCallEndsTheWait) {
  const OrchestrationStatus seen = observer.get_orchestration_status("i");
  ASSERT_EQ(seen.custom_status_version, 2U);
  say("i", "end");
  replace();
  say("i", "one");
  say("i", "two");
  const OrchestrationStatus next = observer.wait_for_status_change("i", seen, 0ms);
  EXPECT_EQ(next.custom_status, "two");
  EXPECT_NE(next.incarnation, seen.incarnation);
  EXPECT_EQ(refusal([&] { observer.wait_for_status_change("i", next, 0ms); }), ClientErrorKind::kTimeout);
}

// As between two polls of a store without wake-ups.
TEST_P(ReplacedWaits, AReplacementDuringTheCallEndsTheWait) {
  view->before_wait = [&] {
    say("i", "end");
    replace();
    work();
  };
  const OrchestrationStatus next = observer.wait_for_status_change("i", 2, 0ms);
  EXPECT_EQ(next.state, OrchestrationState::kRunning);
  EXPECT_EQ(next.custom_status_version, 0U);
}

TEST_P(ReplacedWaits, AReplacementBeforeTheStatusIsReadIsWaitedFor) {
  view->before_wait = [&] { say("i", "end"); };
  view->after_wait = [&] {
    replace();
    view->before_wait = [&] { work(); };
  };
  const OrchestrationStatus next = observer.wait_for_status_change("i", 2, 1h);
  EXPECT_EQ(next.state, OrchestrationState::kRunning) << "or else it is pending, which no wait is for";
}

TEST_P(ReplacedWaits, ADeletionBeforeTheStatusIsReadIsNoChange) {
  view->before_wait = [&] { say("i", "end"); };
  view->after_wait = [&] { client->delete_instance("i"); };
  EXPECT_EQ(refusal([&] { observer.wait_for_status_change("i", 2, 0ms); }), ClientErrorKind::kTimeout);
}

}  // namespace
}  // namespace perdure::test
