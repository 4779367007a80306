// The end of a seed: when nothing runs any more, and what must hold then.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lifecycles/life_histories.h"
#include "lifecycles/lifecycle_seed.h"
#include "lifecycles/random_life.h"
#include "support/eventually.h"

namespace perdure::test {

std::vector<std::string> LifecycleSeed::members() const {
  std::set<std::string> ids;
  const auto add_tree = [&](const std::string& id) {
    ids.insert(id);
    try {
      for (const std::string& member : client_.get_instance_tree(id).ids) ids.insert(member);
    } catch (const ClientError& error) {
      if (error.kind() != ClientErrorKind::kNotFound) throw;
    }
  };
  for (std::size_t i = 0; i < kSharedIds; ++i) add_tree(shared_id(prefix_, i));
  for (std::size_t i = 0; i < kContestedNumbers; ++i) {
    const std::string id = contested_id(prefix_, i);
    if (client_.get_orchestration_status(id).name == "Life") add_tree(id);
  }
  return {ids.begin(), ids.end()};
}

bool LifecycleSeed::has_queued_starts() const {
  StartQuery query;
  do {
    const StartPage page = world_.store->admin()->list_queued_starts(query).value();
    const auto is_here = [&](const QueuedStart& start) { return start.instance.starts_with(prefix_); };
    if (std::any_of(page.starts.begin(), page.starts.end(), is_here)) return true;
    query.cursor = page.next;
  } while (!query.cursor.empty());
  return false;
}

// The reads take time. What an instance started before it was seen at its end is queued then, or a new member.
bool LifecycleSeed::all_ended(bool terminate_them) {
  bool ended = true;
  const std::vector<std::string> before = members();
  for (const std::string& id : before) {
    const OrchestrationStatus status = client_.get_orchestration_status(id);
    if (status.state == OrchestrationState::kNotFound || status.ended()) continue;
    ended = false;
    if (terminate_them) terminate(id);
  }
  return ended && !has_queued_starts() && members() == before;
}

// Half of the seeds end by themselves: nothing in them waits forever. Termination would hide a parent that has no
// outcome of its child.
void LifecycleSeed::end_all() {
  try {
    constexpr int kLooksBetweenTerminations = 50;
    int looks = 0;
    const bool ended = eventually(
        [&] {
          const bool terminate = seed_ % 2 == 0 && looks++ % kLooksBetweenTerminations == 0;
          return all_ended(terminate);
        },
        kLifePatience);
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

// Detached activities may run after the end of their instances.
void LifecycleSeed::check_histories() {
  const std::vector<std::string> ids = members();
  for (const std::string& id : ids) {
    const auto has_activities = [&] {
      ActivityQuery of_instance;
      of_instance.instance = id;
      return !client_.list_activities(of_instance).activities.empty();
    };
    if (!eventually([&] { return !has_activities(); }, kLifePatience)) problem(id + " has activities that never end");
    const OrchestrationStatus status = client_.get_orchestration_status(id);
    const std::string custom_status = status.custom_status.value_or("");
    if (!custom_status.empty()) check_messages(id, custom_status.substr(0, custom_status.find(' ')));
  }
  const std::vector<Effect> effects = world_.ledger.effects(prefix_);
  check_effects(effects);
  for (const std::string& each : LifeHistories(client_, ids).check(effects)) problem(each);
}

// Nothing that was sent to an instance before has reached this one.
void LifecycleSeed::check_messages(const std::string& id, const std::string& generation) {
  const auto values = client_.get_kv_all_values(id);
  for (const char* const name : {kLastEvent, kLastNote}) {
    const auto found = values.find(name);
    if (found != values.end()) judge_request(id, generation, std::stoull(found->second), "received");
  }
}

// Each run belongs to an instance that has been started, and each activity has a key of its own.
void LifecycleSeed::check_effects(const std::vector<Effect>& effects) {
  using Activity = std::tuple<std::string, ExecutionId, EventId>;
  std::map<std::string, std::pair<std::string, ExecutionId>> owners;  // by key
  std::map<Activity, std::string> keys;
  std::set<std::pair<std::string, std::uint32_t>> attempts;
  for (const Effect& effect : effects) {
    const Request* const root = root_of(effect.generation);
    if (!root || !root->ended) problem(to_string(effect) + " ran, although its instance was never started");
    const std::pair owner(effect.generation, effect.execution);
    const auto& [known, first_of_key] = *owners.emplace(effect.key, owner).first;
    if (first_of_key != owner) problem(to_string(effect) + " has the key of an activity of " + first_of_key.first);
    const Activity activity{effect.generation, effect.execution, effect.activity};
    const auto [key, first] = keys.emplace(activity, effect.key);
    if (key->second != effect.key) problem(to_string(effect) + " has two keys");
    if (!first && world_.runs_once) problem(to_string(effect) + " ran twice");
    if (!attempts.insert({effect.key, effect.attempt}).second) {
      problem(to_string(effect) + " ran twice as attempt " + std::to_string(effect.attempt));
    }
  }
}

// Children go with their roots, in whatever order they come.
void LifecycleSeed::delete_all() {
  std::vector<std::string> left;
  const bool deleted = eventually(
      [&] {
        left.clear();
        for (const std::string& id : members()) {
          call([&] { client_.delete_instance(id); });
          if (client_.get_orchestration_status(id).state != OrchestrationState::kNotFound) left.push_back(id);
        }
        return left.empty();
      },
      kLifePatience);
  if (deleted) return world_.ledger.remove(prefix_);
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
