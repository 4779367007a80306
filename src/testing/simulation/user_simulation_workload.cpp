#include "testing/simulation/user_simulation_workload.h"

#include <algorithm>
#include <exception>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>

#include "testing/environment/stall_report.h"
#include "testing/survive.h"

namespace perdure::testing::simulation {

namespace {

// A client wants to share the store, but it is the caller's.
Client client_of(Provider& store) {
  return Client(std::shared_ptr<Provider>(&store, [](Provider*) {}));
}

bool is_unfinished(const OrchestrationStatus& status) {
  return status.state == OrchestrationState::kPending || status.state == OrchestrationState::kRunning;
}

}  // namespace

UserWorkload::UserWorkload(const Registry& code, const SimulatedWorkload& plan, const SimulationOptions& options)
    : code_(code), plan_(plan), options_(options) {}

Registry UserWorkload::registry(int /*generation*/) {
  Registry watched = code_;
  for (const std::string& name : code_.activity_names()) {
    watched.replace_activity(name, [this, handler = code_.resolve_activity(name)](
                                       const Call& call, const Payload& input) { run(call, input, *handler); });
  }
  return watched;
}

std::vector<std::string> UserWorkload::tags() const {
  return options_.tags.value_or(std::vector<std::string>());
}

void UserWorkload::run(const Call& call, const Payload& input, const ActivityHandler& handler) {
  const auto& about = call->about;
  Runs& runs = activities_[identity_of(*call)];
  runs.name = about.activity_name;
  ++runs.times;
  handler(call, input);
  if (call->ended()) return;
  const std::string text =
      "activity '" + about.activity_name + "' (" + std::to_string(about.activity_id) + ") of instance '" +
      about.instance_id +
      "' has returned without an outcome. A simulated run has one thread and waits for no other: register a function "
      "for it that completes the activity before it returns";
  add(SimulationFindingKind::kException, about.instance_id, text);
  throw std::logic_error(text);
}

std::vector<ClientAction> UserWorkload::actions(Timestamp start) {
  start_ = start;
  std::vector<ClientAction> actions;
  for (const SimulatedWorkload::Action& action : plan_.actions()) {
    actions.push_back({action.what, start + action.after, action.function});
  }
  return in_order_of_time(std::move(actions));
}

bool UserWorkload::is_done(Provider& store) {
  if (plan_.awaited().empty() && !plan_.reached()) return false;
  const Client client = client_of(store);
  const auto& awaited = plan_.awaited();
  done_ = std::all_of(awaited.begin(), awaited.end(),
                      [&](const std::string& instance) { return client.get_orchestration_status(instance).ended(); });
  if (done_ && plan_.reached()) done_ = plan_.reached()(client);
  return done_;
}

std::vector<std::string> UserWorkload::explain(Delay delay, Provider& store) {
  const Client client = client_of(store);
  find_unreplayable(client);
  find_stuck(client, delay, store.now());
  return texts();
}

std::vector<std::string> UserWorkload::check(Provider& store, const RunFacts& /*facts*/) {
  const Client client = client_of(store);
  find_unreplayable(client);
  if (!done_) {
    find_stuck(client, Delay::kIdle, store.now());
    if (findings_.empty() && plan_.reached()) {
      add(SimulationFindingKind::kStuck, {}, "everything has come to rest, and what until() waits for was never true");
    }
  }
  // What is stuck, or could not be replayed, breaks expectations that say less about the cause.
  if (findings_.empty()) check_expectations(client);
  return texts();
}

void UserWorkload::add(SimulationFindingKind kind, std::string instance, std::string text, std::string topic) {
  findings_.push_back({kind, std::move(instance), std::move(text), std::move(topic)});
}

std::vector<std::string> UserWorkload::texts() const {
  std::vector<std::string> all;
  all.reserve(findings_.size());
  for (const Finding& finding : findings_) all.push_back(finding.text);
  return all;
}

TagFilter UserWorkload::served_tags() const {
  if (!options_.tags) return TagFilter::any();
  return options_.tags->empty() ? TagFilter::untagged() : TagFilter::untagged_and(*options_.tags);
}

// ---- at the end ----

std::vector<std::string> UserWorkload::instances(const Client& client) const {
  std::set<std::string> ids;
  for (const auto& action : plan_.actions()) {
    if (!action.instance.empty()) ids.insert(action.instance);
  }
  ids.insert(plan_.awaited().begin(), plan_.awaited().end());
  for (std::string& id : client.list_all_instances()) ids.insert(std::move(id));
  return {ids.begin(), ids.end()};
}

void UserWorkload::find_unreplayable(const Client& client) {
  for (const std::string& instance : instances(client)) {
    const OrchestrationStatus status = client.get_orchestration_status(instance);
    if (!status.error) continue;
    if (const auto* wrong = std::get_if<ConfigurationError>(&*status.error)) {
      const bool by_code = wrong->kind == ConfigurationErrorKind::kNondeterminism;
      add(by_code ? SimulationFindingKind::kNondeterminism : SimulationFindingKind::kStoreInvariant, instance,
          status.error_text());
    } else if (const auto* failed = std::get_if<ApplicationError>(&*status.error);
               failed && failed->kind == ApplicationErrorKind::kMisuse) {
      add(SimulationFindingKind::kNondeterminism, instance, status.error_text());
    }
  }
}

// Of a parent that waits for its children only the parent is told: its report tells of them.
void UserWorkload::find_stuck(const Client& client, Delay delay, Timestamp now) {
  std::vector<std::string> unfinished;
  for (const std::string& instance : instances(client)) {
    const OrchestrationStatus status = client.get_orchestration_status(instance);
    const bool is_awaited =
        std::find(plan_.awaited().begin(), plan_.awaited().end(), instance) != plan_.awaited().end();
    if (is_unfinished(status) || (is_awaited && !status.ended())) unfinished.push_back(instance);
  }
  const std::set<std::string> all(unfinished.begin(), unfinished.end());
  for (const std::string& instance : unfinished) {
    if (client.get_orchestration_status(instance).state == OrchestrationState::kRunning) {
      const auto parent = client.get_instance_info(instance).parent;
      if (parent && all.contains(*parent)) continue;
    }
    std::string text =
        delay == Delay::kBusy
            ? describe_busy(client, instance, now)
            : describe_stall(client, instance, {.start = start_, .now = now, .tags = served_tags(), .under_way = {}});
    text += "If it is meant to go on for ever: let at() terminate it, or end the run with until()";
    add(SimulationFindingKind::kStuck, instance, std::move(text));
  }
}

std::string UserWorkload::describe_busy(const Client& client, const std::string& instance, Timestamp now) const {
  constexpr std::size_t kShownEvents = 12;
  const OrchestrationStatus status = client.get_orchestration_status(instance);
  const std::vector<Event> history = client.read_execution_history(instance);
  const std::size_t shown = std::min(history.size(), kShownEvents);
  return "instance '" + instance + "' of '" + status.name + "' has not ended at " + to_text(now - start_) +
         ", in its execution " + std::to_string(status.execution_id) +
         ", and things go on happening. The end of its history:\n" +
         draw_timeline(std::span(history).last(shown), start_);
}

void UserWorkload::check_expectations(const Client& client) {
  if (plan_.checks().empty()) return check_completed(client);
  for (std::size_t i = 0; i < plan_.checks().size(); ++i) {
    const SimulatedWorkload::Check& check = plan_.checks()[i];
    std::string wrong = survive([&] { return check.function(client); }, [](const std::string& text) { return text; });
    if (!wrong.empty()) add(SimulationFindingKind::kWrongEnd, check.instance, std::move(wrong), std::to_string(i));
  }
}

void UserWorkload::check_completed(const Client& client) {
  for (const auto& action : plan_.actions()) {
    if (action.instance.empty()) continue;
    const OrchestrationStatus status = client.get_orchestration_status(action.instance);
    if (!status.ended() || status.completed()) continue;
    add(SimulationFindingKind::kWrongEnd, action.instance,
        "instance '" + action.instance + "' has not completed but " + std::string(to_string(status.state)) + ": " +
            status.error_text() + ". If it may, say with expect() what must hold");
  }
}

}  // namespace perdure::testing::simulation
