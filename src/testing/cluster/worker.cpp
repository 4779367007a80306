#include "testing/cluster/worker.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <perdure/runtime.h>
#include <perdure/testing/forwarding_provider.h>
#include "testing/cluster/workflows.h"

namespace perdure::testing::cluster {

namespace {

// Writes down what the store refuses because the lock was lost, and stops the process where it was told to.
class WatchedStore final : public ForwardingProvider {
 public:
  WatchedStore(std::shared_ptr<Provider> inner, std::shared_ptr<const Ledger> ledger, const WorkerOptions& options)
      : ForwardingProvider(std::move(inner)),
        ledger_(std::move(ledger)),
        node_(options.node),
        stop_before_(options.stop_before) {}

  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    const bool fused = std::any_of(commits.begin(), commits.end(),
                                   [](const TurnCommit& commit) { return !commit.completed_work.empty(); });
    if (stop_before_ == "turn" || (stop_before_ == "fused" && fused)) stop_once();
    return note_refusals("commit-turn", inner().ack_orchestration_items(commits));
  }
  std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> acks) override {
    if (stop_before_ == "work") stop_once();
    return note_refusals("acknowledge-activity", inner().ack_work_items(acks));
  }

 private:
  void stop_once() {
    if (!stopped_.exchange(true)) ::raise(SIGSTOP);  // to this thread: one sent to the process may stop it a bit later
  }
  template <class Answer>
  std::vector<Answer> note_refusals(const char* call, std::vector<Answer> answers) const {
    for (const Answer& answer : answers) {
      if (answer || answer.error().kind() != ProviderErrorKind::kLockLost) continue;
      ledger_->append({.kind = LedgerKind::kRefused, .node = node_, .step = {}, .attempt = 0, .what = call});
    }
    return answers;
  }

  std::shared_ptr<const Ledger> ledger_;
  std::string node_;
  std::string stop_before_;
  std::atomic<bool> stopped_{false};
};

// SIGTERM as something to read, in a process whose threads all leave it alone.
class TerminationSignal {
 public:
  TerminationSignal() {
    sigset_t signals{};
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGTERM);
    if (::pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) throw std::runtime_error("pthread_sigmask");
    file_ = ::signalfd(-1, &signals, SFD_CLOEXEC);
    if (file_ < 0) throw std::runtime_error("signalfd");
  }
  TerminationSignal(const TerminationSignal&) = delete;
  TerminationSignal& operator=(const TerminationSignal&) = delete;
  ~TerminationSignal() { ::close(file_); }

  // Returns when it came or nobody holds the other end of standard input any more. Nothing is ever said there.
  void await() const {
    std::array<pollfd, 2> files{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{file_, POLLIN, 0}};
    while (::poll(files.data(), files.size(), -1) <= 0) {
    }
  }

 private:
  int file_ = -1;
};

RuntimeOptions runtime_options(const WorkerOptions& options, const Logger& logger) {
  RuntimeOptions runtime;
  runtime.worker_node_id = options.node;
  runtime.orchestrator_lock_timeout = options.lock_timeout;
  runtime.worker_lock_timeout = options.lock_timeout;
  runtime.session_lock_timeout = options.lock_timeout;
  runtime.max_attempts = options.max_attempts;
  runtime.fast_path = options.fast_path;
  runtime.logger = logger;
  if (!options.replay_up_to.empty()) {
    runtime.supported_replay_versions = {{SemanticVersion{}, SemanticVersion::of(options.replay_up_to)}};
  }
  return runtime;
}

}  // namespace

void run_worker(const WorkerOptions& options, const std::function<std::shared_ptr<Provider>(const Logger&)>& open) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);   // who started it and dies leaves nobody behind, not even one that stands still
  ::signal(SIGINT, SIG_IGN);            // Ctrl-C concerns who started it, who then ends it
  const TerminationSignal termination;  // before there are other threads
  const Logger logger(
      std::make_shared<StderrLogSink>(StderrLogOptions().minimum_level(LogLevel::kInfo).environment_variable("")));
  const auto ledger = std::make_shared<const Ledger>(options.ledger);
  const auto store = std::make_shared<WatchedStore>(open(logger), ledger, options);
  Runtime runtime(store, cluster_registry(ledger, options.node, options.planted), runtime_options(options, logger));
  std::puts("ready");
  std::fflush(stdout);
  termination.await();
  runtime.shutdown(Milliseconds(30'000));
}

}  // namespace perdure::testing::cluster
