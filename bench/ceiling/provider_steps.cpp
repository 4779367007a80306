// The same steps as sqlite_ceiling and postgres_ceiling, through the providers: path=FILE is SQLite, path=URL
// PostgreSQL.
#include <algorithm>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include <unistd.h>

#include <perdure/sqlite_provider.h>
#include "ceiling/crew.h"
#include "ceiling/measure.h"
#include "postgres/fresh_store.h"
#include "postgres/server_cpu.h"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of one page
using ceiling::Arguments;
using ceiling::Reached;
using ceiling::Stopwatch;

constexpr Milliseconds kLease{600'000};

const std::string kEvent(ceiling::kEventBytes, 'e');
const std::string kMessage(ceiling::kMessageBytes, 'm');

std::string instance_id(std::size_t number) {
  return "order-" + std::to_string(number) + "-a8f3c1d2";
}

class Steps {
 public:
  explicit Steps(const Arguments& arguments) : arguments_(arguments), load_(arguments.load) {
    if (bench::is_postgres_url(load_.path)) {
      PostgresOptions options;
      options.schema = "perdure_steps";
      options.connections = load_.connections;
      postgres_.emplace(load_.path, options);
      store_ = postgres_->store();
    } else {
      for (const char* suffix : {"", "-wal", "-shm", "-processes"}) ::unlink((load_.path + suffix).c_str());
      store_ = SqliteProvider::open(load_.path);
    }
    for (std::size_t i = 0; i < load_.connections; ++i) workers_.emplace_back().random.seed(i + 42);
    create(0, load_.instances);
    create(load_.instances, arguments_.others);
    add_timers();
    complete_all();
  }

  [[nodiscard]] Reached run() {
    const bool plain = load_.shape == "plain";
    if (!plain) hold_all();
    std::optional<Stopwatch> watch;
    std::optional<bench::ServerCpu> server;
    std::uint64_t round_trips = 0;
    Reached reached;
    reached.steps = ceiling::run_crew(
        load_, [&](std::size_t thread) { return plain ? plain_step(workers_[thread]) : fused_step(workers_[thread]); },
        [&] {
          if (postgres_) {
            server.emplace(postgres_->control().server_process());
            round_trips = postgres_->round_trips();
          }
          watch.emplace();
        });
    reached.seconds = watch->seconds();
    reached.cpu_seconds = watch->cpu_seconds();
    if (postgres_) {
      reached.round_trips = postgres_->round_trips() - round_trips;
      reached.server_cpu_seconds = server->seconds().value_or(0);
    }
    return reached;
  }

 private:
  // An instance whose lock is kept, with the activity that it waits for.
  struct Held {
    std::string instance;
    LockToken token;
    EventId last_event = 0;
    LockToken activity;
  };
  // What one thread works with.
  struct Worker {
    std::mt19937_64 random;
    std::vector<Held> held;
    std::size_t next = 0;
  };

  std::size_t plain_step(Worker& worker) {
    OrchestrationFetch fetch;
    fetch.limit = load_.batch;
    fetch.lock_timeout = kLease;
    fetch.with_history = false;
    const OrchestrationBatch batch = store_->fetch_orchestration_items(fetch).value();
    std::vector<TurnCommit> commits;
    for (const OrchestrationItem& item : batch.items) {
      TurnCommit commit = turn(worker, item.instance, item.token, item.last_event_id);
      for (const QueuedMessage& message : item.messages) commit.consumed.push_back(message.id);
      commits.push_back(std::move(commit));
    }
    if (!commits.empty()) check(store_->ack_orchestration_items(commits));
    WorkFetch work;
    work.limit = load_.batch;
    work.lock_timeout = kLease;
    const WorkBatch activities = store_->fetch_work_items(work).value();
    std::vector<WorkAck> acks;
    acks.reserve(activities.items.size());
    for (const WorkItem& item : activities.items) acks.push_back({item.token, completion(item.record.instance)});
    if (!acks.empty()) check(store_->ack_work_items(acks));
    return acks.size();
  }

  std::size_t fused_step(Worker& worker) {
    if (worker.next + load_.batch > worker.held.size()) worker.next = 0;
    const std::span<Held> steps = std::span(worker.held).subspan(worker.next, load_.batch);
    worker.next += load_.batch;
    std::vector<TurnCommit> commits;
    commits.reserve(steps.size());
    for (const Held& step : steps) {
      commits.push_back(keeping(turn(worker, step.instance, step.token, step.last_event)));
      commits.back().completed_work.push_back(step.activity);
    }
    commit_held(steps, commits);
    return steps.size();
  }

  // Each thread keeps its share of the instances.
  void hold_all() {
    OrchestrationFetch fetch;
    fetch.limit = load_.instances;
    fetch.lock_timeout = 2 * kLease;
    fetch.with_history = false;
    const OrchestrationBatch batch = store_->fetch_orchestration_items(fetch).value();
    const std::size_t each = load_.instances / load_.connections;
    for (std::size_t i = 0; i < load_.connections; ++i) {
      std::vector<TurnCommit> commits;
      for (const OrchestrationItem& item : std::span(batch.items).subspan(i * each, each)) {
        workers_[i].held.push_back({item.instance, item.token, item.last_event_id, {}});
        commits.push_back(keeping(turn(workers_[i], item.instance, item.token, item.last_event_id)));
        for (const QueuedMessage& message : item.messages) commits.back().consumed.push_back(message.id);
      }
      commit_held(workers_[i].held, commits);
    }
  }

  [[nodiscard]] static TurnCommit keeping(TurnCommit commit) {
    commit.claim.emplace();
    commit.claim->lock_timeout = kLease;
    commit.keep_lock = kLease;
    commit.owner = "bench";
    return commit;
  }

  void commit_held(std::span<Held> steps, std::span<const TurnCommit> commits) {
    const std::vector<ProviderResult<CommitAnswer>> answers = store_->ack_orchestration_items(commits);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].activity = answers[i].value().claimed.at(0).token;
      steps[i].last_event += 2;
    }
  }

  template <class Outcomes>
  static void check(const Outcomes& outcomes) {
    for (const auto& outcome : outcomes) static_cast<void>(outcome.value());
  }

  // One message for each instance.
  void complete_all() {
    std::vector<MessageRecord> completions;
    completions.reserve(load_.instances);
    for (std::size_t i = 0; i < load_.instances; ++i) completions.push_back(completion(instance_id(i)));
    check(store_->enqueue_messages(completions));
  }

  [[nodiscard]] static MessageRecord completion(const std::string& instance) {
    MessageRecord record;
    record.kind = MessageKind::kActivityCompleted;
    record.instance = instance;
    record.execution = kFirstExecutionId;
    record.body = kMessage;
    return record;
  }

  // Receives a completion and schedules the next activity.
  [[nodiscard]] static TurnCommit turn(Worker& worker, const std::string& instance, const LockToken& token,
                                       EventId last_event) {
    TurnCommit commit;
    commit.token = token;
    commit.commit_id = worker.random() | 1U;
    for (const EventId id : {last_event + 1, last_event + 2}) {
      EventRecord event;
      event.event_id = id;
      event.kind = 3;
      event.turn = id / 2;
      event.time = Timestamp(Milliseconds{1'700'000'000'000});
      event.body = kEvent;
      commit.events.push_back(std::move(event));
    }
    MessageRecord activity;
    activity.kind = MessageKind::kExecuteActivity;
    activity.instance = instance;
    activity.execution = kFirstExecutionId;
    activity.activity_id = last_event + 2;
    activity.name = "ChargePayment";
    activity.body = kMessage;
    commit.activities.push_back(std::move(activity));
    return commit;
  }

  // Instances that have had their first turn.
  void create(std::size_t first, std::size_t count) {
    constexpr std::size_t kAtOnce = 1'000;
    for (std::size_t begin = first; begin < first + count; begin += kAtOnce) {
      std::vector<MessageRecord> starts;
      for (std::size_t i = begin; i < std::min(begin + kAtOnce, first + count); ++i) {
        MessageRecord start;
        start.kind = MessageKind::kStartOrchestration;
        start.instance = instance_id(i);
        start.name = "ProcessOrder";
        start.body = kMessage;
        starts.push_back(std::move(start));
      }
      check(store_->enqueue_messages(starts));
      OrchestrationFetch fetch;
      fetch.limit = kAtOnce;
      std::vector<TurnCommit> commits;
      for (const OrchestrationItem& item : store_->fetch_orchestration_items(fetch).value().items) {
        TurnCommit commit;
        commit.token = item.token;
        commit.commit_id = workers_.front().random() | 1U;
        commit.consumed.push_back(item.messages.at(0).id);
        commit.started = StartedMetadata{"ProcessOrder", SemanticVersion{1, 0, 0}, {}, engine_version(), 0};
        commits.push_back(std::move(commit));
      }
      check(store_->ack_orchestration_items(commits));
    }
  }

  void add_timers() {
    std::vector<MessageRecord> timers;
    for (std::size_t i = 0; i < arguments_.timers; ++i) {
      MessageRecord timer = completion(instance_id(i % (load_.instances + arguments_.others)));
      timer.kind = MessageKind::kTimerFired;
      timer.visible_at = store_->now() + Milliseconds{86'400'000} + Milliseconds(i);
      timers.push_back(std::move(timer));
    }
    check(store_->enqueue_messages(timers));
  }

  const Arguments& arguments_;
  const ceiling::Load& load_;
  std::optional<bench::FreshStore> postgres_;
  std::shared_ptr<Provider> store_;
  std::vector<Worker> workers_;
};

}  // namespace

int main(int count, char** values) {
  try {
    const Arguments arguments = ceiling::parse(count, values);
    ceiling::print(Steps(arguments).run(), bench::is_postgres_url(arguments.load.path));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
