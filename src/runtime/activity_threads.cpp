#include "runtime/activity_threads.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include <perdure/activity_handler.h>
#include <perdure/detail/thrown.h>
#include "providers/thread_cancellation.h"
#include "runtime/make_threads.h"

namespace perdure::runtime {

struct ActivityThreads::Shared {
  std::shared_ptr<Provider> store;
  Logger logger;
  Reports reports;

  std::mutex mutex;
  std::condition_variable changed;
  std::condition_variable ended;
  std::deque<worker::Start> waiting;
  struct Call {
    std::weak_ptr<detail::ActivityCall> call;  // empty until its thread has it
    bool stopped = false;
  };
  std::map<RunId, Call> calls;  // that have not come to an outcome
  enum class ThreadOf : std::uint8_t {
    kRun,       // goes on to other runs
    kReplaced,  // ends when the run returns
    kLost,      // has ended, and its slot has none
  };
  std::map<RunId, ThreadOf> not_back;  // runs that wait for a thread, or whose threads are not back yet
  std::size_t live = 0;
  bool closed = false;

  // Called with the mutex locked. Throws std::system_error or std::bad_alloc, and has changed nothing then.
  static void add_thread(const std::shared_ptr<Shared>& self);
  static void run(const std::shared_ptr<Shared>& self);
  // The thread of this run ends, by a forced unwind.
  static void lose_thread(const std::shared_ptr<Shared>& self, RunId run);
  static void execute(const std::shared_ptr<Shared>& self, worker::Start start);
};

ActivityThreads::ActivityThreads(std::size_t threads, std::shared_ptr<Provider> store, const Logger& logger,
                                 Reports reports)
    : shared_(std::make_shared<Shared>()) {
  shared_->store = std::move(store);
  shared_->logger = logger.with_target(log_target::kActivity);
  shared_->reports = std::move(reports);
  try {
    const std::scoped_lock lock(shared_->mutex);
    make_threads("activities", "worker_concurrency", threads, [this] { Shared::add_thread(shared_); });
  } catch (...) {
    close(std::chrono::steady_clock::now() + kEndOfIdleThreads);
    throw;
  }
}

ActivityThreads::~ActivityThreads() {
  close(std::chrono::steady_clock::now());
}

// Detached, because no one can be sure to join a thread that runs user code; what it needs it owns.
void ActivityThreads::Shared::add_thread(const std::shared_ptr<Shared>& self) {
  std::thread([self] { run(self); }).detach();
  ++self->live;
}

void ActivityThreads::start(worker::Start start) {
  const std::scoped_lock lock(shared_->mutex);
  shared_->calls.emplace(start.run, Shared::Call{});
  shared_->not_back.emplace(start.run, Shared::ThreadOf::kRun);
  shared_->waiting.push_back(std::move(start));
  shared_->changed.notify_one();
}

void ActivityThreads::stop(RunId run) {
  std::shared_ptr<detail::ActivityCall> call;
  {
    const std::scoped_lock lock(shared_->mutex);
    const auto found = shared_->calls.find(run);
    if (found == shared_->calls.end()) return;
    found->second.stopped = true;
    call = found->second.call.lock();
  }
  if (call) call->request_stop();  // runs callbacks of the user
}

void ActivityThreads::replace_thread(RunId run) {
  const std::scoped_lock lock(shared_->mutex);
  // It may have returned since: then its thread is free already, or runs another activity.
  const auto found = shared_->not_back.find(run);
  if (found == shared_->not_back.end()) return;
  Shared::add_thread(shared_);
  if (found->second == Shared::ThreadOf::kLost) {
    shared_->not_back.erase(found);
  } else {
    found->second = Shared::ThreadOf::kReplaced;
  }
}

void ActivityThreads::close(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(shared_->mutex);
  shared_->closed = true;
  shared_->changed.notify_all();
  shared_->ended.wait_until(lock, deadline, [this] { return shared_->live == 0; });
}

void ActivityThreads::Shared::run(const std::shared_ptr<Shared>& self) {
  disable_thread_cancellation();
  std::unique_lock lock(self->mutex);
  for (;;) {
    self->changed.wait(lock, [&] { return self->closed || !self->waiting.empty(); });
    if (self->closed) break;
    worker::Start start = std::move(self->waiting.front());
    self->waiting.pop_front();
    const RunId id = start.run;
    lock.unlock();
    try {
      execute(self, std::move(start));
    } catch (detail::ForcedUnwind&) {
      lose_thread(self, id);
      throw;
    }
    disable_thread_cancellation();
    self->reports.returned(id);
    lock.lock();
    const auto back = self->not_back.extract(id);
    if (back.mapped() == ThreadOf::kReplaced) break;
  }
  --self->live;
  self->ended.notify_all();
}

void ActivityThreads::Shared::lose_thread(const std::shared_ptr<Shared>& self, RunId run) {
  try {
    const std::scoped_lock lock(self->mutex);
    --self->live;
    self->ended.notify_all();
    const auto ended_run = self->not_back.find(run);
    const bool is_replaced = std::exchange(ended_run->second, ThreadOf::kLost) == ThreadOf::kReplaced;
    if (!is_replaced && !self->closed) add_thread(self);
    self->not_back.erase(ended_run);
  } catch (const std::exception& error) {
    self->logger.warn("ended thread of an activity not replaced; its slot stays occupied", {{"error", error.what()}});
    if (self->reports.lost) self->reports.lost(run);
    return;
  }
  self->reports.returned(run);
}

void ActivityThreads::Shared::execute(const std::shared_ptr<Shared>& self, worker::Start start) {
  const RunId id = start.run;
  auto on_end = [self, id](ActivityOutcome outcome) {
    {
      const std::scoped_lock lock(self->mutex);
      self->calls.erase(id);
    }
    self->reports.ended(id, std::move(outcome));
  };
  auto on_heartbeat = [self, id](Payload details) { self->reports.heartbeat(id, std::move(details)); };
  auto on_abandon = [self, id] {
    {
      const std::scoped_lock lock(self->mutex);
      self->calls.erase(id);
    }
    if (self->reports.abandoned) self->reports.abandoned(id);
  };
  const auto call = std::make_shared<detail::ActivityCall>(
      std::move(start.about), self->store, self->logger,
      detail::ActivityCall::Reports{
          .ended = std::move(on_end), .heartbeat = std::move(on_heartbeat), .abandoned = std::move(on_abandon)});
  bool stopped = false;
  {
    const std::scoped_lock lock(self->mutex);
    Call& known = self->calls[id];
    known.call = call;
    stopped = known.stopped;
  }
  if (stopped) {  // before it began: nobody waits for it
    const std::scoped_lock lock(self->mutex);
    self->calls.erase(id);
    return;
  }
  // Handlers of the registry contain what the user's function throws; others may not.
  try {
    (*start.handler)(call, start.input);
  } catch (detail::ForcedUnwind&) {
    call->abandon();
    throw;
  } catch (...) {
    call->end(detail::activity_error_from_current_exception());
  }
}

}  // namespace perdure::runtime
