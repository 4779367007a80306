#include "testing/simulation/random_workload_check.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

#include <perdure/codec.h>
#include "testing/simulation/interpreter.h"

namespace perdure::testing::simulation {

namespace {

// A client wants to share the store, but it is the caller's.
std::shared_ptr<Provider> borrowed(Provider& store) {
  return {&store, [](Provider*) {}};
}

std::string shortened(std::string text) {
  constexpr std::size_t kLongest = 600;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::string listed(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "'" : " or '") + text + "'";
  return list;
}

std::string listed(const std::map<std::string, std::string>& values) {
  std::string list;
  for (const auto& [key, value] : values) list.append(key).append("=").append(value).append(" ");
  return "{ " + list + "}";
}

// Whether something below that path.
bool is_below(const std::string& path, const std::string& ancestor) {
  return path.size() > ancestor.size() && path.starts_with(ancestor) && path[ancestor.size()] == '/';
}

std::string described(const OrchestrationStatus& status) {
  std::string text(to_string(status.state));
  if (status.output) text += " with " + *status.output;
  if (status.error) text += ": " + status.error_text();
  return text;
}

}  // namespace

WorkloadCheck::WorkloadCheck(Provider& store, const Rules& rules, const Ledger& ledger,
                             const RandomWorkload::Clients& clients, const RunFacts& facts)
    : client_(borrowed(store)),
      rules_(rules),
      ledger_(ledger),
      clients_(clients),
      damaged_(facts.damaged.begin(), facts.damaged.end()),
      lost_children_(facts.lost_children),
      fetched_in_vain_(facts.fetched_in_vain) {}

std::vector<std::string> WorkloadCheck::run(const std::vector<RootPlan>& plans, const std::vector<LifePlan>& lives) {
  find_instances();
  find_shaken();
  find_poisoned();
  for (const auto& [path, rule] : rules_) check_rule(rule);
  for (const auto& [instance, path] : paths_) check_histories(instance);
  for (const RootPlan& plan : plans) {
    const std::string id = instance_id_of(plan.program);
    // Where something is lost, it may run on for ever.
    const bool can_be_deleted = !may_fail_.contains(plan.program.path) || lost_children_.empty();
    if (plan.has(ClientCall::kDelete) && can_be_deleted && !clients_.deleted.contains(id)) {
      add(id, "that a client could delete it after its end", "nobody could");
    }
  }
  for (const LifePlan& life : lives) check_life(life);
  for (const auto& [instance, lines] : clients_.problems) {
    if (!may_fail_.contains(path_of(instance))) problems_.insert(problems_.end(), lines.begin(), lines.end());
  }
  return std::move(problems_);
}

void WorkloadCheck::add(const std::string& instance, const std::string& expected, const std::string& actual) {
  problems_.push_back("instance " + instance + ": expected " + shortened(expected) + ", actual: " + shortened(actual));
}

// ---- who is who
// ------------------------------------------------------------------------------------------------------

// The engine names most children, so an instance is known by the program that it was started with.
void WorkloadCheck::find_instances() {
  for (const std::string& instance : client_.list_all_instances()) {
    std::string path;
    try {
      // The first one may have been pruned; each begins with the whole program.
      const std::vector<ExecutionId> executions = client_.list_executions(instance);
      if (executions.empty()) throw std::runtime_error("it has no execution");
      const auto history = client_.read_execution_history(instance, executions.front());
      if (history.empty()) throw std::runtime_error("its first execution has no history");
      path = decode_assignment(std::get<events::OrchestrationStarted>(history.front().body).input.value()).program.path;
    } catch (const std::exception& error) {
      if (!damaged_.contains(instance)) add(instance, "a history that begins with its start", error.what());
      path = instance;  // right for those that were given an id
    }
    paths_[instance] = path;
    const auto [known, is_new] = instances_.emplace(path, instance);
    if (!is_new) add(instance, "one instance for the program " + path, "there is also " + known->second);
    const auto rule = rules_.find(path);
    if (rule == rules_.end()) {
      if (!damaged_.contains(instance)) add(instance, "no such instance", "it exists, with the program " + path);
    } else if (rule->second.id && *rule->second.id != instance) {
      add(instance, "the id " + *rule->second.id + " for the program " + path, instance);
    }
  }
}

std::string WorkloadCheck::path_of(const std::string& instance) const {
  const auto found = paths_.find(instance);
  return found == paths_.end() ? instance : found->second;
}

std::string WorkloadCheck::nearest_path(const std::string& instance) const {
  std::string ancestor = instance;
  while (!rules_.contains(path_of(ancestor)) && ancestor.find("::sub::") != std::string::npos) {
    ancestor = ancestor.substr(0, ancestor.rfind("::sub::"));
  }
  return path_of(ancestor);
}

void WorkloadCheck::find_shaken() {
  for (const std::string& lost : lost_children_) {
    const std::string path = path_of(lost);
    may_run_on_.insert(path);
    for (const auto& [below, rule] : rules_) {
      if (is_below(below, path)) may_run_on_.insert(below);
    }
  }
  for (const std::string& instance : damaged_) {
    std::string path = path_of(instance);
    if (!rules_.contains(path)) {
      // Its program cannot be read: whatever the nearest ancestor that is known has started may be it.
      path = nearest_path(instance);
      for (const auto& [below, rule] : rules_) {
        if (is_below(below, path)) may_fail_.insert(below);
      }
    }
    shake(path, may_fail_);
  }
}

void WorkloadCheck::shake(const std::string& path, std::set<std::string>& may_end) {
  for (std::optional<std::string> current = path; current;) {
    may_end.insert(*current);
    for (const auto& [below, rule] : rules_) {
      if (is_below(below, *current)) may_be_cut_.insert(below);
    }
    // A detached child does not affect its parent.
    const auto rule = rules_.find(*current);
    const bool is_told = rule != rules_.end() && !rule->second.detached;
    current = is_told ? rule->second.parent : std::nullopt;
  }
}

void WorkloadCheck::find_poisoned() {
  for (const auto& [instance, execution, id] : fetched_in_vain_) {
    if (damaged_.contains(instance)) continue;
    if (!paths_.contains(instance)) {
      shake(nearest_path(instance), may_be_poison_);
      continue;
    }
    const OrchestrationStatus status = client_.get_orchestration_status(instance);
    if (status.state != OrchestrationState::kFailed || !is_of_one_in_vain(status.error)) continue;
    shake(path_of(instance), may_be_poison_);
  }
}

bool WorkloadCheck::is_of_one_in_vain(const std::optional<ErrorDetails>& error) const {
  const auto* poison = error ? std::get_if<PoisonError>(&*error) : nullptr;
  return poison && poison->subject == PoisonSubject::kActivity &&
         (poison->activity_name == kUnknown || poison->activity_name == activity::kRetired) &&
         fetched_in_vain_.contains({poison->instance, poison->execution_id, poison->activity_id});
}

bool WorkloadCheck::runs_program(const std::string& instance, const std::string& path) const {
  const auto found = paths_.find(instance);
  return found != paths_.end() && found->second == path;
}

bool WorkloadCheck::was_deleted(const InstanceRule& rule) const {
  const InstanceRule* top = &rule;
  while (top->parent) top = &rules_.at(*top->parent);
  return top->id && clients_.deleted.contains(*top->id);
}

// ---- one instance
// ----------------------------------------------------------------------------------------------------

void WorkloadCheck::check_rule(const InstanceRule& rule) {
  const auto found = instances_.find(rule.path);
  const bool exists = found != instances_.end();
  const std::string name = exists ? found->second : rule.id.value_or("(of the program " + rule.path + ")");
  if (was_deleted(rule)) {
    if (exists) add(name, "that it was deleted", "it exists");
    return;
  }
  if (exists && rule.parent) check_left_behind(rule, name);
  if (rule.never_starts) {
    if (exists) add(name, "that it never starts, for it was dropped at once", "it exists");
    return;
  }
  if (exists) {
    check_ended(rule, name);
  } else if (!rule.may_be_missing && !may_be_cut_.contains(rule.path)) {
    add(name, "that it exists", "it does not");
  }
}

// A tree is deleted as a whole, with the children whose start no turn has taken.
void WorkloadCheck::check_left_behind(const InstanceRule& rule, const std::string& instance) {
  if (instances_.contains(*rule.parent) || may_fail_.contains(*rule.parent)) return;
  add(instance, "that it went with its parent, the program " + *rule.parent, "it was left behind");
}

void WorkloadCheck::check_ended(const InstanceRule& rule, const std::string& instance) {
  const OrchestrationStatus status = client_.get_orchestration_status(instance);
  const bool cut = may_be_cut_.contains(rule.path);
  if (rule.ending == Ending::kDiverges && is_end_of_diverging(rule, status)) return;
  switch (status.state) {
    case OrchestrationState::kCompleted:
      return check_completed(rule, instance, status);
    case OrchestrationState::kFailed:
      if (may_fail_.contains(rule.path)) return;
      if (may_be_poison_.contains(rule.path) && is_of_one_in_vain(status.error)) return;
      if (rule.ending == Ending::kPoisons && status.error && std::holds_alternative<PoisonError>(*status.error)) return;
      if (rule.ending == Ending::kFails && status.error_text() == rule.failure) {
        return check_what_is_left(rule, instance, status);
      }
      break;
    case OrchestrationState::kCancelled:
      if (rule.reason && rule.may_be_cancelled && status.error_text() == "cancelled: " + *rule.reason) return;
      if (!rule.reason && (rule.may_be_cancelled || cut)) return;
      break;
    case OrchestrationState::kTerminated:
      if (rule.may_be_terminated && status.error_text() == "terminated: " + rule.reason.value_or("")) return;
      if (rule.may_be_terminated && !rule.reason && status.error_text().find(kWish) != std::string::npos) return;
      break;
    default:
      if (!may_run_on_.contains(rule.path)) add(instance, "that it has ended", described(status));
      return;
  }
  std::string expected = rule.ending == Ending::kCompletes  ? "that it completes"
                         : rule.ending == Ending::kFails    ? "that it fails with '" + rule.failure + "'"
                         : rule.ending == Ending::kPoisons  ? "that it ends as poison"
                         : rule.ending == Ending::kDiverges ? "that it ends as nondeterministic"
                                                            : "that it waits for its end";
  if (rule.may_be_cancelled || cut) expected += " or is cancelled";
  if (rule.may_be_terminated) expected += " or is terminated";
  add(instance, expected, described(status));
}

// Where nothing made a node replay it, its code came to its end.
bool WorkloadCheck::is_end_of_diverging(const InstanceRule& rule, const OrchestrationStatus& status) {
  if (status.completed()) return rule.detached && path_in_output(status.output.value_or("")) == rule.path;
  return status.error && is_nondeterminism(*status.error);
}

bool WorkloadCheck::is_nondeterminism(const ErrorDetails& error) {
  const auto* configuration = std::get_if<ConfigurationError>(&error);
  return configuration && configuration->kind == ConfigurationErrorKind::kNondeterminism;
}

void WorkloadCheck::check_completed(const InstanceRule& rule, const std::string& instance,
                                    const OrchestrationStatus& status) {
  if (rule.ending != Ending::kCompletes) {
    return add(instance,
               rule.ending == Ending::kFails ? "that it fails with '" + rule.failure + "'" : "that it never completes",
               described(status));
  }
  try {
    const std::string wrong = mismatch(rule, nlohmann::json::parse(status.output.value_or("")));
    if (!wrong.empty()) add(instance, "another output", wrong);
  } catch (const nlohmann::json::exception& error) {
    add(instance, "an output as the interpreter writes it", described(status) + " (" + error.what() + ")");
  }
  check_what_is_left(rule, instance, status);
}

void WorkloadCheck::check_what_is_left(const InstanceRule& rule, const std::string& instance,
                                       const OrchestrationStatus& status) {
  if (status.execution_id != rule.executions) {
    add(instance, std::to_string(rule.executions) + " executions", std::to_string(status.execution_id));
  }
  if (rule.version && status.version && status.version->to_string() != *rule.version) {
    add(instance, "version " + *rule.version, status.version->to_string());
  }
  if (status.custom_status != rule.custom_status) {
    add(instance, "the custom status '" + rule.custom_status.value_or("(none)") + "'",
        status.custom_status.value_or("(none)"));
  }
  std::map<std::string, std::string> expected;
  for (const auto& [key, value] : rule.key_values) expected[key] = Codec<std::string>::encode(value);
  const auto actual = client_.get_kv_all_values(instance);
  if (actual != expected) add(instance, "the key values " + listed(expected), listed(actual));
}

std::string WorkloadCheck::mismatch(const InstanceRule& rule, const nlohmann::json& output) const {
  if (output.at("path").get<std::string>() != rule.path) return "the output of another: " + output.dump();
  const auto versions = output.at("versions").get<std::vector<std::string>>();
  if (versions.size() != rule.executions) return "versions of its executions: " + output.at("versions").dump();
  for (const std::string& version : versions) {
    const bool known = version == kFirstVersion || version == kSecondVersion;
    if (!known || (rule.version && version != *rule.version)) return "version " + version;
  }
  const auto& values = output.at("values");
  for (const auto& [step, value] : values.items()) {
    const auto found = rule.values.find(step);
    const std::string wrong = found == rule.values.end() ? "no value" : mismatch(found->second, value);
    if (wrong.empty()) continue;
    return std::string("step ").append(step).append(" gave ").append(value.dump()).append(" where ") + wrong +
           " is right";
  }
  for (const auto& [step, value] : rule.values) {
    if (!values.contains(step)) return "step " + step + " gave nothing";
  }
  return {};
}

std::string WorkloadCheck::mismatch(const ValueRule& rule, const nlohmann::json& value) const {
  // A child that was damaged may have failed, and its parent may have borne it.
  if (rule.child && may_fail_.contains(*rule.child) && value.is_string() &&
      value.get<std::string>().starts_with("failed")) {
    return {};
  }
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    if (rule.may_be_refused && text.starts_with("failed") && text.find(kTaken) != std::string::npos) return {};
    if (rule.open_to_clients && text.starts_with("failed") && text.find(kWish) != std::string::npos) return {};
  }
  if (rule.is_output) {
    if (!value.is_object()) return "the output of " + *rule.child;
    return mismatch(rules_.at(*rule.child), value);
  }
  const bool right = value.is_string() && std::find(rule.allowed.begin(), rule.allowed.end(),
                                                    value.get<std::string>()) != rule.allowed.end();
  return right ? std::string() : listed(rule.allowed);
}

}  // namespace perdure::testing::simulation
