#include "scenarios/world.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include <perdure/testing/forwarding_provider.h>

namespace perdure::test {

// Counts the fetches that begin.
class World::WatchedStore : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  [[nodiscard]] std::uint64_t fetches() const { return fetches_; }

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    ++fetches_;
    return ForwardingProvider::fetch_orchestration_items(fetch);
  }
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override {
    ++fetches_;
    return ForwardingProvider::fetch_work_items(fetch);
  }

 private:
  std::atomic<std::uint64_t> fetches_ = 0;
};

std::string WorldKind::name() const {
  return name_of(store) + (threads ? "Threads" : "Stepped" + std::to_string(seed)) +
         (fast ? "Fast" : (cache ? "Cached" : "Rebuilt"));
}

std::vector<WorldKind> all_worlds() {
  std::vector<WorldKind> worlds = stepped_worlds();
  for (const StoreKind store : {StoreKind::kMemory, StoreKind::kSqlite}) {
    for (const bool cache : {true, false}) worlds.push_back({.store = store, .threads = true, .cache = cache});
  }
  worlds.push_back({.store = StoreKind::kPostgres, .threads = true});
  for (const StoreKind store : {StoreKind::kMemory, StoreKind::kSqlite, StoreKind::kPostgres}) {
    worlds.push_back({.store = store, .threads = true, .fast = true});
  }
  return worlds;
}

std::vector<WorldKind> stepped_worlds() {
  std::vector<WorldKind> worlds;
  for (const bool cache : {true, false}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) worlds.push_back({.cache = cache, .seed = seed});
    worlds.push_back({.store = StoreKind::kSqlite, .cache = cache, .seed = 4});
  }
  worlds.push_back({.fast = true, .seed = 5});
  worlds.push_back({.store = StoreKind::kSqlite, .fast = true, .seed = 6});
  worlds.push_back({.store = StoreKind::kPostgres, .seed = 7});
  worlds.push_back({.store = StoreKind::kPostgres, .fast = true, .seed = 8});
  return worlds;
}

std::vector<WorldKind> worlds_rebuilt_from_postgres() {
  return {{.store = StoreKind::kPostgres, .cache = false, .seed = 9}};
}

class World::Node {
 public:
  std::unique_ptr<Runtime> threads;
  std::unique_ptr<testing::SteppedNode> stepped;
  OrchestrationFetch fetch;  // what it could take
  WorkFetch work;
};

World::World(WorldKind kind)
    : kind_(kind),
      log_(std::make_shared<CapturingLogSink>()),
      metrics_(std::make_shared<CapturingMetrics>()),
      store_(kind.store, kind.threads ? NowFrom::kServer : NowFrom::kClock, Logger(log_), Metrics(metrics_)),
      watched_(std::make_shared<WatchedStore>(store())),
      client_(store()),
      dice_(kind.seed),
      next_seed_(kind.seed * 1'000) {}

World::~World() = default;

World::Node& World::start_node(const Registry& registry, RuntimeOptions options) {
  options.clock = store_.clock();
  options.logger = Logger(log_);
  options.metrics = Metrics(metrics_);
  if (!kind_.cache) options.cached_executions = 0;
  options.fast_path = kind_.fast;
  auto node = std::make_unique<Node>();
  node->fetch.filter.engine_versions = options.supported_replay_versions;
  if (options.supported_replay_versions.empty()) {
    node->fetch.filter.engine_versions.push_back({{0, 0, 0}, options.engine_version.value_or(engine_version())});
  }
  node->work.tags = options.worker_tag_filter;
  if (options.fetch_only_registered) {
    node->fetch.filter.orchestrations = registry.names();
    node->work.filter.activities = registry.activity_names();
    if (registry.names().empty()) node->fetch.limit = 0;
  }
  if (kind_.threads) {
    node->threads = std::make_unique<Runtime>(watched_, registry, options);
    node->fetch.owner = node->threads->node_id();
    node->work.session = SessionFetch{.owner = node->threads->node_id(),
                                      .lock_timeout = options.session_lock_timeout,
                                      .max_sessions = options.max_sessions_per_runtime};
  } else {
    node->stepped = std::make_unique<testing::SteppedNode>(store(), registry, options, ++next_seed_);
  }
  nodes_.push_back(std::move(node));
  return *nodes_.back();
}

void World::stop_node(Node& node) {
  if (node.threads) {
    node.threads->shutdown(Milliseconds(20'000));
  } else {
    node.stepped->drain();
    bool stopped = false;
    while (!node.stepped->idle()) {
      if (node.stepped->choices() > 0) {
        node.stepped->step(0);
      } else if (!stopped) {  // only activities are left: their time is over
        node.stepped->stop_activities();
        stopped = true;
      } else {
        ADD_FAILURE() << "the node does not come to rest";
        break;
      }
    }
  }
  kill_node(node);
}

void World::kill_node(Node& node) {
  std::erase_if(nodes_, [&](const auto& each) { return each.get() == &node; });
}

bool World::step() {
  std::vector<std::size_t> choices;
  std::size_t total = 0;
  for (const auto& node : nodes_) {
    choices.push_back(node->stepped->choices());
    total += choices.back();
  }
  if (total == 0) return false;
  std::size_t chosen = dice_.below(total);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (chosen < choices[i]) {
      nodes_[i]->stepped->step(chosen);
      break;
    }
    chosen -= choices[i];
  }
  return true;
}

// All nodes were idle, there is nothing they could take, and none has taken anything in between: what was fetched and
// done between two looks would be seen by neither.
bool World::settled() const {
  const std::uint64_t fetches = watched_->fetches();
  const auto found_work = [&] {
    return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
      return store()->wait_for_work({.orchestrations = node->fetch, .activities = node->work}, now()).value();
    });
  };
  if (!std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->threads->idle(); })) return false;
  return !found_work() && watched_->fetches() == fetches;
}

void World::settle() {
  if (!kind_.threads) {
    while (step()) {
    }
    return;
  }
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  while (!settled()) never.wait_for(lock, Milliseconds(1));
}

void World::advance(Milliseconds by) {
  settle();
  store_.advance(by);
  settle();
}

OrchestrationStatus World::wait(const std::string& instance) {
  until([&] { return client_.get_orchestration_status(instance).ended(); });
  return client_.get_orchestration_status(instance);
}

std::vector<std::string> World::event_kinds(const std::string& instance) const {
  std::vector<std::string> kinds;
  for (const Event& event : client_.read_execution_history(instance)) kinds.emplace_back(kind_name(event.body));
  return kinds;
}

}  // namespace perdure::test
