#include "runtime/activity_threads.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
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
  std::set<RunId> not_back;     // that wait for a thread, or whose threads are not back yet
  std::set<RunId> replaced;     // of those, whose threads are to end then
  std::size_t live = 0;
  bool closed = false;

  // Called with the mutex locked. Throws std::system_error, and has changed nothing then.
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
  shared_->not_back.insert(start.run);
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
  if (!shared_->not_back.contains(run)) return;
  Shared::add_thread(shared_);
  shared_->replaced.insert(run);
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
    self->not_back.erase(id);
    if (self->replaced.erase(id) > 0) break;
  }
  --self->live;
  self->ended.notify_all();
}

void ActivityThreads::Shared::lose_thread(const std::shared_ptr<Shared>& self, RunId run) {
  try {
    const std::scoped_lock lock(self->mutex);
    self->not_back.erase(run);
    --self->live;
    self->ended.notify_all();
    if (self->replaced.erase(run) == 0 && !self->closed) add_thread(self);
  } catch (const std::system_error& error) {
    self->logger.warn("ended thread of an activity not replaced; its slot stays occupied", {{"error", error.what()}});
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
