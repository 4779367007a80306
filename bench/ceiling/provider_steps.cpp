// The same steps as sqlite_ceiling, through the provider.
#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include <unistd.h>

#include <perdure/sqlite_provider.h>
#include "measure.h"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of one page
using ceiling::Arguments;

constexpr Milliseconds kLease{600'000};

const std::string kEvent(ceiling::kEventBytes, 'e');
const std::string kMessage(ceiling::kMessageBytes, 'm');

std::string instance_id(std::size_t number) {
  return "order-" + std::to_string(number) + "-a8f3c1d2";
}

class Steps {
 public:
  explicit Steps(const Arguments& arguments) : arguments_(arguments) {
    for (const char* suffix : {"", "-wal", "-shm", "-processes"}) ::unlink((arguments.path + suffix).c_str());
    store_ = SqliteProvider::open(arguments.path);
    create(0, arguments.instances);
    create(arguments.instances, arguments.others);
    add_timers();
  }

  void run_plain() {
    complete_all();
    OrchestrationFetch fetch;
    fetch.limit = arguments_.batch;
    fetch.lock_timeout = kLease;
    fetch.with_history = false;
    WorkFetch work;
    work.limit = arguments_.batch;
    work.lock_timeout = kLease;
    std::size_t steps = 0;
    const ceiling::Stopwatch watch;
    while (watch.seconds() < arguments_.seconds) {
      const OrchestrationBatch batch = store_->fetch_orchestration_items(fetch).value();
      std::vector<TurnCommit> commits;
      for (const OrchestrationItem& item : batch.items) {
        TurnCommit commit = turn(item.instance, item.token, item.last_event_id);
        for (const QueuedMessage& message : item.messages) commit.consumed.push_back(message.id);
        commits.push_back(std::move(commit));
      }
      check(store_->ack_orchestration_items(commits));
      const WorkBatch activities = store_->fetch_work_items(work).value();
      std::vector<WorkAck> acks;
      acks.reserve(activities.items.size());
      for (const WorkItem& item : activities.items) acks.push_back({item.token, completion(item.record.instance)});
      check(store_->ack_work_items(acks));
      steps += acks.size();
    }
    ceiling::report(steps, watch);
  }

  void run_fused() {
    struct Held {
      std::string instance;
      LockToken token;
      EventId last_event = 0;
      LockToken activity;
    };
    std::vector<Held> held;
    const auto commit_step = [&](std::span<Held*> steps) {
      std::vector<TurnCommit> commits;
      for (const Held* step : steps) {
        TurnCommit commit = turn(step->instance, step->token, step->last_event);
        if (!step->activity.value.empty()) commit.completed_work.push_back(step->activity);
        commit.claim.emplace();
        commit.claim->lock_timeout = kLease;
        commit.keep_lock = kLease;
        commit.owner = "bench";
        commits.push_back(std::move(commit));
      }
      const std::vector<ProviderResult<CommitAnswer>> answers = store_->ack_orchestration_items(commits);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const CommitAnswer& answer = answers[i].value();
        steps[i]->last_event += 2;
        steps[i]->activity = answer.claimed.at(0).token;
      }
    };
    complete_all();
    OrchestrationFetch fetch;
    fetch.limit = arguments_.instances;
    fetch.lock_timeout = 2 * kLease;
    fetch.with_history = false;
    std::vector<TurnCommit> firsts;
    for (const OrchestrationItem& item : store_->fetch_orchestration_items(fetch).value().items) {
      held.push_back({item.instance, item.token, item.last_event_id, {}});
      TurnCommit commit = turn(item.instance, item.token, item.last_event_id);
      for (const QueuedMessage& message : item.messages) commit.consumed.push_back(message.id);
      commit.claim.emplace();
      commit.claim->lock_timeout = kLease;
      commit.keep_lock = kLease;
      commit.owner = "bench";
      firsts.push_back(std::move(commit));
    }
    const std::vector<ProviderResult<CommitAnswer>> answers = store_->ack_orchestration_items(firsts);
    for (std::size_t i = 0; i < held.size(); ++i) {
      held[i].last_event += 2;
      held[i].activity = answers[i].value().claimed.at(0).token;
    }
    std::size_t steps = 0;
    std::size_t next = 0;
    const ceiling::Stopwatch watch;
    while (watch.seconds() < arguments_.seconds) {
      std::vector<Held*> batch;
      batch.reserve(arguments_.batch);
      for (std::size_t i = 0; i < arguments_.batch; ++i) batch.push_back(&held[next++ % held.size()]);
      commit_step(batch);
      steps += batch.size();
    }
    ceiling::report(steps, watch);
  }

 private:
  template <class Outcomes>
  static void check(const Outcomes& outcomes) {
    for (const auto& outcome : outcomes) static_cast<void>(outcome.value());
  }

  // One message for each instance.
  void complete_all() {
    std::vector<MessageRecord> completions;
    completions.reserve(arguments_.instances);
    for (std::size_t i = 0; i < arguments_.instances; ++i) completions.push_back(completion(instance_id(i)));
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
  [[nodiscard]] TurnCommit turn(const std::string& instance, const LockToken& token, EventId last_event) {
    TurnCommit commit;
    commit.token = token;
    commit.commit_id = random_() | 1U;
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
        commit.commit_id = random_() | 1U;
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
      MessageRecord timer = completion(instance_id(i % (arguments_.instances + arguments_.others)));
      timer.kind = MessageKind::kTimerFired;
      timer.visible_at = store_->now() + Milliseconds{86'400'000} + Milliseconds(i);
      timers.push_back(std::move(timer));
    }
    check(store_->enqueue_messages(timers));
  }

  const Arguments& arguments_;
  std::shared_ptr<Provider> store_;
  std::mt19937_64 random_{42};
};

}  // namespace

int main(int count, char** values) {
  try {
    const Arguments arguments = ceiling::parse(count, values);
    Steps steps(arguments);
    if (arguments.shape == "plain") {
      steps.run_plain();
    } else {
      steps.run_fused();
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
