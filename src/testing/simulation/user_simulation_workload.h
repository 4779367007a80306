// UserWorkload: one run of a user's workload. It gives the nodes the user's code, counts how often activities run,
// plays the clients, and in the end collects what is wrong.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <perdure/testing/simulate.h>
#include "testing/environment/plan.h"
#include "testing/simulation/workload.h"

namespace perdure::testing::simulation {

class UserWorkload final : public Workload {
 public:
  struct Finding {
    SimulationFindingKind kind = SimulationFindingKind::kWrongEnd;
    std::string instance;
    std::string text;
    std::string topic;  // findings of one kind, instance and topic are one, in whichever runs they show
  };
  struct Runs {
    std::string name;
    std::size_t times = 0;
  };

  // All are kept by reference.
  UserWorkload(const Registry& code, const SimulatedWorkload& plan, const SimulationOptions& options);

  [[nodiscard]] Registry registry(int generation) override;
  [[nodiscard]] std::vector<std::string> tags() const override;
  [[nodiscard]] std::vector<ClientAction> actions(Timestamp start) override;
  [[nodiscard]] bool is_done(Provider& store) override;
  [[nodiscard]] std::vector<std::string> explain(Delay delay, Provider& store) override;
  [[nodiscard]] std::vector<std::string> check(Provider& store, const RunFacts& facts) override;

  // What is wrong. The texts are those that the functions above answered.
  [[nodiscard]] const std::vector<Finding>& findings() const noexcept { return findings_; }
  // How often the function of each activity ran, by its schedule.
  [[nodiscard]] const std::map<ActivityIdentity, Runs>& activities() const noexcept { return activities_; }

 private:
  using Call = std::shared_ptr<perdure::detail::ActivityCall>;

  void run(const Call& call, const Payload& input, const ActivityHandler& handler);
  void add(SimulationFindingKind kind, std::string instance, std::string text, std::string topic = {});
  [[nodiscard]] std::vector<std::string> texts() const;
  [[nodiscard]] TagFilter served_tags() const;

  // ---- at the end ----

  // Every instance that was started or is stored.
  [[nodiscard]] std::vector<std::string> instances(const Client& client) const;
  // Those that have ended because their code, or their history, cannot be replayed.
  void find_unreplayable(const Client& client);
  void find_stuck(const Client& client, Delay delay, Timestamp now);
  [[nodiscard]] std::string describe_busy(const Client& client, const std::string& instance, Timestamp now) const;
  void check_expectations(const Client& client);
  void check_completed(const Client& client);

  const Registry& code_;
  const SimulatedWorkload& plan_;
  const SimulationOptions& options_;
  Timestamp start_{};
  bool done_ = false;
  std::map<ActivityIdentity, Runs> activities_;
  std::vector<Finding> findings_;
};

}  // namespace perdure::testing::simulation
