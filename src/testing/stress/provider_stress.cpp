#include <perdure/testing/provider_stress.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <perdure/provider_admin.h>
#include "testing/stress/fan_out.h"
#include "testing/validation/scene.h"
#include "testing/validation/threads.h"

namespace perdure::testing {

namespace {

using Clock = std::chrono::steady_clock;

class Stress {
 public:
  Stress(Provider& store, const StressOptions& options) : store_(store), options_(options) {}

  StressReport run() {
    const Clock::time_point begun = Clock::now();
    enqueue_starts();
    if (report_.problems.empty()) {
      const std::size_t threads = options_.orchestration_threads + options_.worker_threads;
      in_parallel(threads, [&](std::size_t thread) {
        const bool dispatches = thread < options_.orchestration_threads;
        while (completed_ < options_.instances && !stopped_) {
          if (!(dispatches ? run_turns() : run_activities())) wait(dispatches);
        }
        // Again and again: a call before a wait began has no effect on it.
        for (++finished_; finished_ < threads; std::this_thread::yield()) store_.wake_waiters();
      });
    }
    report_.elapsed = Clock::now() - begun;
    verify();
    sum_up();
    return std::move(report_);
  }

 private:
  void enqueue_starts() {
    for (std::size_t i = 0; i < options_.instances; ++i) {
      const auto started = store_.enqueue_start(start_message(stress::instance_name(i), "FanOut"), StartPolicy::kFail);
      if (!started) return problem("start of " + stress::instance_name(i) + ": " + started.error().to_string());
    }
  }

