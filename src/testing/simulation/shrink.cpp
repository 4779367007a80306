#include <utility>

#include "testing/simulation/random_workload.h"
#include "testing/simulation/trial.h"

namespace perdure::testing::simulation {

namespace {

// Leaves things out, one kind after the other, and keeps what still fails, until nothing more can go.
class Shrinker {
 public:
  Shrinker(Trial failing, std::size_t attempts) : best_(std::move(failing)), attempts_(attempts) {
    best_.options.log = false;
    const RunReport report = run_trial(best_);
    // What the seed decided is fixed, so that it can be made smaller.
    best_.options.nodes = report.nodes;
    best_.options.store = report.store;
    best_.options.fast_path = report.fast_path;
    still_fails_ = !report.ok();
  }

  Trial shrink() {
    bool smaller = still_fails_;
    while (smaller && attempts_ > 0) {
      smaller = false;
      smaller |= fewer_fault_kinds();
      smaller |= fewer_faults();
      smaller |= fewer_roots();
      smaller |= fewer_lives();
      smaller |= simpler_cluster();
    }
    return best_;
  }

 private:
  bool accept(Trial candidate) {
    if (attempts_ == 0) return false;
    --attempts_;
    if (run_trial(candidate).ok()) return false;
    best_ = std::move(candidate);
    return true;
  }

  bool fewer_fault_kinds() {
    bool any = false;
    for (std::size_t kind = 0; kind < kFaultKinds; ++kind) {
      if (!best_.options.faults[kind]) continue;
      Trial candidate = best_;
      candidate.options.faults.reset(kind);
      any |= accept(std::move(candidate));
    }
    return any;
  }

  bool fewer_faults() {
    constexpr std::size_t kMost = 64;  // more than any seed throws for
    bool any = false;
    std::size_t high = best_.options.max_faults.value_or(kMost);
    std::size_t low = 0;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      Trial candidate = best_;
      candidate.options.max_faults = middle;
      if (accept(std::move(candidate))) {
        high = middle;
        any = true;
      } else {
        low = middle + 1;
      }
    }
    return any;
  }

  bool fewer_roots() {
    bool any = false;
    std::set<std::size_t> left = best_.roots ? *best_.roots : all_roots();
    const std::set<std::size_t> roots = left;
    for (const std::size_t root : roots) {
      if (left.size() == 1) break;
      left.erase(root);
      Trial candidate = best_;
      candidate.roots = left;
      if (accept(std::move(candidate))) {
        any = true;
      } else {
        left.insert(root);
      }
    }
    return any;
  }

  bool fewer_lives() {
    bool any = false;
    std::set<std::size_t> left = best_.lives ? *best_.lives : all_lives();
    const std::set<std::size_t> lives = left;
    for (const std::size_t life : lives) {
      left.erase(life);
      Trial candidate = best_;
      candidate.lives = left;
      if (accept(std::move(candidate))) {
        any = true;
      } else {
        left.insert(life);
      }
    }
    return any;
  }

  [[nodiscard]] std::set<std::size_t> all_lives() const {
    std::set<std::size_t> lives;
    RandomWorkloadOptions options;
    options.lifecycles = best_.lifecycles;
    const RandomWorkload workload(best_.seed, options);
    for (const LifePlan& plan : workload.lives()) lives.insert(plan.index);
    return lives;
  }

  [[nodiscard]] std::set<std::size_t> all_roots() const {
    std::set<std::size_t> roots;
    const RandomWorkload workload(best_.seed);
    for (const RootPlan& plan : workload.plans()) roots.insert(plan.index);
    return roots;
  }

  bool simpler_cluster() {
    bool any = false;
    while (*best_.options.nodes > 1) {
      Trial candidate = best_;
      --*candidate.options.nodes;
      if (!accept(std::move(candidate))) break;
      any = true;
    }
    if (*best_.options.fast_path) {
      Trial candidate = best_;
      candidate.options.fast_path = false;
      any |= accept(std::move(candidate));
    }
    if (*best_.options.store == StoreKind::kSqlite) {
      Trial candidate = best_;
      candidate.options.store = StoreKind::kMemory;
      any |= accept(std::move(candidate));
    }
    return any;
  }

  Trial best_;
  std::size_t attempts_;
  bool still_fails_ = false;
};

}  // namespace

Trial shrink(const Trial& failing, std::size_t attempts) {
  return Shrinker(failing, attempts).shrink();
}

}  // namespace perdure::testing::simulation
