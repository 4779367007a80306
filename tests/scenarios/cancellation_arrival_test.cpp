// Cancellations reach running activities in time, on real clocks: within one process, between two providers of one
// store, and between two processes. No lock is renewed and no PostgreSQL store is polled, so only the wait of the
// worker can report them.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include <perdure/testing/forwarding_provider.h>
#include "scenarios/open_calls.h"
#include "scenarios/turns_node.h"
#include "support/child_process.h"
#include "support/eventually.h"
#include "support/postgres_server.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

// Where turns and clients run; activities run in the process of the test.
enum class Turns : std::uint8_t { kSameProvider, kOtherProvider, kOtherProcess };

struct Constellation {
  const char* name;
  const char* store;
  Turns turns;
  Milliseconds bound;
};

std::ostream& operator<<(std::ostream& out, const Constellation& constellation) {
  return out << constellation.name;
}

// Counts the waits that name running activities. On request, the oldest short activity ends during each of them, and
// another begins.
class Watches final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::atomic<int> count{0};
  std::atomic<bool> is_busy{false};
  OpenCalls short_calls;

  ProviderResult<bool> wait_for_work(const WorkWait& wait, Timestamp deadline) override {
    if (wait.held.empty()) return ForwardingProvider::wait_for_work(wait, deadline);
    ++count;
    ProviderResult<bool> lost = ForwardingProvider::wait_for_work(wait, deadline);
    if (is_busy && !wait.stop.stop_requested()) {
      const std::size_t begun = short_calls.size();
      short_calls.at(ended_++).done.complete("done");
      eventually([&] { return short_calls.size() > begun || !is_busy; });
    }
    return lost;
  }

 private:
  std::size_t ended_ = 0;  // one wait at a time names running activities
};

class CancellationArrival : public ::testing::TestWithParam<Constellation> {
 protected:
  CancellationArrival() {
    if (GetParam().store == std::string("postgres")) server_ = std::make_unique<PostgresServer>();
    store_ = std::make_shared<Watches>(open());
    if (GetParam().turns == Turns::kOtherProcess) {
      child_ = std::make_unique<ChildProcess>(std::vector<std::string>{PERDURE_TURNS_CHILD, url()});
      EXPECT_EQ(child_->answer(), "ready");
    } else {
      turns_ = std::make_unique<TurnsNode>(GetParam().turns == Turns::kSameProvider ? store_ : open());
    }
    Registry activities;
    calls_.add_to(activities);
    store_->short_calls.add_to(activities, "Brief");
    worker_ = std::make_unique<Runtime>(store_, std::move(activities), options_without_renewals());
  }

  // Starts instances on which the node runs one short activity after the other.
  void run_short_ones() {
    constexpr std::size_t kInstances = 8;
    for (std::size_t i = 0; i < kInstances; ++i) carry_out("churn", "churn-" + std::to_string(i));
    ASSERT_TRUE(eventually([&] { return store_->short_calls.size() == kInstances; }));
    has_short_ones_ = true;
  }
  // The bound is asserted for two of at most five attempts, because a busy machine may stop any thread for long. A
  // sanitizer makes all code slower.
  void expect_stop_after(const std::string& command) {
    constexpr int kAttempts = 5;
    constexpr int kEnough = 2;
    const Milliseconds bound = GetParam().bound * (PERDURE_TEST_SANITIZED ? 5 : 1);
    int in_time = 0;
    for (int attempt = 0; attempt < kAttempts && in_time < kEnough; ++attempt) {
      const auto took = time_to_stop_after(command);
      ASSERT_TRUE(took.has_value()) << "the activity was never told to stop";
      if (*took <= bound) ++in_time;
      std::cout << GetParam().name << ": a " << command << " reached the activity in " << took->count()
                << " us; the bound is " << bound.count() << " ms\n";
    }
    EXPECT_EQ(in_time, kEnough) << "of " << kAttempts << " attempts";
  }

 private:
  // Nothing but a notification reaches the activity while the test has patience: without one the next renewal and the
  // next poll come after minutes. Returns nothing if none came.
  std::optional<std::chrono::microseconds> time_to_stop_after(const std::string& command) {
    static_assert(kNoRenewal / 2 > 10 * kPatience);
    const std::size_t number = calls_.size();
    const std::string instance = "i" + std::to_string(number);
    const int before = store_->count;
    carry_out("start", instance);
    const bool is_watched = eventually([&] { return calls_.size() > number && store_->count > before; });
    if (!is_watched) return std::nullopt;
    store_->is_busy = has_short_ones_;
    const auto from = std::chrono::steady_clock::now();
    carry_out(command, instance);
    const bool has_stopped = eventually([&] { return calls_.at(number).ctx.is_cancelled(); });
    const auto took = std::chrono::steady_clock::now() - from;
    store_->is_busy = false;
    if (!has_stopped) return std::nullopt;
    return std::chrono::duration_cast<std::chrono::microseconds>(took);
  }

  [[nodiscard]] std::string url() const { return server_ ? server_->url() : "sqlite:" + folder_.file("store.db"); }
  [[nodiscard]] std::shared_ptr<Provider> open() const {
    return GetParam().store == std::string("memory") ? make_memory_provider() : open_without_polls(url());
  }
  void carry_out(const std::string& command, const std::string& instance) {
    if (turns_) return turns_->carry_out(command, instance);
    EXPECT_EQ(child_->ask(command + " " + instance), "ok");
  }

  TemporaryFolder folder_;
  std::unique_ptr<PostgresServer> server_;
  std::shared_ptr<Watches> store_;
  std::unique_ptr<ChildProcess> child_;
  std::unique_ptr<TurnsNode> turns_;
  OpenCalls calls_;
  bool has_short_ones_ = false;
  std::unique_ptr<Runtime> worker_;
};
INSTANTIATE_TEST_SUITE_P(Constellations, CancellationArrival,
                         ::testing::Values(Constellation{"Memory", "memory", Turns::kSameProvider, 1s},
                                           Constellation{"SqliteShared", "sqlite", Turns::kSameProvider, 1s},
                                           Constellation{"SqliteSeparate", "sqlite", Turns::kOtherProvider, 2s},
                                           Constellation{"SqliteProcess", "sqlite", Turns::kOtherProcess, 2s},
                                           Constellation{"PostgresShared", "postgres", Turns::kSameProvider, 1s},
                                           Constellation{"PostgresSeparate", "postgres", Turns::kOtherProvider, 1s},
                                           Constellation{"PostgresProcess", "postgres", Turns::kOtherProcess, 1s}),
                         [](const auto& constellation) { return std::string(constellation.param.name); });

TEST_P(CancellationArrival, OfAnInstance) {
  expect_stop_after("cancel");
}

TEST_P(CancellationArrival, ByAForcedDeletion) {
  expect_stop_after("delete");
}

TEST_P(CancellationArrival, AmongActivitiesThatEndAllTheTime) {
  run_short_ones();
  expect_stop_after("cancel");
}

}  // namespace
}  // namespace perdure::test
