// ActivityThreads: where activities run. A thread whose activity does not stop is left to it and replaced.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <perdure/log.h>
#include <perdure/provider.h>
#include "runtime/worker_requests.h"

namespace perdure::runtime {

class ActivityThreads final : public worker::ActivityRunner {
 public:
  // Called from any thread, also long after this object is gone.
  struct Reports {
    std::function<void(RunId, ActivityOutcome)> ended;
    std::function<void(RunId, Payload)> heartbeat;
    std::function<void(RunId)> returned;
    std::function<void(RunId)> abandoned{};  // its thread ends; there will be no outcome
    std::function<void(RunId)> lost{};       // its thread has ended, and no other could be made; see replace_thread()
  };

  // Throws std::system_error if a thread cannot be made; the others have ended then.
  ActivityThreads(std::size_t threads, std::shared_ptr<Provider> store, const Logger& logger, Reports reports);
  ActivityThreads(const ActivityThreads&) = delete;
  ActivityThreads& operator=(const ActivityThreads&) = delete;
  ~ActivityThreads();

  void start(worker::Start start) override;
  void stop(RunId run) override;
  void replace_thread(RunId run) override;

  // Lets threads end that are idle, and by the deadline those that become it; the others are left behind.
  void close(std::chrono::steady_clock::time_point deadline);

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;  // with the threads, which may live longer
};

}  // namespace perdure::runtime
