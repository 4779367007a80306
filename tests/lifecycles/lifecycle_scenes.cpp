// Ids that one client of a seed uses once, so that it knows how their instances end.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "cli/instance_copies.h"
#include "lifecycles/life_nodes.h"
#include "lifecycles/lifecycle_seed.h"
#include "lifecycles/random_life.h"
#include "providers/instance_import.h"
#include "support/eventually.h"

namespace perdure::test {

namespace {

constexpr std::size_t kIdsOfABulkCall = 8;
constexpr ExecutionId kChapters = 3;

// The time since something was sent to an id without an instance. On a machine that stood still it may have been
// discarded by right.
class Early {
 public:
  [[nodiscard]] bool may_be_discarded() const {
    return std::chrono::steady_clock::now() - sent_ > kOrphanRetention / 2;
  }

 private:
  std::chrono::steady_clock::time_point sent_ = std::chrono::steady_clock::now();
};

InstanceFilter failed_ones(const std::vector<std::string>& ids) {
  InstanceFilter filter;
  filter.ids = ids;
  filter.statuses = {ExecutionStatus::kFailed};
  return filter;
}

std::vector<std::string> numbered(const std::string& prefix) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < kIdsOfABulkCall; ++i) ids.push_back(prefix + std::to_string(i));
  return ids;
}

std::string sum_until(int last) {
  return "Completed " + std::to_string(last * (last + 1) / 2);
}

}  // namespace

bool LifecycleSeed::use_once(const std::string& id, const std::string& expected) {
  const std::scoped_lock lock(mutex_);
  return used_once_.emplace(id, expected).second;
}

// A message before the start. client.h: it "stays until it is dequeued".
void LifecycleSeed::send_letter(std::size_t number) {
  const std::string text = std::to_string(number);
  const std::string id = prefix_ + "letter" + text;
  if (!use_once(id, "Completed \"" + text + "\"")) return;
  const Early early;
  call_existing(id, [&] { client_.enqueue_event(id, "letters", text); });
  call_existing(id, [&] { client_.start_orchestration(id, "Letter"); });
  if (early.may_be_discarded()) call_existing(id, [&] { client_.enqueue_event(id, "letters", text); });
}

// Some before the start, the others while the instance continues as new with those that it has not read. After the
// start the id exists, whether or not a node has taken the start.
void LifecycleSeed::send_numbers(Dice& dice) {
  const int last = static_cast<int>(dice.between(2, 9));
  const int early_ones = static_cast<int>(dice.below(static_cast<std::size_t>(last) + 1));
  const std::string id = prefix_ + "numbers" + std::to_string(dice.next());
  if (!use_once(id, sum_until(last))) return;
  const auto send = [&](int first, int end, SendOptions options) {
    for (int number = first; number <= end; ++number) {
      call_existing(id, [&] { client_.enqueue_event(id, "numbers", number, options); });
    }
  };
  const Early early;
  send(1, early_ones, {.even_if_missing = true});
  call_existing(id, [&] { client_.start_orchestration(id, "Numbers", NumbersRead{.wanted = last}); });
  send(early_ones + 1, last, SendOptions());
  if (early.may_be_discarded()) send(1, last, SendOptions());
}

// An id that children ask for, too. If none of them has it yet, they are refused, and nothing they do disturbs it.
void LifecycleSeed::send_contested_numbers(Dice& dice) {
  const int last = static_cast<int>(dice.between(2, 9));
  const std::string id = contested_id(prefix_, dice.below(kContestedNumbers));
  if (!use_once(id, sum_until(last))) return;
  const auto only_free = StartInstanceOptions().policy(StartPolicy::kFail);
  if (!call([&] { client_.start_orchestration(id, "Numbers", NumbersRead{.wanted = last}, only_free); })) {
    const std::scoped_lock lock(mutex_);
    used_once_[id].clear();  // a child has it
    return;
  }
  for (int number = 1; number <= last; ++number) {
    call_existing(id, [&] { client_.enqueue_event(id, "numbers", number, SendOptions()); });
  }
}

// client.h: what is sent with even_if_missing reaches the next instance of the id.
void LifecycleSeed::end_before_start(Dice& dice) {
  const bool cancels = dice.chance(50);
  const std::string id = prefix_ + "ended" + std::to_string(dice.next());
  const std::string reason = (cancels ? kClientCancels : kClientTerminates) + id;
  if (!use_once(id, cancels ? "Cancelled cancelled: " + reason : "Terminated terminated: " + reason)) return;
  const auto end = [&] {
    call_existing(id, [&] {
      if (cancels) client_.cancel_instance(id, reason, {.even_if_missing = true});
      if (!cancels) client_.terminate_instance(id, reason, {.even_if_missing = true});
    });
  };
  const Early early;
  end();
  call_existing(id, [&] { client_.start_orchestration(id, "Letter"); });
  if (early.may_be_discarded()) end();
}

