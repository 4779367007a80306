#include "lifecycles/random_lifecycles.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "lifecycles/life_rows.h"
#include "lifecycles/lifecycle_seed.h"
#include "support/eventually.h"

namespace perdure::test {

namespace {

constexpr std::size_t kSeedsAtOnce = 4;

std::optional<std::uint64_t> number_from(const char* variable) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing sets it
  if (text == nullptr) return std::nullopt;
  return std::stoull(text);
}

class Lifecycles {
 public:
  Lifecycles(const std::shared_ptr<Provider>& store, const LifeLedger& ledger, LifeNodes& nodes,
             const LifecycleOptions& options)
      : world_{store, ledger, !options.kills, [this] { called(); }},
        client_(store),
        nodes_(nodes),
        options_(options),
        end_(std::chrono::steady_clock::now() + options.time),
        next_seed_(options.first_seed),
        dice_(options.first_seed) {}

  LifecycleReport run() {
    std::vector<std::thread> runners;
    for (std::size_t i = 0; i < kSeedsAtOnce; ++i) runners.emplace_back([this] { run_seeds(); });
    for (std::thread& each : runners) each.join();
    if (report_.problems.empty()) check_store();
    nodes_.stop();
    for (const std::string& line : nodes_.problems()) report_.problems.push_back("a node logged: " + line);
    return report_;
  }

 private:
  void run_seeds() {
    while (const auto seed = draw_seed()) {
      std::vector<std::string> problems;
      try {
        problems = LifecycleSeed(world_, *seed).run();
      } catch (const std::exception& error) {
        problems.push_back("seed " + std::to_string(*seed) + ": " + error.what());
      }
      const std::scoped_lock lock(mutex_);
      ++report_.seeds;
      report_.problems.insert(report_.problems.end(), problems.begin(), problems.end());
    }
  }

  std::optional<std::uint64_t> draw_seed() {
    const std::scoped_lock lock(mutex_);
    if (!report_.problems.empty()) return std::nullopt;
    if (options_.seeds && next_seed_ - options_.first_seed >= *options_.seeds) return std::nullopt;
    if (!options_.seeds && std::chrono::steady_clock::now() > end_) return std::nullopt;
    return next_seed_++;
  }

  // Nodes die by the number of calls: in the midst of the work, however fast the machine is.
  void called() {
    const std::scoped_lock lock(mutex_);
    ++report_.calls;
    if (!options_.kills || report_.calls < next_kill_) return;
    next_kill_ = report_.calls + dice_.between(20, 200);
    ++report_.kills;
    nodes_.kill_one(dice_);
  }

  // Messages to ids without an instance are discarded after their retention time.
  void check_store() {
    const auto empty = [&] { return client_.get_queue_depths() == QueueDepths(); };
    if (!eventually(empty, kLifePatience)) {
      const QueueDepths depths = client_.get_queue_depths();
      report_.problems.push_back("the queues are not empty: " + std::to_string(depths.messages) + " messages, " +
                                 std::to_string(depths.delayed_messages) + " delayed, " +
                                 std::to_string(depths.activities + depths.locked_activities) + " activities");
    }
    for (const std::string& id : client_.list_all_instances()) report_.problems.push_back("left behind: " + id);
    for (const StuckInstance& stuck : client_.find_stuck_instances()) {
      report_.problems.push_back("stuck: " + stuck.instance + ": " + stuck.reason);
    }
    if (!options_.address) return;
    const auto rows = [&] { return leftover_rows(*options_.address, options_.kills); };
    if (eventually([&] { return rows().empty(); }, kLifePatience)) return;
    report_.problems.push_back("after the deletion of all instances there are " + rows());
  }

  LifeWorld world_;
  Client client_;
  LifeNodes& nodes_;
  LifecycleOptions options_;
  std::chrono::steady_clock::time_point end_;
  std::mutex mutex_;
  std::uint64_t next_seed_;
  std::uint64_t next_kill_ = 20;
  Dice dice_;
  LifecycleReport report_;
};

}  // namespace

LifecycleOptions LifecycleOptions::from_environment() {
  LifecycleOptions options;
  options.first_seed = number_from("PERDURE_LIFECYCLE_FIRST_SEED").value_or(options.first_seed);
  options.seeds = number_from("PERDURE_LIFECYCLE_SEEDS");
  if (const auto seconds = number_from("PERDURE_LIFECYCLE_SECONDS")) {
    options.time = std::chrono::seconds(static_cast<std::int64_t>(*seconds));
  }
  return options;
}

LifecycleReport run_lifecycles(const std::shared_ptr<Provider>& store, const LifeLedger& ledger, LifeNodes& nodes,
                               const LifecycleOptions& options) {
  return Lifecycles(store, ledger, nodes, options).run();
}

}  // namespace perdure::test
