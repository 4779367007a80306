// The worker process: a runtime on the store, with activities that write down in the ledger what they do.
#pragma once

#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "ledger.h"
#include "order.h"

namespace order_demo {

// What a worker is told to do, beside its work.
inline constexpr const char* kPlanLive = "live";
inline constexpr const char* kPlanDie = "die";        // kills itself in the middle of kStepOfDeath
inline constexpr const char* kPlanRepeat = "repeat";  // charges the card once more, behind the engine's back

// Longer than the demonstrator's patience: a restarted worker that had to wait for the locks of the dead one would be
// noticed.
inline constexpr perdure::Milliseconds kLockTimeout{60'000};

inline std::string store_in(const std::string& folder) {
  return folder + "/orders.db";
}
inline std::string ledger_in(const std::string& folder) {
  return folder + "/ledger.txt";
}

// The outside world: each call is noted when it begins and when it has ended, with a pause between.
class World {
 public:
  World(const std::string& folder, perdure::Milliseconds pause, bool deadly)
      : ledger_(ledger_in(folder)), pause_(pause), deadly_(deadly) {}

  // Returns a number that no second call would return, as a bank does.
  [[nodiscard]] std::string call(const std::string& step, const std::string& kind) const {
    ledger_.write(step, Ledger::kBegins);
    std::this_thread::sleep_for(pause_ / 2);
    if (deadly_ && step == kStepOfDeath) std::raise(SIGKILL);
    std::this_thread::sleep_for(pause_ / 2);
    ledger_.write(step, Ledger::kEnds);
    return kind + '-' + std::to_string(now().time_since_epoch().count() % 100'000'000);
  }

 private:
  Ledger ledger_;
  perdure::Milliseconds pause_;
  bool deadly_;
};

inline perdure::Registry order_registry(const World& world) {
  perdure::Registry registry;
  registry.add_orchestration(kProcessOrder, process_order);
  const auto add = [&](const char* step, const char* kind) {
    registry.add_activity(
        step, [world, step, kind](perdure::ActivityContext&, const Order&) { return world.call(step, kind); });
  };
  add(kReserveStock, "shelf");
  add(kChargeCard, "payment");
  add(kShip, "parcel");
  add(kSendReceipt, "mail");
  return registry;
}

// Until standard input ends, which it does at the latest with the demonstrator: no worker outlives it.
inline int run_worker(const std::string& folder, perdure::Milliseconds pause, const std::string& plan) {
  const World world(folder, pause, plan == kPlanDie);
  if (plan == kPlanRepeat) std::cerr << "charged again: " << world.call(kChargeCard, "payment") << '\n';
  perdure::RuntimeOptions options;
  options.orchestrator_lock_timeout = kLockTimeout;
  options.worker_lock_timeout = kLockTimeout;
  options.logger = perdure::Logger(std::make_shared<perdure::StderrLogSink>());
  const perdure::Runtime runtime(perdure::SqliteProvider::open(store_in(folder)), order_registry(world), options);
  for (std::string line; std::getline(std::cin, line);) {
  }
  return 0;
}

}  // namespace order_demo
