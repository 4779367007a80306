#include <perdure/runtime.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "providers/home_process.h"
#include "runtime/activity_threads.h"
#include "runtime/discarded_executions.h"
#include "runtime/dispatcher_threads.h"
#include "runtime/handover_threads.h"
#include "runtime/node.h"

namespace perdure {

// The parts that are put together here.
namespace orchestration = runtime::orchestration;
namespace worker = runtime::worker;
using runtime::ActivityThreads;
using runtime::DispatcherThreads;
using runtime::Handover;
using runtime::KeptExecution;
using runtime::NewsForTurns;
using runtime::NewsForWorker;
using runtime::Node;
using runtime::NodeCode;
using runtime::OrchestrationDispatcher;
using runtime::OrchestrationEffects;
using runtime::ProviderCalls;
using runtime::RandomIds;
using runtime::RunId;
using runtime::WorkerDispatcher;

namespace {

using OrchestrationThreads = DispatcherThreads<OrchestrationDispatcher, orchestration::Request, orchestration::Answer>;
using WorkerThreads = DispatcherThreads<WorkerDispatcher, worker::Request, worker::Answer>;

// Beside the turns: one thread that waits for work, one that commits, one that renews locks.
constexpr std::size_t kThreadsBesideTurns = 3;
// One that waits for work, one that watches running activities, one that acknowledges, one that renews locks.
constexpr std::size_t kWorkerThreads = 4;

std::chrono::steady_clock::time_point after(Milliseconds time) {
  constexpr Milliseconds kLongest = std::chrono::hours(24 * 365);  // the clock must not wrap
  return std::chrono::steady_clock::now() + std::min(time, kLongest);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::shared_ptr<Provider> checked(std::shared_ptr<Provider> store) {
  if (!store) throw std::invalid_argument("a runtime needs a provider, not a null pointer");
  return store;
}

}  // namespace

class Runtime::Threads {
 public:
  Threads(std::shared_ptr<Provider> store, Registry registry, RuntimeOptions options)
      : store_(checked(std::move(store))), options_(std::move(options)) {
    if (!options_.clock) options_.clock = std::make_shared<SystemClock>();
    Node node = runtime::make_node(options_, store_->capabilities(), std::move(registry), RandomIds::from_device());
    id_ = node.id;
    code_ = node.code;
    health_ = node.health;
    const NodeInfo info = node.info;
    bool may_be_registered = false;
    try {
      make_threads(std::move(node));
      const auto registered =
          ProviderCalls(store_, options_.metrics).one("register_node", [&] { return store_->register_node(info); });
      may_be_registered = registered || leaves_doubt(registered.error());
      if (!registered) registered.error().raise();
      log_start(info);
      activities_->release();
      turns_->release();
    } catch (...) {
      end_threads();
      if (may_be_registered) deregister();
      throw;
    }
  }

  void shutdown(Milliseconds timeout) {
    const std::scoped_lock lock(shutdown_mutex_);
    if (std::exchange(down_, true)) return;
    const auto deadline = after(timeout);
    turns_->with([](OrchestrationDispatcher& dispatcher, Timestamp) { dispatcher.drain(); });
    activities_->with([](WorkerDispatcher& dispatcher, Timestamp) { dispatcher.drain(); });
    const auto is_idle = [](const auto& dispatcher) { return dispatcher.idle(); };
    const auto all_told = [](const WorkerDispatcher& dispatcher) { return dispatcher.all_told(); };
    bool clean = activities_->wait_until(deadline, is_idle);
    bool told = clean;
    const auto stop_repeating = [this] {
      turns_->with([](OrchestrationDispatcher& dispatcher, Timestamp) { dispatcher.stop_repeating(); });
    };
    if (!clean) {
      stop_repeating();
      activities_->with([](WorkerDispatcher& dispatcher, Timestamp now) { dispatcher.stop_all(now); });
      told = activities_->wait_until(after(kLastCalls), all_told);
      clean = activities_->wait_until(after(std::min(timeout, options_.activity_cancellation_grace_period)), is_idle);
    }
    bool turned = turns_->wait_until(deadline, is_idle);
    if (!turned) {
      stop_repeating();
      turned = turns_->wait_until(after(kLastCalls), is_idle);
    }
    if (told) {
      // Their last commits may have claimed activities, which are to be given back; the worker may not even have heard
      // of them.
      tell_worker(*activities_, *handover_);
      activities_->wait_until(std::max(deadline, after(kLastCalls)), all_told);
    }
    close(clean && turned);
    deregister();
    options_.logger.info("runtime stopped", {{"node_id", id_}});
  }