  // One fetch and one commit; false if there was nothing to do.
  bool run_turns() {
    OrchestrationFetch fetch;
    fetch.limit = options_.batch;
    fetch.lock_timeout = options_.lock_timeout;
    const Clock::time_point begun = Clock::now();
    const auto batch = store_.fetch_orchestration_items(fetch);
    if (!batch) return failed("fetch_orchestration_items", batch.error());
    std::vector<TurnCommit> commits;
    for (const OrchestrationItem& item : batch->items) {
      if (!dies()) commits.push_back(stress::next_turn(item, options_.fan_out, ++last_commit_));
    }
    if (commits.empty()) return !batch->items.empty();
    const auto answers = store_.ack_orchestration_items(commits);
    note_turn(Clock::now() - begun);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i]) {
        refused("ack_orchestration_items", answers[i].error());
      } else {
        ++turns_;
        if (commits[i].status) ++completed_;
      }
    }
    return true;
  }

  bool run_activities() {
    WorkFetch fetch;
    fetch.limit = options_.batch;
    fetch.lock_timeout = options_.lock_timeout;
    const auto batch = store_.fetch_work_items(fetch);
    if (!batch) return failed("fetch_work_items", batch.error());
    std::vector<WorkAck> acks;
    for (const WorkItem& item : batch->items) {
      if (!dies()) acks.push_back({.token = item.token, .completion = completion(item.record)});
    }
    if (acks.empty()) return !batch->items.empty();
    for (const auto& answer : store_.ack_work_items(acks)) {
      if (answer) {
        ++activities_;
      } else {
        refused("ack_work_items", answer.error());
      }
    }
    return true;
  }

  // Until something can be fetched. Where the clock is ours and somebody died, what is left may be locked.
  void wait(bool dispatches) {
    WorkWait wait;
    if (dispatches) wait.orchestrations.emplace();
    if (!dispatches) wait.activities.emplace();
    const bool may_be_locked = options_.advance && options_.deaths > 0;
    const Milliseconds patience{may_be_locked ? 0 : 1'000};
    const auto found = store_.wait_for_work(wait, store_.now() + patience);
    if (!found) {
      failed("wait_for_work", found.error());
    } else if (!*found && may_be_locked && deaths_ > 0) {
      options_.advance(options_.lock_timeout);
    }
  }

  bool dies() {
    if (options_.deaths == 0 || ++fetched_ % options_.deaths != 0) return false;
    ++deaths_;
    return true;
  }

  // A lock that was lost belongs to the game where locks expire while others work.
  void refused(const std::string& call, const ProviderError& error) {
    if (error.kind() == ProviderErrorKind::kLockLost && deaths_ > 0) return;
    problem(call + ": " + error.to_string());
  }
  bool failed(const std::string& call, const ProviderError& error) {
    if (error.retryable()) return true;
    problem(call + ": " + error.to_string());
    stopped_ = true;
    return true;
  }

  void problem(std::string what) {
    constexpr std::size_t kMost = 20;
    const std::scoped_lock lock(mutex_);
    if (report_.problems.size() < kMost) report_.problems.push_back(std::move(what));
  }
  void note_turn(Clock::duration took) {
    const std::scoped_lock lock(mutex_);
    took_.push_back(std::chrono::duration_cast<std::chrono::microseconds>(took));
  }

  void verify() {
    ProviderAdmin& admin = *store_.admin();
    for (std::size_t i = 0; i < options_.instances; ++i) verify_instance(admin, stress::instance_name(i));
    if (completed_ != options_.instances) problem(std::to_string(completed_) + " completions of instances");
    if (activities_ != options_.instances * options_.fan_out) {
      problem(std::to_string(activities_) + " completions of activities");
    }
    const auto depths = admin.queue_depths();
    if (!depths) {
      problem("queue_depths: " + depths.error().to_string());
    } else if (*depths != QueueDepths{}) {
      problem(std::to_string(depths->messages + depths->delayed_messages) + " messages and " +
              std::to_string(depths->activities + depths->locked_activities + depths->delayed_activities) +
              " activities are left");
    }
  }

  void verify_instance(ProviderAdmin& admin, const std::string& instance) {
    const auto info = admin.instance_info(instance);
    if (!info || info->status != ExecutionStatus::kCompleted) return problem(instance + " did not complete");
    const auto history = admin.read_history(instance);
    if (!history) return problem(instance + ": " + history.error().to_string());
    if (history->size() != stress::events_of_completed(options_.fan_out)) {
      return problem(instance + " has " + std::to_string(history->size()) + " events");
    }
    for (std::size_t i = 0; i < history->size(); ++i) {
      if ((*history)[i].event_id != i + 1) return problem(instance + ": its history has a gap");
    }
  }

  void sum_up() {
    report_.turns = turns_;
    report_.deaths = deaths_;
    const double seconds = std::max(report_.elapsed.count(), 1e-9);
    report_.instances_per_second = static_cast<double>(completed_) / seconds;
    report_.activities_per_second = static_cast<double>(activities_) / seconds;
    if (took_.empty()) return;
    std::sort(took_.begin(), took_.end());
    report_.turn_p50 = took_[took_.size() / 2];
    report_.turn_p99 = took_[took_.size() * 99 / 100];
  }

  Provider& store_;
  const StressOptions& options_;
  std::atomic<CommitId> last_commit_ = 0;
  std::atomic<std::size_t> fetched_ = 0;
  std::atomic<std::size_t> deaths_ = 0;
  std::atomic<std::size_t> turns_ = 0;
  std::atomic<std::size_t> completed_ = 0;
  std::atomic<std::size_t> activities_ = 0;
  std::atomic<std::size_t> finished_ = 0;  // threads
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  StressReport report_;                          // guarded by mutex_ while threads run, as what follows
  std::vector<std::chrono::microseconds> took_;  // of each batch of turns
};

}  // namespace

std::string StressReport::to_string() const {
  std::string text = std::to_string(instances_per_second) + " instances/s, " + std::to_string(activities_per_second) +
                     " activities/s, " + std::to_string(turns) + " turns (p50 " + std::to_string(turn_p50.count()) +
                     " us, p99 " + std::to_string(turn_p99.count()) + " us), " + std::to_string(deaths) + " deaths";
  for (const std::string& problem : problems) text += "\n" + problem;
  return text;
}

StressReport run_provider_stress(const std::shared_ptr<Provider>& store, const StressOptions& options) {
  if (store->admin() == nullptr) throw std::invalid_argument("the store has no admin interface to check its state");
  return Stress(*store, options).run();
}

}  // namespace perdure::testing
