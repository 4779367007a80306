#include "lifecycles/lifecycle_seed.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "cli/instance_copies.h"
#include "lifecycles/life_nodes.h"
#include "lifecycles/random_life.h"
#include "providers/instance_import.h"
#include "support/eventually.h"

namespace perdure::test {

namespace {

constexpr std::size_t kClients = 3;
constexpr std::size_t kCallsOfAClient = 12;
constexpr std::size_t kIdsOfABulkDeletion = 8;

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

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

InstanceFilter only(std::vector<std::string> ids) {
  InstanceFilter filter;
  filter.ids = std::move(ids);
  return filter;
}

}  // namespace

LifecycleSeed::LifecycleSeed(std::shared_ptr<Provider> store, std::uint64_t seed, std::function<void()> on_call)
    : store_(std::move(store)),
      client_(store_),
      seed_(seed),
      prefix_("s" + std::to_string(seed) + "-"),
      on_call_(std::move(on_call)) {}

std::vector<std::string> LifecycleSeed::run() {
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.emplace_back([this, i] {
      Dice dice(seed_ * kClients + i);
      for (std::size_t j = 0; j < kCallsOfAClient; ++j) act(dice);
    });
  }
  for (std::thread& each : clients) each.join();
  end_all();
  check_used_once();
  if (problems_.empty()) delete_all();
  return problems_;
}

void LifecycleSeed::problem(const std::string& text) {
  const std::scoped_lock lock(mutex_);
  problems_.push_back("seed " + std::to_string(seed_) + ": " + text);
}

// ---- what clients do -----------------------------------------------------------------------------------------------

// Errors that a client may get: the id is in use, or free, or a child's.
void LifecycleSeed::call(const std::function<void()>& request) {
  try {
    request();
  } catch (const ClientError& error) {
    const bool expected =
        error.kind() == ClientErrorKind::kNotFound || error.kind() == ClientErrorKind::kAlreadyExists ||
        error.kind() == ClientErrorKind::kStillRunning || error.kind() == ClientErrorKind::kSubOrchestration;
    if (!expected) problem("a client's call failed: " + std::string(error.what()));
  }
  on_call_();
}

void LifecycleSeed::act(Dice& dice) {
  if (dice.chance(2)) return replace_in_bulk_deletion(dice);
  const std::string id = shared_id(prefix_, dice.below(kSharedIds));
  const std::string other = shared_id(prefix_, dice.below(kSharedIds));
  const std::size_t what = dice.below(23);
  if (what <= 2) return start(dice, id, StartPolicy::kIgnore);
  if (what <= 5) return start(dice, id, StartPolicy::kReplaceIfTerminal);
  if (what == 6) return start(dice, id, StartPolicy::kFail);
  if (what == 7) return send_letter(dice.below(1'000'000));
  if (what == 20) return send_numbers(dice);
  if (what == 21) return end_before_start(dice);
  if (what == 22) return move_an_instance(dice);
  if (what >= 18) return look(id);
  PruneOptions keep;
  keep.keep_last = dice.between(1, 2);
  InstanceFilter failed = only({id, other});
  failed.statuses = {ExecutionStatus::kFailed};
  call([&] {
    if (what == 8) client_.cancel_instance(id, kClientCancels);
    if (what == 9) client_.terminate_instance(id, kClientTerminates);
    if (what <= 11 && what >= 10) client_.delete_instance(id);
    if (what == 12) client_.delete_instance(id, true);
    if (what == 13) client_.prune_executions(id, keep);
    if (what == 14) client_.delete_instance_bulk(dice.chance(50) ? failed : only({id, other}));
    if (what == 15) client_.prune_executions_bulk(only({id, other}), keep);
    if (what == 16) client_.enqueue_event(id, "numbers", 1);
    if (what == 17) client_.raise_event(id, "event", 1);
  });
}

void LifecycleSeed::start(Dice& dice, const std::string& id, StartPolicy policy) {
  LifePlan plan;
  plan.seed = dice.next() >> 1U;
  plan.prefix = prefix_;
  {
    const std::scoped_lock lock(mutex_);
    plan.generation = prefix_ + std::to_string(starts_.size());
    starts_[plan.generation] = {id, ++clock_, std::nullopt};
  }
  call([&] {
    const StartOutcome outcome = client_.start_orchestration(id, "Life", plan, StartInstanceOptions().policy(policy));
    const std::scoped_lock lock(mutex_);
    if (outcome != StartOutcome::kIgnored) starts_[plan.generation].ended = ++clock_;
  });
}

// A message before the start, to an id that is used once. client.h: it "stays until it is dequeued".
void LifecycleSeed::send_letter(std::size_t number) {
  const std::string text = std::to_string(number);
  const std::string id = prefix_ + "letter" + text;
  if (!use_once(id, "Completed \"" + text + "\"")) return;
  const Early early;
  call([&] { client_.enqueue_event(id, "letters", text); });
  call([&] { client_.start_orchestration(id, "Letter"); });
  if (early.may_be_discarded()) call([&] { client_.enqueue_event(id, "letters", text); });
}

