#include "testing/comparison/turn_invention.h"

#include <algorithm>
#include <utility>

#include "testing/comparison/invention.h"
#include "testing/validation/scene.h"

namespace perdure::testing::comparison {

namespace {

class TurnInvention {
 public:
  TurnInvention(Run& run, const Both<OrchestrationItem>& items)
      : run_(run), dice_(run.dice()), invention_(run), items_(items), item_(items[0]) {}

  Both<TurnCommit> make() {
    commit_.commit_id = ++run_.in_flight().last_commit;
    commit_.execution_id = item_.execution_id;
    begin_or_continue();
    if (item_.metadata || commit_.started) decide();
    if (dice_.chance(25)) queue_message();
    if (run_.fast_path()) invent_fast_path();
    if (dice_.chance(8)) spoil();
    return for_both_sides();
  }

 private:
  [[nodiscard]] bool has_start() const {
    return !item_.messages.empty() && begins_execution(item_.messages.front().record.kind);
  }

  void begin_or_continue() {
    const bool exists = item_.metadata.has_value();
    if (!exists && !has_start() && dice_.chance(90)) return;  // messages to drop, and nothing else
    const bool next = exists && ((has_start() && is_terminal(item_.metadata->status)) || dice_.chance(2));
    if (next) ++commit_.execution_id;
    last_event_ = next ? 0 : item_.last_event_id;
    if (last_event_ == 0 || dice_.chance(4)) {
      StartedMetadata& started = commit_.started.emplace();
      started.name = invention_.orchestration();
      started.version = invention_.version();
      if (dice_.chance(35)) started.parent = invention_.link();
      started.pinned_version = invention_.version();
      started.carry_forward = dice_.below(3);
    }
    const std::size_t count = dice_.chance(10) ? 0 : dice_.between(1, 3);
    commit_.events = invention_.events(last_event_ + 1, count);
    last_event_ += count;
  }

  void decide() {
    if (dice_.chance(15)) {
      commit_.custom_status.emplace();
      commit_.custom_status->value = invention_.payload();
    }
    if (dice_.chance(35)) {
      for (std::size_t left = dice_.between(1, 4); left > 0; --left) {
        commit_.key_values.push_back(invention_.mutation());
      }
    }
    if (dice_.chance(45)) {
      for (std::size_t left = dice_.between(1, 3); left > 0; --left) schedule_activity();
    }
    if (dice_.chance(12)) cancel_activities();
    if (dice_.chance(12)) {
      end(ExecutionStatus::kContinuedAsNew);
      if (dice_.chance(90)) commit_.messages.push_back(continue_message(item_.instance, invention_.orchestration()));
    } else if (dice_.chance(15)) {
      end(static_cast<ExecutionStatus>(dice_.below(6)));
    }
  }

  void end(ExecutionStatus status) { commit_.status = StatusChange{.status = status, .output = invention_.payload()}; }

  void schedule_activity() {
    const EventId id = last_event_ + 1;
    commit_.events.push_back(event(id));
    last_event_ = id;
    commit_.activities.push_back(invention_.activity(item_.instance, commit_.execution_id, id));
  }

  void cancel_activities() {
    for (std::size_t left = dice_.between(1, 3); left > 0; --left) {
      commit_.cancelled_activities.push_back(dice_.between(1, last_event_ + 1));
    }
  }

  void queue_message() {
    for (std::size_t left = dice_.between(1, 2); left > 0; --left) {
      const std::string target = dice_.chance(50) ? item_.instance : invention_.instance();
      commit_.messages.push_back(dice_.chance(20) ? invention_.start(target) : invention_.message(target));
    }
  }

  void invent_fast_path() {
    if (dice_.chance(25)) commit_.claim = invention_.work_fetch();
    if (dice_.chance(25)) {
      commit_.owner = invention_.owner();
      commit_.keep_lock = invention_.lease();
    } else if (dice_.chance(20)) {
      commit_.owner = invention_.owner();
    }
    const std::vector<Both<WorkItem>>& work = run_.in_flight().work;
    for (std::size_t i = 0; i < work.size(); ++i) {
      const bool is_ours = work[i][0].record.instance == item_.instance;
      if (is_ours ? dice_.chance(25) : dice_.chance(1)) completed_.push_back({work[i][0].token, work[i][1].token});
    }
  }

  // One thing that must not be.
  void spoil() {
    switch (dice_.below(14)) {
      case 0:
        commit_.commit_id = 0;
        break;
      case 1:
        commit_.execution_id += dice_.between(1, 2);
        break;
      case 2:
        commit_.execution_id -= 1;
        break;
      case 3:
        commit_.events = invention_.events(item_.last_event_id + 2, 1);
        break;
      case 4:
        commit_.events = invention_.events(item_.last_event_id, 2);
        break;
      case 5:
        commit_.events.push_back(event(1));
        break;
      case 6:
        commit_.activities.push_back(event_message(item_.instance, "no activity"));
        break;
      case 7:
        commit_.activities.push_back(invention_.activity(invention_.instance(), commit_.execution_id, last_event_));
        break;
      case 8:
        commit_.activities.push_back(invention_.activity(item_.instance, commit_.execution_id + 1, last_event_));
        break;
      case 9:
        commit_.messages.push_back(invention_.activity(item_.instance, commit_.execution_id, last_event_));
        break;
      case 10:
        commit_.messages.push_back(event_message("", "for nobody"));
        break;
      case 11:
        if (!commit_.activities.empty()) commit_.activities.push_back(commit_.activities.front());
        completed_.clear();  // which of two faults is answered is open
        break;
      case 12:
        if (run_.fast_path()) commit_.keep_lock = Milliseconds{5'000};
        commit_.owner.clear();
        break;
      default:
        commit_.started.reset();
        break;
    }
  }

  Both<TurnCommit> for_both_sides() {
    Both<TurnCommit> commits{commit_, commit_};
    const bool all = dice_.chance(85);
    const bool ends = !item_.end_requests.empty() && dice_.chance(50);
    std::vector<std::size_t> taken;
    for (std::size_t i = 0; i < item_.messages.size(); ++i) {
      if (all || dice_.chance(50)) taken.push_back(i);
    }
    for (const Side side : {0U, 1U}) {
      commits[side].token = items_[side].token;
      for (const std::size_t i : taken) commits[side].consumed.push_back(items_[side].messages[i].id);
      for (std::size_t i = 0; i < (ends ? item_.end_requests.size() : 0); ++i) {
        commits[side].consumed.push_back(items_[side].end_requests[i].id);
      }
      for (const Both<LockToken>& token : completed_) commits[side].completed_work.push_back(token[side]);
    }
    if (dice_.chance(3)) {
      for (TurnCommit& commit : commits) commit.consumed.push_back(1'000'000'000);
    }
    return commits;
  }

  Run& run_;
  Dice& dice_;
  Invention invention_;
  const Both<OrchestrationItem>& items_;
  const OrchestrationItem& item_;
  TurnCommit commit_;
  std::vector<Both<LockToken>> completed_;
  EventId last_event_ = 0;
};

}  // namespace

Both<TurnCommit> invent_commit(Run& run, std::size_t index) {
  return TurnInvention(run, run.in_flight().turns[index]).make();
}

}  // namespace perdure::testing::comparison
