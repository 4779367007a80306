// A wait sleeps until the moment at which time alone makes something ready, and no longer. The clock of the other tests
// wakes everybody whenever it moves, so it cannot show this; this one jumps to where somebody sleeps until.
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <perdure/clock.h>
#include <perdure/memory_provider.h>
#include <perdure/sqlite_provider.h>
#include "testing/validation/session_moves.h"

namespace perdure::testing {
namespace {

constexpr Timestamp kFirstMoment{Milliseconds{1'700'000'000'000}};
constexpr Milliseconds kShort{1'000};
constexpr Milliseconds kLong{30'000};

class JumpingClock final : public Clock {
 public:
  [[nodiscard]] Timestamp now() const override { return now_.load(); }
  [[nodiscard]] Milliseconds steady() const override { return now() - kFirstMoment; }
  [[nodiscard]] std::string steady_origin() const override { return "one"; }
  void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, Milliseconds until) override {
    now_ = kFirstMoment + until;
  }
  void advance(Milliseconds by) { now_ = now_.load() + by; }

 private:
  std::atomic<Timestamp> now_ = kFirstMoment;
};

using MakeStore = std::shared_ptr<Provider> (*)(std::shared_ptr<Clock> clock);

std::shared_ptr<Provider> make_memory_store(std::shared_ptr<Clock> clock) {
  MemoryProviderOptions options;
  options.clock = std::move(clock);
  return make_memory_provider(std::move(options));
}

std::shared_ptr<Provider> make_sqlite_store(std::shared_ptr<Clock> clock) {
  SqliteOptions options;
  options.clock = std::move(clock);
  return SqliteProvider::open(":memory:", options);
}

class JumpingFactory final : public ProviderFactory {
 public:
  explicit JumpingFactory(MakeStore make) : make_(make) {}
  [[nodiscard]] std::shared_ptr<Provider> create() override { return make_(clock_); }
  void advance(Milliseconds by) override { clock_->advance(by); }
  void step(Milliseconds /*by*/) override { throw ValidationFailure("this clock is not set"); }
  void corrupt_history(Provider&, const std::string& instance) override {
    throw ValidationFailure("nobody damages histories here, not even that of " + instance);
  }
  [[nodiscard]] Milliseconds orphan_retention() const override { return kLong; }

 private:
  MakeStore make_;
  std::shared_ptr<JumpingClock> clock_ = std::make_shared<JumpingClock>();
};

class WaitTime : public ::testing::TestWithParam<MakeStore> {
 protected:
  // When a wait for an activity ends that begins now, since the beginning.
  Milliseconds wait_for(const WorkFetch& fetch) {
    const WorkWait wait{.orchestrations = {}, .activities = fetch};
    EXPECT_TRUE(take(scene_.store().wait_for_work(wait, kFirstMoment + kLong + kLong)));
    return scene_.now() - kFirstMoment;
  }

  JumpingFactory factory_{GetParam()};
  Scene scene_{factory_};
};

TEST_P(WaitTime, ASessionOfAnotherOwnerIsFreeWhenItsLockEnds) {
  enqueue_in_session(scene_, "later", 2, 3);
  scene_.fetch_work(as_worker("A", kLong));
  enqueue_in_session(scene_, "s", 4, 5);
  EXPECT_EQ(scene_.fetch_work(as_worker("C", kShort)).record.activity_id, 4U);
  EXPECT_EQ(wait_for(as_worker("B")), kShort);
}

TEST_P(WaitTime, CapacityIsFreeWhenTheFirstLockOfTheOwnerEnds) {
  enqueue_in_session(scene_, "later", 2, 2);
  scene_.fetch_work(as_worker("A", kLong));
  enqueue_in_session(scene_, "s", 3, 3);
  scene_.fetch_work(as_worker("A", kShort));
  enqueue_in_session(scene_, "other", 4, 4);
  scene_.fetch_work(as_worker("B", kShort - Milliseconds{1}));  // no matter to A
  enqueue_in_session(scene_, "t", 5, 5);
  WorkFetch full = as_worker("A", kLong);
  full.session->max_sessions = 2;
  EXPECT_EQ(wait_for(full), kShort);
  EXPECT_EQ(scene_.fetch_work(full).record.activity_id, 5U);
}

TEST_P(WaitTime, ARenewedLockEndsLater) {
  enqueue_in_session(scene_, "s", 2, 3);
  scene_.fetch_work(as_worker("A", kShort));
  EXPECT_EQ(renew_sessions(scene_, {"A"}, kShort + kShort, kLong), 1U);
  EXPECT_EQ(wait_for(as_worker("B")), kShort + kShort);
}

TEST_P(WaitTime, AnActivityIsReadyWhenItsOwnLockEnds) {
  scene_.enqueue_activity(activity("a", 2));
  WorkFetch fetch;
  fetch.lock_timeout = kShort;
  scene_.fetch_work(fetch);
  EXPECT_EQ(wait_for({}), kShort);
}

// Whoever came to fail it has died; now every worker may.
TEST_P(WaitTime, AnExpiredActivityOfAnotherTagIsReadyWhenItsLockEnds) {
  MessageRecord timed = tagged(activity("a", 2), "nobody");
  timed.timeouts.schedule_to_start = kShort;
  scene_.enqueue_activity(timed);
  scene_.advance(kShort);
  WorkFetch fetch;
  fetch.lock_timeout = kShort;
  scene_.fetch_work(fetch);
  EXPECT_EQ(wait_for({}), kShort + kShort);
}

TEST_P(WaitTime, AnActivityThatNobodyMayStartIsReadyWhenItExpires) {
  MessageRecord timed = in_session(activity("a", 2), "s");
  timed.timeouts.schedule_to_start = kShort;
  scene_.enqueue_activity(timed);
  WorkFetch nothing = as_worker("A");
  nothing.session->max_sessions = 0;
  EXPECT_EQ(wait_for(nothing), kShort);
}

INSTANTIATE_TEST_SUITE_P(Stores, WaitTime, ::testing::Values(&make_memory_store, &make_sqlite_store),
                         [](const auto& instance) { return instance.index == 0 ? "Memory" : "Sqlite"; });

}  // namespace
}  // namespace perdure::testing