// Some before the start, the others while the instance continues as new with those that it has not read.
void LifecycleSeed::send_numbers(Dice& dice) {
  const int last = static_cast<int>(dice.between(2, 9));
  const int early_ones = static_cast<int>(dice.below(static_cast<std::size_t>(last) + 1));
  const std::string id = prefix_ + "numbers" + std::to_string(dice.next());
  if (!use_once(id, "Completed " + std::to_string(last * (last + 1) / 2))) return;
  const auto send = [&](int first, int end) {
    for (int number = first; number <= end; ++number) call([&] { client_.enqueue_event(id, "numbers", number); });
  };
  const Early early;
  send(1, early_ones);
  call([&] { client_.start_orchestration(id, "Numbers", NumbersRead{.wanted = last}); });
  send(early_ones + 1, last);
  if (early.may_be_discarded()) send(1, last);
}

// client.h: what is sent with even_if_missing reaches the next instance of the id.
void LifecycleSeed::end_before_start(Dice& dice) {
  const bool cancels = dice.chance(50);
  const std::string id = prefix_ + "ended" + std::to_string(dice.next());
  const std::string expected = cancels ? std::string("Cancelled cancelled: ") + kClientCancels
                                       : std::string("Terminated terminated: ") + kClientTerminates;
  if (!use_once(id, expected)) return;
  const auto end = [&] {
    call([&] {
      if (cancels) client_.cancel_instance(id, kClientCancels, {.even_if_missing = true});
      if (!cancels) client_.terminate_instance(id, kClientTerminates, {.even_if_missing = true});
    });
  };
  const Early early;
  end();
  call([&] { client_.start_orchestration(id, "Letter"); });
  if (early.may_be_discarded()) end();
}

// Out of the store and in again. What waits for the id meanwhile does not prevent it.
void LifecycleSeed::move_an_instance(Dice& dice) {
  auto* const target = dynamic_cast<InstanceImport*>(store_.get());
  if (target == nullptr) return;
  const std::string id = prefix_ + "moved" + std::to_string(dice.next());
  if (!use_once(id, "Completed \"" + id + "\"")) return;
  call([&] { client_.start_orchestration(id, "Outcome", id); });
  call([&] {
    if (!eventually([&] { return client_.get_orchestration_status(id).ended(); })) problem(id + " does not end");
  });
  call([&] {
    const std::vector<InstanceCopy> copies = cli::copy_tree(*store_, id);
    client_.delete_instance(id);
    if (dice.chance(50)) client_.enqueue_event(id, "letters", "too late");
    const auto imported = target->import_instances(copies);
    if (!imported) problem(id + " cannot be imported: " + imported.error().message());
  });
}

bool LifecycleSeed::use_once(const std::string& id, const std::string& expected) {
  const std::scoped_lock lock(mutex_);
  return used_once_.emplace(id, expected).second;
}

// Ids that only this client uses end as failed, and are replaced while a bulk deletion removes what has failed. A
// replacement does not match, so it stays.
void LifecycleSeed::replace_in_bulk_deletion(Dice& dice) {
  std::vector<std::string> ids;
  const std::string prefix = prefix_ + "replaced" + std::to_string(dice.next()) + "-";
  for (std::size_t i = 0; i < kIdsOfABulkDeletion; ++i) ids.push_back(prefix + std::to_string(i));
  for (const std::string& id : ids) call([&] { client_.start_orchestration(id, "Outcome", kOwnFailure + id); });
  for (const std::string& id : ids) {
    call([&] {
      if (!eventually([&] { return client_.get_orchestration_status(id).ended(); })) problem(id + " does not fail");
    });
  }
  InstanceFilter failed = only(ids);
  failed.statuses = {ExecutionStatus::kFailed};
  std::thread deletion([&] { call([&] { client_.delete_instance_bulk(failed); }); });
  const auto replace = StartInstanceOptions().policy(StartPolicy::kReplaceIfTerminal);
  for (const std::string& id : ids) call([&] { client_.start_orchestration(id, "Outcome", id, replace); });
  deletion.join();
  for (const std::string& id : ids) check_outcome(id, "Completed \"" + id + "\"");
}

// ---- what must hold at any time ------------------------------------------------------------------------------------

void LifecycleSeed::look(const std::string& id) {
  call([&] {
    const std::uint64_t looked = ++clock_;
    judge(id, client_.get_orchestration_status(id), looked);
  });
}

