#include "testing/cluster/workload.h"

#include <utility>

#include "testing/cluster/workflows.h"

namespace perdure::testing::cluster {

Workload::Workload(const std::shared_ptr<Provider>& store)
    : client_(store), last_end_(std::chrono::steady_clock::now()) {}

void Workload::start_next() {
  const std::size_t number = started_.size();
  const std::size_t kind = number % (kWorkflows.size() + 1);
  const std::string name = kind < kWorkflows.size() ? kWorkflows[kind] : kEventWorkflow;
  Workflow& workflow = under_way_.emplace_back();
  workflow.instance = name + "-" + std::to_string(number);
  workflow.name = name;
  workflow.input = static_cast<int>(number);
  started_.insert(workflow.instance);
  start(workflow);
}

// What has failed may have reached the store nevertheless: a start may be repeated, and so may an order, because the
// workflow takes one.
void Workload::start(Workflow& workflow) const {
  if (!workflow.is_started) client_.start_orchestration(workflow.instance, workflow.name, workflow.input);
  workflow.is_started = true;
  if (workflow.name != "Queue" || workflow.has_order) return;
  client_.enqueue_event(workflow.instance, kOrders, workflow.input);
  workflow.has_order = true;
}

void Workload::update() {
  for (auto workflow = under_way_.begin(); workflow != under_way_.end();) {
    workflow = has_ended(*workflow) ? under_way_.erase(workflow) : std::next(workflow);
  }
}

bool Workload::has_ended(Workflow& workflow) {
  start(workflow);
  const OrchestrationStatus status = client_.get_orchestration_status(workflow.instance);
  if (workflow.name == kEventWorkflow && !workflow.is_raised && status.custom_status == kWaiting) {
    client_.raise_event(workflow.instance, kGo, workflow.input);  // once: it must not be lost
    workflow.is_raised = true;
  }
  if (!status.ended()) return false;
  last_end_ = std::chrono::steady_clock::now();
  const std::string expected = std::to_string(expected_result(workflow.name, workflow.input));
  if (!status.completed()) {
    problems_.push_back("'" + workflow.instance + "' is " + std::string(to_string(status.state)) +
                        " and should have completed with " + expected + ": " + status.error_text());
  } else if (status.output != expected) {  // a number is stored as it is written
    problems_.push_back("'" + workflow.instance + "' came to " + status.output.value_or("nothing") + " instead of " +
                        expected);
  }
  return true;
}

std::vector<std::string> Workload::names_under_way() const {
  std::vector<std::string> names;
  names.reserve(under_way_.size());
  for (const Workflow& workflow : under_way_) names.push_back(workflow.instance);
  return names;
}

std::vector<std::string> Workload::take_problems() {
  return std::exchange(problems_, {});
}

}  // namespace perdure::testing::cluster
