#include "lifecycles/life_nodes.h"

#include <csignal>
#include <fstream>

#include <sys/wait.h>

#include "lifecycles/random_life.h"

namespace perdure::test {

namespace {

class LifeThreads final : public LifeNodes {
 public:
  void start(const std::shared_ptr<Provider>& store, LifeNodeKind kind, const LifeLedger& ledger) {
    runtimes_.push_back(std::make_unique<Runtime>(store, life_registry(kind, ledger),
                                                  life_node_options(kind, true, Logger(problems_))));
  }
  void kill_one(Dice&) override {}
  void stop() override { runtimes_.clear(); }
  [[nodiscard]] std::vector<std::string> problems() const override { return problems_->lines(); }

 private:
  std::shared_ptr<ProblemSink> problems_ = std::make_shared<ProblemSink>();
  std::vector<std::unique_ptr<Runtime>> runtimes_;
};

class LifeProcesses final : public LifeNodes {
 public:
  LifeProcesses(StoreAddress address, LifeLedger ledger) : address_(std::move(address)), ledger_(std::move(ledger)) {
    start(LifeNodeKind::kFast);
    start(LifeNodeKind::kPlain);
  }
  void kill_one(Dice& dice) override {
    const std::scoped_lock lock(mutex_);
    auto victim = nodes_.begin();
    if (dice.chance(50)) ++victim;
    const bool was_fast = victim->kind == LifeNodeKind::kFast;
    victim->process.kill();
    const int status = victim->process.wait_status();
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) note_end(*victim, status);
    nodes_.erase(victim);
    const LifeNodeKind other = dice.chance(50) ? LifeNodeKind::kPlain : LifeNodeKind::kUncached;
    start(was_fast ? LifeNodeKind::kFast : other);
  }
  void stop() override {
    const std::scoped_lock lock(mutex_);
    for (Node& node : nodes_) {
      const int status = node.process.end();
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) note_end(node, status);
    }
    nodes_.clear();
  }
  [[nodiscard]] std::vector<std::string> problems() const override {
    std::vector<std::string> lines = ends_;
    std::ifstream file(log_);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  struct Node {
    Node(std::vector<std::string> command, const std::string& log, LifeNodeKind its_kind)
        : process(std::move(command), log), kind(its_kind) {}
    ChildProcess process;
    LifeNodeKind kind;
  };

  // The caller does not wait until it is ready: a kill while it opens the store is a valid case too.
  void start(LifeNodeKind kind) {
    std::vector<std::string> command{PERDURE_LIFE_NODE_CHILD, address_.url, address_.schema, to_string(kind),
                                     ledger_.folder()};
    nodes_.emplace_back(std::move(command), log_, kind);
  }
  void note_end(const Node& node, int status) {
    ends_.push_back(std::string("a node of the kind ") + to_string(node.kind) + " ended by itself, with wait status " +
                    std::to_string(status));
  }

  StoreAddress address_;
  LifeLedger ledger_;
  TemporaryFolder folder_;
  std::string log_ = folder_.file("problems");
  std::mutex mutex_;
  std::list<Node> nodes_;
  std::vector<std::string> ends_;
};

}  // namespace

std::unique_ptr<LifeNodes> start_life_threads(const std::shared_ptr<Provider>& first,
                                              const std::shared_ptr<Provider>& second, LifeNodeKind other,
                                              const LifeLedger& ledger) {
  auto nodes = std::make_unique<LifeThreads>();
  nodes->start(first, LifeNodeKind::kFast, ledger);
  nodes->start(second, other, ledger);
  return nodes;
}

std::unique_ptr<LifeNodes> start_life_processes(const StoreAddress& address, const LifeLedger& ledger) {
  return std::make_unique<LifeProcesses>(address, ledger);
}

}  // namespace perdure::test
