// Jumps of a store's clock as a node notices them, which reads that clock and the steady one, and may be stopped at any
// moment.
#include "runtime/clock_jumps.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/memory_provider.h>
#include <perdure/testing/forwarding_provider.h>
#include "runtime/dispatcher_threads.h"

namespace perdure::runtime {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp kNoon{Milliseconds{1'700'000'000'000}};

// Stops the node when it has read a clock.
class StoppingStore final : public testing::ForwardingProvider {
 public:
  explicit StoppingStore(std::shared_ptr<ManualClock> clock)
      : ForwardingProvider(make_memory_provider(on(clock))), clock_(std::move(clock)) {}

  // After so many more readings; once.
  void stop_after(int readings) { readings_ = readings; }
  void stop_always(bool always) { always_ = always; }

  Timestamp now() override {
    const Timestamp time = ForwardingProvider::now();
    maybe_stop();
    return time;
  }
  Milliseconds steady() override {
    const Milliseconds time = ForwardingProvider::steady();
    maybe_stop();
    return time;
  }

 private:
  static MemoryProviderOptions on(const std::shared_ptr<ManualClock>& clock) {
    MemoryProviderOptions options;
    options.clock = clock;
    return options;
  }
  void maybe_stop() {
    if (always_ || --readings_ == 0) clock_->advance(1h);
  }

  std::shared_ptr<ManualClock> clock_;
  int readings_ = 0;
  bool always_ = false;
};

struct NoRequest {
  int id = 0;
  int body = 0;
};

// Requests nothing, and records the jumps.
struct RecordingDispatcher {
  std::shared_ptr<std::vector<Milliseconds>> jumps;

  [[nodiscard]] static std::optional<NoRequest> next(Timestamp) { return std::nullopt; }
  [[nodiscard]] static Timestamp wake_at() { return Timestamp::max(); }
  static void answer(int, int, Timestamp) {}
  void clock_jumped(Milliseconds by) const { jumps->push_back(by); }
};

class NodeClocks : public ::testing::Test {
 protected:
  // Reads the clocks, as every call does first.
  void read_clocks() {
    threads->with([](RecordingDispatcher&, Timestamp) {});
  }

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>(kNoon);
  std::shared_ptr<StoppingStore> store = std::make_shared<StoppingStore>(clock);
  std::shared_ptr<std::vector<Milliseconds>> jumps = std::make_shared<std::vector<Milliseconds>>();
  std::shared_ptr<DispatcherThreads<RecordingDispatcher, NoRequest, int>> threads =
      std::make_shared<DispatcherThreads<RecordingDispatcher, NoRequest, int>>(RecordingDispatcher{jumps}, store,
                                                                               clock);
};

TEST_F(NodeClocks, AStopBetweenTwoReadingsIsNoJump) {
  read_clocks();
  for (int readings = 1; readings <= 4; ++readings) {
    store->stop_after(readings);
    read_clocks();
    read_clocks();
    EXPECT_TRUE(jumps->empty()) << "stopped after " << readings << " readings: " << jumps->back().count() << " ms";
    jumps->clear();
  }
}

TEST_F(NodeClocks, ANodeThatIsStoppedAllTheTimeSeesNoJump) {
  store->stop_always(true);
  for (int i = 0; i < 10; ++i) read_clocks();
  store->stop_always(false);
  read_clocks();
  EXPECT_TRUE(jumps->empty());
}

TEST_F(NodeClocks, AJumpIsSeenOnceWithItsSize) {
  read_clocks();
  clock->advance(1min);
  clock->step(2h);
  read_clocks();
  read_clocks();
  EXPECT_EQ(*jumps, std::vector<Milliseconds>{2h});
}

TEST_F(NodeClocks, AJumpIsSeenThoughTheNodeIsStoppedAtIt) {
  read_clocks();
  store->stop_after(1);
  clock->step(2h);
  read_clocks();
  EXPECT_EQ(*jumps, std::vector<Milliseconds>{2h});
}

}  // namespace
}  // namespace perdure::runtime
