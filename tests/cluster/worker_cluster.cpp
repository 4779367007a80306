#include "cluster/worker_cluster.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "support/eventually.h"
#include "testing/cluster/histories.h"
#include "testing/cluster/workflows.h"
#include "testing/simulation/end_checks.h"

namespace perdure::test {

using testing::cluster::kOrders;
using testing::cluster::kWorkflows;
using testing::cluster::StoredExecution;

namespace {

// For a whole cluster on a machine that has other things to do.
constexpr std::chrono::seconds kLongPatience{200};

std::vector<std::string> command_of(const std::string& program, const WorkerOptions& options) {
  std::vector<std::string> command = options.to_arguments();
  command.insert(command.begin(), program);
  return command;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The first few of many.
std::string first_lines(const std::vector<std::string>& problems) {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(problems.size(), kShown); ++i) text += "\n  " + problems[i];
  if (problems.size() > kShown) text += "\n  and " + std::to_string(problems.size() - kShown) + " more";
  return text;
}

}  // namespace

// ---- a node --------------------------------------------------------------------------------------------------------

Worker::Worker(const std::string& program, const WorkerOptions& options, const std::string& log)
    : name_(options.node), log_(log), process_(command_of(program, options), log) {
  if (process_.answer() != "ready") throw std::runtime_error("node " + name_ + " does not start: " + text_of(log_));
}

Worker::~Worker() {
  process_.kill();
}

std::string Worker::log() const {
  return text_of(log_);
}

// ---- the cluster ---------------------------------------------------------------------------------------------------

WorkerCluster::WorkerCluster(StoreAddress store)
    : address_(std::move(store)), ledger_(folder_.file("ledger")), store_(open_store(address_)), client_(store_) {}

Worker& WorkerCluster::start_node(WorkerOptions options, const std::string& program) {
  if (options.store.url.empty()) options.store = address_;
  options.ledger = ledger_.path();
  if (options.node.empty()) options.node = "node" + std::to_string(logs_.size() + 1);
  logs_.push_back(folder_.file(options.node + ".log"));
  return nodes_.emplace_back(program, options, logs_.back());
}

void WorkerCluster::stop_node(Worker& node) {
  node.process().send(SIGTERM);
  if (!node.process().ended_within(kLongPatience)) {
    ADD_FAILURE() << node.name() << " does not end:\n" << node.log();
    node.process().kill();
  }
  const int status = node.process().wait_status();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << node.name() << " ended with wait status " << status << ":\n"
      << node.log();
  nodes_.remove_if([&](const Worker& candidate) { return &candidate == &node; });
}

void WorkerCluster::kill_node(Worker& node) {
  note(LedgerKind::kDisturbanceBegan, node.name(), kDeath);
  node.process().kill();
  note(LedgerKind::kDisturbanceEnded, node.name(), kDeath);
  nodes_.remove_if([&](const Worker& candidate) { return &candidate == &node; });
}

void WorkerCluster::pause_node(Worker& node) {
  note(LedgerKind::kDisturbanceBegan, node.name(), kStandstill);
  node.process().send(SIGSTOP);
}

void WorkerCluster::resume_node(Worker& node) {
  node.process().send(SIGCONT);
  note(LedgerKind::kDisturbanceEnded, node.name(), kStandstill);
}

std::vector<Worker*> WorkerCluster::nodes() {
  std::vector<Worker*> nodes;
  nodes.reserve(nodes_.size());
  for (Worker& node : nodes_) nodes.push_back(&node);
  return nodes;
}

std::string WorkerCluster::logs() const {
  std::string text;
  for (const std::string& log : logs_) text += text_of(log);
  return text;
}

// ---- work ----------------------------------------------------------------------------------------------------------

void WorkerCluster::start_workflows(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t number = started_.size();
    const std::string workflow = kWorkflows[number % kWorkflows.size()];
    const std::string instance = workflow + "-" + std::to_string(number);
    started_.push_back({instance, workflow, static_cast<int>(number)});
    client_.start_orchestration(instance, workflow, static_cast<int>(number));
    if (workflow == "Queue") client_.enqueue_event(instance, kOrders, static_cast<int>(number));
  }
}

void WorkerCluster::start_workflows_and_await_entries(std::size_t count, std::size_t entries) {
  const std::size_t wanted = ledger_.size() + entries;
  start_workflows(count);
  ASSERT_TRUE(eventually([&] { return ledger_.size() >= wanted; }, kLongPatience)) << "nobody works";
}

void WorkerCluster::await_workflow(const Started& workflow, Milliseconds patience) const {
  const OrchestrationStatus status = client_.wait_for_orchestration(workflow.instance, patience);
  if (status.completed()) {
    EXPECT_EQ(status.result<int>(), testing::cluster::expected_result(workflow.workflow, workflow.input))
        << workflow.instance;
  } else {
    ADD_FAILURE() << workflow.instance << " is " << to_string(status.state) << ": " << status.error_text();
  }
}

void WorkerCluster::await_workflows() {
  try {
    const auto deadline = std::chrono::steady_clock::now() + kLongPatience;  // for all together
    for (const Started& workflow : started_) {
      const auto left = std::chrono::ceil<Milliseconds>(deadline - std::chrono::steady_clock::now());
      await_workflow(workflow, std::max(left, Milliseconds(0)));
    }
  } catch (const ClientError& error) {
    FAIL() << error.what();
  }
}

// ---- books ---------------------------------------------------------------------------------------------------------

void WorkerCluster::note(LedgerKind kind, const std::string& node, const char* what) const {
  ledger_.append({.kind = kind, .node = node, .step = {}, .attempt = 0, .what = what});
}

void WorkerCluster::check_books() const {
  const std::vector<StoredExecution> executions = testing::cluster::read_executions(*store_);
  EXPECT_GE(executions.size(), started_.size());
  const auto broken = check_executions(executions);
  EXPECT_TRUE(broken.empty()) << "histories:" << first_lines(broken);
  const auto wrong = check_ledger(ledger_.read(), steps_of(executions));
  EXPECT_TRUE(wrong.empty()) << "ledger:" << first_lines(wrong);
  const auto queued = testing::simulation::check_queues(*store_);
  EXPECT_TRUE(queued.empty()) << "queues:" << first_lines(queued);
}

}  // namespace perdure::test