void LifecycleSeed::judge(const std::string& id, const OrchestrationStatus& status, std::uint64_t looked) {
  const std::string text = status.error_text();
  const std::string origin = status.custom_status.value_or("");
  const bool by_parent = text.starts_with("parent ") || contains(text, ": parent ");
  const std::string shown = id + " (" + origin + ") is " + std::string(to_string(status.state)) + ": " + text;
  switch (status.state) {
    case OrchestrationState::kCompleted:
      return judge_result(id, status, looked);
    case OrchestrationState::kFailed:
      if (!contains(text, kOwnFailure)) problem(shown);
      return;
    case OrchestrationState::kTerminated:
      if (!contains(text, kClientTerminates)) problem(shown);
      return;
    case OrchestrationState::kCancelled:
      if (contains(text, kClientCancels)) return;
      if (!by_parent || origin == kTopLevel) problem(shown);
      // A parent's own end spares what it has detached.
      if (origin == kDetachedChild && !contains(text, "parent cancelled") && !contains(text, "parent terminated")) {
        problem(shown);
      }
      return;
    default:
      return;
  }
}

// It belongs to this id, and not to one that was there before another start had succeeded.
void LifecycleSeed::judge_result(const std::string& id, const OrchestrationStatus& status, std::uint64_t looked) {
  const auto generation = status.result<std::string>();
  const std::scoped_lock lock(mutex_);
  const auto fault = [&](const std::string& what) {
    problems_.push_back("seed " + std::to_string(seed_) + ": " + id + " completed with " + generation + ", " + what);
  };
  const auto shown = starts_.find(generation.substr(0, generation.find('.')));
  if (shown == starts_.end()) return fault("which nobody started");
  if (generation.find('.') != std::string::npos) return;  // a child of it, or what it has started
  if (shown->second.instance != id) return fault("which belongs to " + shown->second.instance);
  if (!shown->second.ended) return;
  for (const auto& [other, start] : starts_) {
    const bool later = start.instance == id && start.began > *shown->second.ended;
    if (later && start.ended && *start.ended < looked) return fault("though " + other + " was started after it");
  }
}

// ---- the end -------------------------------------------------------------------------------------------------------

std::vector<std::string> LifecycleSeed::members() const {
  std::set<std::string> ids;
  for (std::size_t i = 0; i < kSharedIds; ++i) {
    const std::string id = shared_id(prefix_, i);
    ids.insert(id);
    try {
      for (const std::string& member : client_.get_instance_tree(id).ids) ids.insert(member);
    } catch (const ClientError& error) {
      if (error.kind() != ClientErrorKind::kNotFound) throw;
    }
  }
  return {ids.begin(), ids.end()};
}

bool LifecycleSeed::all_ended(bool terminate) {
  bool ended = true;
  for (const std::string& id : members()) {
    const OrchestrationStatus status = client_.get_orchestration_status(id);
    if (status.state == OrchestrationState::kNotFound || status.ended()) continue;
    ended = false;
    if (terminate) call([&] { client_.terminate_instance(id, kClientTerminates); });
  }
  return ended;
}

// Twice in a row, since an instance that ends may have started another just before. Half of the seeds end by
// themselves: nothing in them waits forever. Termination would hide a parent that has no outcome of its child.
void LifecycleSeed::end_all() {
  try {
    constexpr int kLooksBetweenTerminations = 50;
    int looks = 0;
    int in_a_row = 0;
    const bool ended = eventually([&] {
      const bool terminate = seed_ % 2 == 0 && looks++ % kLooksBetweenTerminations == 0;
      in_a_row = all_ended(terminate) ? in_a_row + 1 : 0;
      return in_a_row >= 2;
    });
    for (const std::string& id : members()) {
      const std::uint64_t looked = ++clock_;
      const OrchestrationStatus status = client_.get_orchestration_status(id);
      judge(id, status, looked);
      if (!ended && !status.ended() && status.state != OrchestrationState::kNotFound) {
        problem(id + " does not end; it is " + std::string(to_string(status.state)));
      }
    }
  } catch (const ClientError& error) {
    problem("the end cannot be awaited: " + std::string(error.what()));
  }
}

void LifecycleSeed::check_used_once() {
  for (const auto& [id, expected] : used_once_) check_outcome(id, expected);
}

// Of an id that is used once.
void LifecycleSeed::check_outcome(const std::string& id, const std::string& expected) {
  call([&] {
    static_cast<void>(eventually([&] { return client_.get_orchestration_status(id).ended(); }));
    const OrchestrationStatus status = client_.get_orchestration_status(id);
    const std::string shown = std::string(to_string(status.state)) + " " +
                              (status.completed() ? status.output.value_or("") : status.error_text());
    if (shown != expected) problem(id + " is '" + shown + "' instead of '" + expected + "'");
  });
  call([&] { client_.delete_instance(id, true); });
}

// Children go with their roots, in whatever order they come.
void LifecycleSeed::delete_all() {
  std::vector<std::string> left;
  const bool deleted = eventually([&] {
    left.clear();
    for (const std::string& id : members()) {
      call([&] { client_.delete_instance(id); });
      if (client_.get_orchestration_status(id).state != OrchestrationState::kNotFound) left.push_back(id);
    }
    return left.empty();
  });
  if (deleted) return;
  for (const std::string& id : left) {
    std::string why;
    try {
      client_.delete_instance(id);
    } catch (const ClientError& error) {
      why = error.what();
    }
    problem(id + " has ended and cannot be deleted: " + why);
  }
}

}  // namespace perdure::test