// Out of the store and in again. What waits for the id meanwhile does not prevent it.
void LifecycleSeed::move_an_instance(Dice& dice) {
  auto* const target = dynamic_cast<InstanceImport*>(world_.store.get());
  if (target == nullptr) return;
  const std::string id = prefix_ + "moved" + std::to_string(dice.next());
  if (!use_once(id, "Completed \"" + id + "\"")) return;
  call_existing(id, [&] { client_.start_orchestration(id, "Outcome", id); });
  await_end(id);
  call_existing(id, [&] {
    const std::vector<InstanceCopy> copies = cli::copy_tree(*world_.store, id);
    client_.delete_instance(id);
    if (dice.chance(50)) client_.enqueue_event(id, "letters", "too late");
    const auto imported = target->import_instances(copies);
    if (!imported) problem(id + " cannot be imported: " + imported.error().message());
  });
}

void LifecycleSeed::await_end(const std::string& id) {
  call_existing(id, [&] {
    if (!eventually([&] { return client_.get_orchestration_status(id).ended(); }, kLifePatience))
      problem(id + " does not end");
  });
}

// Instances that have failed are replaced while a bulk deletion removes what has failed. A replacement does not match,
// so it stays.
void LifecycleSeed::replace_in_bulk_deletion(Dice& dice) {
  const std::vector<std::string> ids = numbered(prefix_ + "replaced" + std::to_string(dice.next()) + "-");
  for (const std::string& id : ids) {
    call_existing(id, [&] { client_.start_orchestration(id, "Outcome", kOwnFailure + id); });
  }
  for (const std::string& id : ids) await_end(id);
  std::thread deletion([&] { call([&] { client_.delete_instance_bulk(failed_ones(ids)); }); });
  const auto replace = StartInstanceOptions().policy(StartPolicy::kReplaceIfTerminal);
  for (const std::string& id : ids) {
    call_existing(id, [&] { client_.start_orchestration(id, "Outcome", id, replace); });
  }
  deletion.join();
  for (const std::string& id : ids) check_outcome(id, "Completed \"" + id + "\"");
}

// The same with a bulk prune: a replacement keeps all of its executions.
void LifecycleSeed::replace_in_bulk_pruning(Dice& dice) {
  const std::vector<std::string> ids = numbered(prefix_ + "pruned" + std::to_string(dice.next()) + "-");
  const auto replace = StartInstanceOptions().policy(StartPolicy::kReplaceIfTerminal);
  const auto start = [&](const std::string& id, const std::string& outcome) {
    call_existing(id, [&] { client_.start_orchestration(id, "Chapters", Chapters{kChapters, outcome}, replace); });
  };
  for (const std::string& id : ids) start(id, kOwnFailure + id);
  for (const std::string& id : ids) await_end(id);
  std::atomic<bool> replaced = false;
  std::thread pruning([&] {
    do {
      call_uncounted([&] { client_.prune_executions_bulk(failed_ones(ids)); });
    } while (!replaced);
  });
  for (const std::string& id : ids) start(id, id);
  for (const std::string& id : ids) await_end(id);
  replaced = true;
  pruning.join();
  for (const std::string& id : ids) {
    call_existing(id, [&] {
      const std::size_t left = client_.list_executions(id).size();
      if (left != kChapters) problem(id + " has " + std::to_string(left) + " executions instead of all");
    });
    check_outcome(id, "Completed \"" + id + "\"");
  }
}

void LifecycleSeed::check_used_once() {
  for (const auto& [id, expected] : used_once_) {
    if (!expected.empty()) check_outcome(id, expected);
  }
}

void LifecycleSeed::check_outcome(const std::string& id, const std::string& expected) {
  call_existing(id, [&] {
    static_cast<void>(eventually([&] { return client_.get_orchestration_status(id).ended(); }, kLifePatience));
    const OrchestrationStatus status = client_.get_orchestration_status(id);
    const std::string shown = std::string(to_string(status.state)) + " " +
                              (status.completed() ? status.output.value_or("") : status.error_text());
    if (shown != expected) problem(id + " is '" + shown + "' instead of '" + expected + "'");
  });
  call_existing(id, [&] { client_.delete_instance(id, true); });
}

}  // namespace perdure::test
