// ClientThread: starts the workflows of a storm, through the same faults as the nodes, and reads their status until
// all have ended. Its calls may hang for a while, so it has a thread of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <perdure/provider.h>
#include "options.h"
#include "testing/cluster/worker_options.h"
#include "testing/cluster/workload.h"

namespace perdure::test::storm {

class ClientThread {
 public:
  struct Progress {
    std::size_t workflows = 0;
    std::size_t done = 0;
    std::size_t failed_calls = 0;  // that may succeed later
    bool all_done = false;         // and nothing more is started
  };

  // Opens the store before it returns. Throws ProviderFailure.
  ClientThread(const Options& options, const testing::cluster::StoreAddress& store);
  ClientThread(const ClientThread&) = delete;
  ClientThread& operator=(const ClientThread&) = delete;
  ~ClientThread();  // as stop()

  // Starts nothing more.
  void start_no_more() { starts_ = false; }
  // Ends the thread, whatever is under way.
  void stop();

  [[nodiscard]] Progress progress() const;
  // A line for each workflow with a wrong end, and for each error that no fault explains.
  [[nodiscard]] std::vector<std::string> problems() const;
  // After stop().
  [[nodiscard]] const std::set<std::string>& started() const noexcept { return started_; }
  [[nodiscard]] const std::vector<std::string>& under_way() const noexcept { return under_way_; }

 private:
  void run();
  void note(const testing::cluster::Workload& workload, std::vector<std::string> problems, bool failed);

  Options options_;
  std::shared_ptr<Provider> store_;
  std::atomic<bool> starts_ = true;
  std::atomic<bool> ends_ = false;
  mutable std::mutex mutex_;
  Progress progress_;
  std::vector<std::string> problems_;
  std::set<std::string> started_;
  std::vector<std::string> under_way_;
  std::thread thread_;
};

}  // namespace perdure::test::storm
