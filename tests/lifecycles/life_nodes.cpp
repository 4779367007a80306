#include "lifecycles/life_nodes.h"

#include <fstream>

#include "lifecycles/random_life.h"

namespace perdure::test {

namespace {

class LifeThreads final : public LifeNodes {
 public:
  explicit LifeThreads(const std::vector<std::shared_ptr<Provider>>& stores) {
    for (const auto& store : stores) {
      const bool plain = !runtimes_.empty();
      runtimes_.push_back(
          std::make_unique<Runtime>(store, life_registry(plain), life_node_options(plain, Logger(problems_))));
    }
  }
  void kill_one(Dice&) override {}
  [[nodiscard]] std::vector<std::string> problems() const override { return problems_->lines(); }

 private:
  std::shared_ptr<ProblemSink> problems_ = std::make_shared<ProblemSink>();
  std::vector<std::unique_ptr<Runtime>> runtimes_;
};

class LifeProcesses final : public LifeNodes {
 public:
  explicit LifeProcesses(StoreAddress address) : address_(std::move(address)) {
    for (const bool plain : {false, true}) start(plain);
  }
  void kill_one(Dice& dice) override {
    const std::scoped_lock lock(mutex_);
    auto victim = nodes_.begin();
    if (dice.chance(50)) ++victim;
    const bool plain = victim->plain;
    victim->process.kill();
    nodes_.erase(victim);
    start(plain);
  }
  [[nodiscard]] std::vector<std::string> problems() const override {
    std::vector<std::string> lines;
    std::ifstream file(log_);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  struct Node {
    Node(std::vector<std::string> command, const std::string& log, bool is_plain)
        : process(std::move(command), log), plain(is_plain) {}
    ChildProcess process;
    bool plain;
  };

  // The caller does not wait until it is ready: a kill while it opens the store is a valid case too.
  void start(bool plain) {
    std::vector<std::string> command{PERDURE_LIFE_NODE_CHILD, address_.url, address_.schema, plain ? "plain" : "fast"};
    nodes_.emplace_back(std::move(command), log_, plain);
  }

  StoreAddress address_;
  TemporaryFolder folder_;
  std::string log_ = folder_.file("problems");
  std::mutex mutex_;
  std::list<Node> nodes_;
};

}  // namespace

std::unique_ptr<LifeNodes> start_life_threads(const std::vector<std::shared_ptr<Provider>>& stores) {
  return std::make_unique<LifeThreads>(stores);
}

std::unique_ptr<LifeNodes> start_life_processes(const StoreAddress& address) {
  return std::make_unique<LifeProcesses>(address);
}

}  // namespace perdure::test
