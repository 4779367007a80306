// A cluster of real processes on one store, the work that it gets, and the books of what it did.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include <perdure/client.h>
#include "cluster/store_address.h"
#include "support/child_process.h"
#include "support/temporary_folder.h"
#include "testing/cluster/ledger.h"
#include "testing/cluster/worker_options.h"

namespace perdure::test {

using testing::cluster::kDeath;
using testing::cluster::kEveryNode;
using testing::cluster::kLostStore;
using testing::cluster::kStandstill;
using testing::cluster::Ledger;
using testing::cluster::LedgerEntry;
using testing::cluster::LedgerKind;
using testing::cluster::Step;
using testing::cluster::WorkerOptions;

// A node: a process, its name and its log. It is killed with the object if it still runs.
class Worker {
 public:
  // Returns when it works.
  Worker(const std::string& program, const WorkerOptions& options, const std::string& log);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] ChildProcess& process() noexcept { return process_; }
  // All that it has logged so far.
  [[nodiscard]] std::string log() const;

 private:
  std::string name_;
  std::string log_;
  ChildProcess process_;
};

class WorkerCluster {
 public:
  explicit WorkerCluster(StoreAddress store);

  // ---- nodes ----

  // What `options` does not say about the store, the ledger and the name is filled in. Names are never used twice.
  Worker& start_node(WorkerOptions options = {}, const std::string& program = PERDURE_WORKER_CHILD);
  // Asks it to end; it finishes what it has begun. Fails the test if it does not end well.
  void stop_node(Worker& node);
  // SIGKILL.
  void kill_node(Worker& node);
  // SIGSTOP. To a node that has stopped itself, `pause` makes no difference, and it is noted all the same.
  void pause_node(Worker& node);
  void resume_node(Worker& node);
  [[nodiscard]] std::vector<Worker*> nodes();
  // All that all of them have logged so far, those that are gone too.
  [[nodiscard]] std::string logs() const;

  // ---- work ----

  // Starts as many instances, of all workflows in turn, and sends what they wait for.
  void start_workflows(std::size_t count);
  // Starts them and returns when the ledger has grown by so many entries: in the midst of the work, if they are few
  // enough. A workflow makes six on average. Fails the test if nobody works.
  void start_workflows_and_await_entries(std::size_t count, std::size_t entries);
  // Until all that were started have ended; fails the test if one has not completed with its result.
  void await_workflows();
  [[nodiscard]] std::size_t started() const noexcept { return started_.size(); }

  // ---- books ----

  [[nodiscard]] const Ledger& ledger() const noexcept { return ledger_; }
  void note(LedgerKind kind, const std::string& node, const char* what) const;
  // Fails the test for everything that the ledger, the histories and the queues say and that cannot be true. All
  // workflows have ended before.
  void check_books() const;

  [[nodiscard]] const Client& client() const noexcept { return client_; }
  [[nodiscard]] Provider& store() const noexcept { return *store_; }
  [[nodiscard]] const StoreAddress& address() const noexcept { return address_; }

 private:
  struct Started {
    std::string instance;
    std::string workflow;
    int input;
  };
  void await_workflow(const Started& workflow, Milliseconds patience) const;

  TemporaryFolder folder_;
  StoreAddress address_;
  Ledger ledger_;
  std::shared_ptr<Provider> store_;
  Client client_;
  std::list<Worker> nodes_;
  std::vector<std::string> logs_;  // their files
  std::vector<Started> started_;
};

}  // namespace perdure::test
