#include "lifecycles/lifecycle_seed.h"

#include <thread>
#include <utility>

#include "lifecycles/random_life.h"

namespace perdure::test {

namespace {

constexpr std::size_t kClients = 3;
constexpr std::size_t kCallsOfAClient = 12;

InstanceFilter only(std::vector<std::string> ids) {
  InstanceFilter filter;
  filter.ids = std::move(ids);
  return filter;
}

std::string reason(const char* words, const std::string& id, std::uint64_t number) {
  return words + ("'" + id + "', request ") + std::to_string(number);
}

}  // namespace

LifecycleSeed::LifecycleSeed(LifeWorld world, std::uint64_t seed)
    : world_(std::move(world)), client_(world_.store), seed_(seed), prefix_("s" + std::to_string(seed) + "-") {}

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
  if (problems_.empty()) check_histories();
  if (problems_.empty()) delete_all();
  return problems_;
}

void LifecycleSeed::problem(const std::string& text) {
  const std::scoped_lock lock(mutex_);
  problems_.push_back("seed " + std::to_string(seed_) + ": " + text);
}

bool LifecycleSeed::call(const std::function<void()>& request) {
  const bool succeeded = call_uncounted(request);
  world_.on_call();
  return succeeded;
}

// Errors that a client may get: the id is in use, or free, or a child's.
bool LifecycleSeed::call_uncounted(const std::function<void()>& request) {
  try {
    request();
    return true;
  } catch (const ClientError& error) {
    const bool expected =
        error.kind() == ClientErrorKind::kNotFound || error.kind() == ClientErrorKind::kAlreadyExists ||
        error.kind() == ClientErrorKind::kStillRunning || error.kind() == ClientErrorKind::kSubOrchestration;
    if (!expected) problem("a client's call failed: " + std::string(error.what()));
  } catch (const std::exception& error) {
    problem("a client's call failed: " + std::string(error.what()));
  }
  return false;
}

void LifecycleSeed::call_existing(const std::string& id, const std::function<void()>& request) {
  if (!call(request)) problem("a client's call for " + id + " failed, although the instance exists");
}

void LifecycleSeed::act(Dice& dice) {
  if (dice.chance(2)) return replace_in_bulk_deletion(dice);
  if (dice.chance(2)) return replace_in_bulk_pruning(dice);
  const std::string id = shared_id(prefix_, dice.below(kSharedIds));
  const std::string other = shared_id(prefix_, dice.below(kSharedIds));
  const std::size_t what = dice.below(25);
  if (what <= 2) return start(dice, id, StartPolicy::kIgnore);
  if (what <= 5) return start(dice, id, StartPolicy::kReplaceIfTerminal);
  if (what == 6) return start(dice, id, StartPolicy::kFail);
  if (what == 7) return send_letter(dice.below(1'000'000));
  if (what == 8) return cancel(id);
  if (what == 9) return terminate(id);
  if (what == 20) return send_numbers(dice);
  if (what == 21) return end_before_start(dice);
  if (what == 22) return move_an_instance(dice);
  if (what == 23) return send_contested_numbers(dice);
  if (what == 24) return delete_list({id, other});
  if (what >= 18) return look(id);
  act_on(id, other, what, dice);
}

void LifecycleSeed::act_on(const std::string& id, const std::string& other, std::size_t what, Dice& dice) {
  PruneOptions keep;
  keep.keep_last = dice.between(1, 2);
  InstanceFilter failed = only({id, other});
  failed.statuses = {ExecutionStatus::kFailed};
  if (what == 16) {
    const SendOptions options{.even_if_missing = dice.chance(50)};
    return request(id, !options.even_if_missing,
                   [&](std::uint64_t number) { client_.enqueue_event(id, "notes", Note{id, number}, options); });
  }
  if (what == 17) {
    return request(id, true, [&](std::uint64_t number) { client_.raise_event(id, "event", Note{id, number}); });
  }
  call([&] {
    if (what <= 11) client_.delete_instance(id);
    if (what == 12) client_.delete_instance(id, true);
    if (what == 13) client_.prune_executions(id, keep);
    if (what == 14) client_.delete_instance_bulk(dice.chance(50) ? failed : only({id, other}));
    if (what == 15) client_.prune_executions_bulk(only({id, other}), keep);
  });
}

void LifecycleSeed::start(Dice& dice, const std::string& id, StartPolicy policy) {
  LifePlan plan;
  plan.seed = dice.next() >> 1U;
  plan.prefix = prefix_;
  plan.id = id;
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

void LifecycleSeed::request(const std::string& id, bool needs_instance,
                            const std::function<void(std::uint64_t)>& send) {
  std::uint64_t number = 0;
  {
    const std::scoped_lock lock(mutex_);
    number = requests_.size() + 1;
    requests_[number] = {id, ++clock_, std::nullopt, needs_instance};
  }
  if (!call([&] { send(number); })) return;
  const std::scoped_lock lock(mutex_);
  requests_[number].ended = ++clock_;
}

void LifecycleSeed::cancel(const std::string& id) {
  request(id, true, [&](std::uint64_t number) { client_.cancel_instance(id, reason(kClientCancels, id, number)); });
}

void LifecycleSeed::terminate(const std::string& id) {
  request(id, true,
          [&](std::uint64_t number) { client_.terminate_instance(id, reason(kClientTerminates, id, number)); });
}

// Ended instances, both or none, whether or not something has scheduled them.
void LifecycleSeed::delete_list(const std::vector<std::string>& ids) {
  const auto deleted = world_.store->admin()->delete_instances(ids, false);
  const bool expected = deleted || deleted.error().kind() == ProviderErrorKind::kStillRunning ||
                        deleted.error().kind() == ProviderErrorKind::kChildrenLeftBehind;
  if (!expected) problem("a list of ids cannot be deleted: " + deleted.error().to_string());
  world_.on_call();
}

void LifecycleSeed::look(const std::string& id) {
  call([&] {
    const std::uint64_t looked = ++clock_;
    judge(id, client_.get_orchestration_status(id), looked);
  });
}

}  // namespace perdure::test
