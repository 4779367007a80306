#include "testing/simulation/random_workload.h"

#include <algorithm>
#include <utility>

#include "testing/dice.h"
#include "testing/simulation/program_generator.h"
#include "testing/simulation/random_workload_check.h"
#include "testing/simulation/random_workload_clients.h"

namespace perdure::testing::simulation {

namespace {

constexpr std::size_t kOneSecond = 1'000;
constexpr std::size_t kOneDay = 86'400'000;

class Planner {
 public:
  Planner(std::uint64_t seed, std::size_t index, std::size_t size)
      : dice_(Dice(seed ^ (0xA0761D6478BD642FU * (index + 1))).next()) {
    plan_.index = index;
    plan_.program = random_program(dice_, "root" + std::to_string(index), size);
  }

  RootPlan plan() {
    const Milliseconds start = time(20 * kOneSecond);
    add(ClientCall::kStart, start);
    if (dice_.chance(30)) add(ClientCall::kStartAgain, start + time(30 * kOneSecond));
    feed();
    intervene();
    for (std::size_t i = dice_.below(3); i > 0; --i) add(ClientCall::kReadStatus, start + some_time());
    if (dice_.chance(15)) add(ClientCall::kDelete, start + some_time());
    return std::move(plan_);
  }

 private:
  void add(ClientCall call, Milliseconds after, std::string name = {}) {
    plan_.intents.push_back({call, after, std::move(name)});
  }
  Milliseconds time(std::size_t longest) { return Milliseconds(static_cast<std::int64_t>(dice_.below(longest))); }
  Milliseconds some_time() {
    return time(dice_.one_of<std::size_t>({kOneSecond, 60 * kOneSecond, 3'600 * kOneSecond, 2 * kOneDay}));
  }

  void feed() {
    for_each_step(plan_.program, [&](const Step& step) {
      if (step.op == Op::kSignalFromClient) {
        add(ClientCall::kRaiseWaited, some_time(), token(plan_.program, step));
      } else if (step.op == Op::kRacingSignal) {
        for (std::size_t i = dice_.between(1, 3); i > 0; --i) {
          add(ClientCall::kRaise, some_time(), token(plan_.program, step));
        }
      }
    });
    for (std::size_t i = 0; i < messages_for(plan_.program); ++i) {
      add(ClientCall::kEnqueue, some_time(), message_name(plan_.program, i));
    }
  }

  // What would wait for ever must be ended.
  void intervene() {
    const std::size_t face = dice_.below(100);
    const bool waits = plan_.program.ending == Ending::kWaits;
    if (face < 10 || (waits && face < 55)) {
      add(ClientCall::kCancel, some_time());
    } else if (face < 20 || waits) {
      add(ClientCall::kTerminate, some_time());
    }
  }

  Dice dice_;
  RootPlan plan_;
};

bool has_retired_activity(const Program& program) {
  bool found = false;
  for_each_step(program, [&found](const Step& step) {
    found = found || step.op == Op::kRetiredActivity ||
            std::any_of(step.programs.begin(), step.programs.end(), has_retired_activity);
  });
  return found;
}

// Thrown for aside, so that the programs stay as they are.
bool random_tags_all(std::uint64_t seed) {
  return Dice(Dice(seed ^ 0x7A66ED).next()).chance(15);
}

}  // namespace

bool RootPlan::has(ClientCall call) const {
  return std::any_of(intents.begin(), intents.end(), [&](const ClientIntent& intent) { return intent.call == call; });
}

std::vector<RootPlan> random_plans(std::uint64_t seed, std::size_t size) {
  std::vector<RootPlan> plans;
  const std::size_t roots = Dice(seed).between(3, 8);
  plans.reserve(roots);
  for (std::size_t index = 0; index < roots; ++index) plans.push_back(Planner(seed, index, size).plan());
  return plans;
}

RandomWorkload::RandomWorkload(std::uint64_t seed, RandomWorkloadOptions options)
    : plans_(random_plans(seed, options.size)),
      ledger_(std::make_shared<Ledger>(random_tags_all(seed))),
      clients_(std::make_shared<Clients>()) {
  if (options.lifecycles) {
    std::vector<std::string> lasting;
    for (const RootPlan& plan : plans_) {
      if (!plan.has(ClientCall::kDelete)) lasting.push_back(instance_id_of(plan.program));
    }
    lives_ = random_lives(seed, lasting);
  }
  const auto left_out = [](const auto& only) {
    return [&only](const auto& plan) { return only && !only->contains(plan.index); };
  };
  std::erase_if(plans_, left_out(options.only));
  std::erase_if(lives_, left_out(options.only_lives));
  // No lifecycle waits for a root that was left out.
  for (LifePlan& life : lives_) {
    std::erase_if(life.waits_for, [&](const std::string& id) {
      return std::none_of(plans_.begin(), plans_.end(),
                          [&](const RootPlan& plan) { return instance_id_of(plan.program) == id; });
    });
    clients_->lives[life.id];
  }
  predict_all();
}

void RandomWorkload::predict_all() {
  for (const RootPlan& plan : plans_) {
    Intervention intervention;
    intervention.cancel = plan.has(ClientCall::kCancel);
    intervention.terminate = plan.has(ClientCall::kTerminate);
    predict(plan.program, intervention, rules_);
  }
  Intervention intervention;
  intervention.touch = true;
  for (const LifePlan& life : lives_) {
    if (life.contested) intervention.open_ids.insert(life.id);
  }
  for (const LifePlan& life : lives_) {
    intervention.cancel = life.has(LifeCall::kCancel) || life.has(LifeCall::kCancelAhead);
    intervention.terminate = true;  // to settle it
    for (const Program& program : life.generations) predict(program, intervention, rules_);
    if (life.unserved) predict(*life.unserved, {}, rules_);
  }
}

bool RandomWorkload::needs_unknown_names() const {
  return !lives_.empty() || std::any_of(plans_.begin(), plans_.end(),
                                        [](const RootPlan& plan) { return has_retired_activity(plan.program); });
}

bool RandomWorkload::may_be_pruned(const std::string& instance) const {
  const auto life = clients_->lives.find(instance);
  return life != clients_->lives.end() && life->second.pruned;
}

RandomWorkload::~RandomWorkload() = default;

Registry RandomWorkload::registry(int generation) {
  return interpreter_registry(ledger_, generation);
}

std::vector<ClientAction> RandomWorkload::actions(Timestamp start) {
  std::vector<ClientAction> actions;
  for (const RootPlan& plan : plans_) {
    const auto root = std::make_shared<const Program>(plan.program);
    for (const ClientIntent& intent : plan.intents) {
      std::string what = std::string(to_string(intent.call)) + " " + instance_id_of(*root);
      if (!intent.name.empty()) what += " ('" + intent.name + "')";
      actions.push_back(
          {std::move(what), start + intent.after, [intent, root, clients = clients_](const Client& client) {
             return carry_out(intent, *root, client, *clients);
           }});
    }
  }
  for (const LifePlan& life : lives_) {
    const auto plan = std::make_shared<const LifePlan>(life);
    for (std::size_t step = 0; step < plan->steps.size(); ++step) {
      actions.push_back({std::string(to_string(plan->steps[step].call)) + " " + plan->id,
                         start + plan->steps[step].after, [plan, step, clients = clients_](const Client& client) {
                           return carry_out(*plan, step, client, clients->lives.at(plan->id));
                         }});
    }
  }
  return in_order_of_time(std::move(actions));
}

std::vector<std::string> RandomWorkload::check(Provider& store, const RunFacts& facts) {
  return WorkloadCheck(store, rules_, *ledger_, *clients_, facts).run(plans_, lives_);
}

}  // namespace perdure::testing::simulation