  void set_version_policy(std::string_view orchestration, VersionPolicy policy) {
    code_->set_version_policy(orchestration, policy);
  }
  [[nodiscard]] bool is_here() const noexcept { return home_.is_this(); }
  void check_process() const {
    if (is_here()) return;
    throw std::logic_error(home_.complaint("the runtime '" + id_ + "' was started",
                                           "fork before it is started, or exec a program in the child"));
  }
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] RuntimeHealth health() const { return health_->report(); }
  [[nodiscard]] Milliseconds shutdown_timeout() const noexcept { return options_.shutdown_timeout; }
  [[nodiscard]] bool idle() const {
    const auto resting = [](const auto& dispatcher, Timestamp) { return dispatcher.resting(); };
    return turns_->with(resting) && activities_->with(resting);
  }

 private:
  // What turns, commits and stops that are under way may take when a shutdown has no patience. They hardly ever need
  // it.
  static constexpr Milliseconds kLastCalls{2'000};

  void log_start(const NodeInfo& info) const {
    const std::string version = info.engine_version.to_string();
    options_.logger.info("runtime started",
                         {{"node_id", id_}, {"engine_version", version}, {"provider", store_->name()}});
    options_.logger.info(
        "capability filter configured",
        {{"supported_range", runtime::to_text(info.filter.engine_versions)},
         {"orchestrations", info.filter.orchestrations.empty() ? "any" : joined(info.filter.orchestrations)},
         {"activities", info.filter.activities.empty() ? "any" : joined(info.filter.activities)}});
  }

  // Makes all threads, none of which works yet: the node may still be refused.
  void make_threads(Node node) {
    turns_ = std::make_shared<OrchestrationThreads>(std::move(node.orchestrations), store_, options_.clock);
    activities_ = std::make_shared<WorkerThreads>(std::move(node.activities), store_, options_.clock);
    const std::weak_ptr<WorkerThreads> workers = activities_;
    const ProviderCalls calls(store_, options_.metrics);
    const auto tell = [workers](auto what) {
      if (const auto alive = workers.lock()) alive->with(std::move(what));
    };
    running_ = std::make_shared<ActivityThreads>(
        options_.worker_concurrency, store_, options_.logger,
        ActivityThreads::Reports{
            .ended =
                [tell](RunId run, ActivityOutcome outcome) {
                  tell([&](WorkerDispatcher& d, Timestamp now) { d.ended(run, std::move(outcome), now); });
                },
            .heartbeat =
                [tell](RunId run, Payload details) {
                  tell([&](WorkerDispatcher& d, Timestamp now) { d.heartbeat(run, std::move(details), now); });
                },
            .returned = [tell](RunId run) { tell([&](WorkerDispatcher& d, Timestamp) { d.returned(run); }); },
            .abandoned =
                [tell](RunId run) { tell([&](WorkerDispatcher& d, Timestamp now) { d.abandoned(run, now); }); },
            .lost = [tell](RunId run) { tell([&](WorkerDispatcher& d, Timestamp now) { d.thread_lost(run, now); }); }});
    const auto handover = handover_;
    const std::weak_ptr<OrchestrationThreads> turns = turns_;
    // Their number is fixed; those of activities were made before.
    activities_->make(
        "the dispatcher of activities", "worker_concurrency", kWorkerThreads,
        [calls, runner = running_](worker::RequestBody body) {
          return worker::perform(calls, *runner, std::move(body));
        },
        [turns, handover](WorkerDispatcher& dispatcher, bool) {
          return outside(dispatcher.take_news(), handover, turns);
        });
    turns_->make(
        "the dispatcher of orchestrations", "orchestration_concurrency",
        options_.orchestration_concurrency + kThreadsBesideTurns,
        [calls, turns = node.turns](orchestration::RequestBody body) {
          return orchestration::perform(calls, *turns, std::move(body));
        },
        [workers, handover](OrchestrationDispatcher& dispatcher, bool own_thread) {
          // Code of the user is destroyed on threads where it runs.
          return outside(own_thread ? dispatcher.take_effects() : OrchestrationEffects{dispatcher.take_news(), {}},
                         handover, workers);
        });
  }

  // Whether the store may have done what failed: the response was lost, or the provider does not say what happened.
  [[nodiscard]] static bool leaves_doubt(const ProviderError& error) {
    return error.kind() == ProviderErrorKind::kUnavailable || error.kind() == ProviderErrorKind::kStoreFailed;
  }

  void deregister() {
    const auto removed =
        ProviderCalls(store_, options_.metrics).one("remove_node", [&] { return store_->remove_node(id_); });
    if (removed) return;
    options_.logger.warn("node could not be deregistered", {{"node_id", id_}, {"error", removed.error().to_string()}});
  }

  // Of a node that never began to work.
  void end_threads() {
    const auto deadline = after(runtime::kEndOfIdleThreads);
    if (turns_) turns_->close(deadline);
    if (activities_) activities_->close(deadline);
    if (running_) running_->close(deadline);
  }

  // What is to be done while the dispatcher is not locked: user code is destroyed, and the other dispatcher is told.
  static std::function<void()> outside(OrchestrationEffects effects, const std::shared_ptr<Handover>& handover,
                                       const std::weak_ptr<WorkerThreads>& workers) {
    const bool news = !effects.empty();
    if (effects.given_up.empty() && !news) return nullptr;
    auto given_up = std::make_shared<std::vector<KeptExecution>>(std::move(effects.given_up));
    if (news) handover->leave(static_cast<NewsForWorker&&>(effects));
    return [given_up, news, handover, workers] {
      // In this order: destructors of the user may be slow, and a claimed activity is not to wait for them.
      if (const auto alive = news ? workers.lock() : nullptr) tell_worker(*alive, *handover);
      runtime::discard(*given_up);
    };
  }
  static void tell_worker(WorkerThreads& workers, Handover& handover) {
    workers.with(
        [&](WorkerDispatcher& dispatcher, Timestamp now) { dispatcher.hear(handover.take_for_worker(), now); });
  }
  static std::function<void()> outside(NewsForTurns news, const std::shared_ptr<Handover>& handover,
                                       const std::weak_ptr<OrchestrationThreads>& turns) {
    if (news.empty()) return nullptr;
    handover->leave(std::move(news));
    return [handover, turns] {
      if (const auto alive = turns.lock()) {
        alive->with([&](OrchestrationDispatcher& dispatcher, Timestamp now) {
          dispatcher.hear(handover->take_for_turns(), now);
        });
      }
    };
  }

  void close(bool clean) {
    const auto stuck =
        activities_->with([](const WorkerDispatcher& dispatcher, Timestamp) { return dispatcher.running_names(); });
    const auto deadline = after(clean ? kPatience : kLastCalls);
    const bool turns_ended = turns_->close(deadline);
    const bool activities_ended = activities_->close(deadline);
    running_->close(stuck.empty() ? deadline : std::chrono::steady_clock::now());
    if (stuck.empty() && turns_ended && activities_ended) return;
    options_.logger.error("runtime stopped, but some threads have not returned from user code",
                          {{"node_id", id_}, {"activities", joined(stuck)}, {"turns", turns_ended ? "no" : "yes"}});
    if (options_.abort_if_stuck) std::abort();
  }

  // For threads that have nothing left to do; only a machine that stands still needs it.
  static constexpr Milliseconds kPatience{10'000};

  HomeProcess home_;
  std::shared_ptr<Provider> store_;
  RuntimeOptions options_;
  std::string id_;
  std::shared_ptr<NodeCode> code_;
  std::shared_ptr<runtime::StoreHealth> health_;
  std::shared_ptr<OrchestrationThreads> turns_;
  std::shared_ptr<WorkerThreads> activities_;
  std::shared_ptr<ActivityThreads> running_;
  std::shared_ptr<Handover> handover_ = std::make_shared<Handover>();
  std::recursive_mutex shutdown_mutex_;  // a sink may call shutdown() from within
  bool down_ = false;
};

Runtime::Runtime(std::shared_ptr<Provider> store, Registry registry, RuntimeOptions options)
    : threads_(std::make_unique<Threads>(std::move(store), std::move(registry), std::move(options))) {}

Runtime::~Runtime() {
  if (!threads_->is_here()) {
    static_cast<void>(threads_.release());  // a copy whose threads are in the other process
    return;
  }
  shutdown();
}

void Runtime::shutdown(Milliseconds timeout) {
  threads_->check_process();
  threads_->shutdown(timeout);
}

void Runtime::shutdown() {
  shutdown(threads_->shutdown_timeout());
}

void Runtime::set_version_policy(std::string_view orchestration, VersionPolicy policy) {
  threads_->check_process();
  threads_->set_version_policy(orchestration, policy);
}

const std::string& Runtime::node_id() const noexcept {
  return threads_->id();
}

RuntimeHealth Runtime::health() const {
  threads_->check_process();
  return threads_->health();
}

bool Runtime::idle() const {
  threads_->check_process();
  return threads_->idle();
}

}  // namespace perdure
