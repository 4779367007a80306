// Stepped nodes on one store, seen through providers of their own.
#include "scenarios/stepped_cluster.h"

#include <algorithm>
#include <array>

namespace perdure::test {

namespace {

constexpr std::uint16_t kUnknownEventKind = 4'711;

}  // namespace

// ---- Watch ---------------------------------------------------------------------------------------------------------

ProviderResult<OrchestrationBatch> Watch::fetch_orchestration_items(const OrchestrationFetch& fetch) {
  auto batch = ForwardingProvider::fetch_orchestration_items(fetch);
  if (!batch) return batch;
  for (const OrchestrationItem& item : batch->items) {
    instances.push_back({item.instance, item.attempt_count, batch->items.size(), batch->now});
  }
  return batch;
}

ProviderResult<WorkBatch> Watch::fetch_work_items(const WorkFetch& fetch) {
  auto batch = ForwardingProvider::fetch_work_items(fetch);
  if (!batch) return batch;
  for (const WorkItem& item : batch->items) {
    activities.push_back({item.record.name, item.attempt_count, batch->items.size(), batch->now});
  }
  return batch;
}

std::vector<ProviderResult<CommitAnswer>> Watch::ack_orchestration_items(std::span<const TurnCommit> commits) {
  auto answers = ForwardingProvider::ack_orchestration_items(commits);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i]) continue;
    for (const ClaimedActivity& claimed : answers[i]->claimed) {
      activities.push_back({commits[i].activities[claimed.index].name, 1, answers[i]->claimed.size(), answers[i]->now});
    }
  }
  return answers;
}

std::vector<ProviderResult<void>> Watch::abandon_orchestration_items(std::span<const Abandon> abandoned) {
  abandons.insert(abandons.end(), abandoned.begin(), abandoned.end());
  return ForwardingProvider::abandon_orchestration_items(abandoned);
}

std::vector<std::uint32_t> Watch::attempts(const std::string& instance) const {
  std::vector<std::uint32_t> found;
  for (const Fetched& fetched : instances) {
    if (fetched.instance == instance) found.push_back(fetched.attempt);
  }
  return found;
}

// ---- SteppedCluster ------------------------------------------------------------------------------------------------

SteppedCluster::SteppedCluster(const WorldKind& kind)
    : log_(std::make_shared<CapturingLogSink>()),
      metrics_(std::make_shared<CapturingMetrics>()),
      store_(kind.store, NowFrom::kClock, Logger(log_), Metrics(metrics_)),
      client_(store()),
      dice_(kind.seed),
      cache_(kind.cache),
      fast_(kind.fast),
      next_seed_(kind.seed * 1'000) {}

SteppedCluster::Node& SteppedCluster::start_node(const Registry& registry, RuntimeOptions options,
                                                 std::shared_ptr<Provider> view) {
  options.clock = store_.clock();
  options.logger = Logger(log_);
  options.metrics = Metrics(metrics_);
  if (!cache_) options.cached_executions = 0;
  options.fast_path = fast_;
  nodes_.push_back(std::make_unique<Node>(view ? view : store(), registry, options, ++next_seed_));
  return *nodes_.back();
}

void SteppedCluster::stop_node(Node& node) {
  node.drain();
  while (!node.idle()) {
    if (node.choices() == 0) {
      ADD_FAILURE() << "the node does not come to rest";
      break;
    }
    node.step(0);
  }
  kill_node(node);
}

void SteppedCluster::kill_node(Node& node) {
  std::erase_if(nodes_, [&](const auto& each) { return each.get() == &node; });
}

// A node may have begun to wait for work that is already there; it notices when it is asked again.
bool SteppedCluster::step() {
  std::vector<std::size_t> choices;
  std::size_t total = 0;
  for (int asked = 0; asked < 2 && total == 0; ++asked) {
    choices.clear();
    for (const auto& node : nodes_) total += choices.emplace_back(node->choices());
  }
  if (total == 0) return false;
  std::size_t chosen = dice_.below(total);
  std::size_t node = 0;
  for (; chosen >= choices[node]; ++node) chosen -= choices[node];
  nodes_[node]->step(chosen);
  return true;
}

void SteppedCluster::settle() {
  while (step()) {
  }
}

void SteppedCluster::advance(Milliseconds by) {
  settle();
  store_.advance(by);
  settle();
}

OrchestrationStatus SteppedCluster::wait(const std::string& instance) {
  settle();
  for (int second = 0; second < 3'600; ++second) {
    auto status = client_.get_orchestration_status(instance);
    if (status.ended()) return status;
    advance(Milliseconds(1'000));
  }
  ADD_FAILURE() << instance << " did not end within an hour";
  return client_.get_orchestration_status(instance);
}

std::vector<std::string> SteppedCluster::event_kinds(const std::string& instance) const {
  std::vector<std::string> kinds;
  for (const Event& event : client_.read_execution_history(instance)) kinds.emplace_back(kind_name(event.body));
  return kinds;
}

std::vector<CapturedLogRecord> SteppedCluster::warnings() const {
  auto records = log_->records();
  std::erase_if(records, [](const CapturedLogRecord& record) { return record.level != LogLevel::kWarn; });
  return records;
}

void SteppedCluster::damage_history(const std::string& instance) {
  store_.damage_history(instance);
}

void SteppedCluster::append_unknown_event(const std::string& instance) {
  const auto info = store()->admin()->instance_info(instance).value();
  const auto history = store()->admin()->read_history(instance).value();
  ASSERT_FALSE(history.empty());
  const std::array unknown{EventRecord{.event_id = history.back().event_id + 1,
                                       .kind = kUnknownEventKind,
                                       .turn = history.back().turn,
                                       .time = now(),
                                       .body = "an event of a later engine"}};
  ASSERT_TRUE(store()->admin()->append_history(instance, info.execution_id, unknown).has_value());
}

}  // namespace perdure::test
