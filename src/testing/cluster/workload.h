// The workflows that a run has under way: they are started, get what they wait for, and are compared with what they
// must come to.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <perdure/client.h>
#include <perdure/provider.h>

namespace perdure::testing::cluster {

class Workload {
 public:
  explicit Workload(const std::shared_ptr<Provider>& store);

  // One more, of all workflows in turn. Throws ClientError; the workflow is under way all the same, and update()
  // repeats what has failed.
  void start_next();
  // Reads the status of each that is under way. Throws ClientError; the next call begins again.
  void update();

  [[nodiscard]] std::size_t under_way() const noexcept { return under_way_.size(); }
  [[nodiscard]] std::size_t done() const noexcept { return started_.size() - under_way_.size(); }
  // All, whatever became of them.
  [[nodiscard]] const std::set<std::string>& started() const noexcept { return started_; }
  [[nodiscard]] std::vector<std::string> names_under_way() const;
  // When a workflow ended, or when this was made.
  [[nodiscard]] std::chrono::steady_clock::time_point last_end() const noexcept { return last_end_; }
  // A line for each that has not come to its result. Later calls return only what is new.
  [[nodiscard]] std::vector<std::string> take_problems();

 private:
  struct Workflow {
    std::string instance;
    std::string name;
    int input = 0;
    bool is_started = false;
    bool has_order = false;  // of "Queue"
    bool is_raised = false;  // of kEventWorkflow
  };
  void start(Workflow& workflow) const;
  bool has_ended(Workflow& workflow);

  Client client_;
  std::list<Workflow> under_way_;
  std::set<std::string> started_;
  std::vector<std::string> problems_;
  std::chrono::steady_clock::time_point last_end_;
};

}  // namespace perdure::testing::cluster
