#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include <perdure/client_error.h>
#include <perdure/codec.h>
#include "testing/simulation/interpreter.h"
#include "testing/simulation/lifecycle.h"
#include "testing/simulation/program_prediction.h"

namespace perdure::testing::simulation {

namespace {

constexpr std::size_t kMostTries = 4;
// Choices of states.
constexpr std::size_t kFailedOnly = 0;
constexpr std::size_t kCompletedOnly = 1;
// The event that comes before the instance. No program waits for it.
constexpr std::string_view kAhead = "what comes ahead";

// One step of one life.
class LifeClient {
 public:
  LifeClient(const LifePlan& plan, const LifeStep& step, const Client& client, Life& life)
      : plan_(plan), step_(step), client_(client), life_(life) {}

  bool carry_out() {
    switch (step_.call) {
      case LifeCall::kStart:
        return start(StartPolicy::kIgnore);
      case LifeCall::kReplace:
        return start(StartPolicy::kReplaceIfTerminal);
      case LifeCall::kFeed:
        feed();
        return true;
      case LifeCall::kDelete:
        return remove(false) || ++life_.tries == kMostTries;
      case LifeCall::kForceDelete:
        force_delete();
        return true;
      case LifeCall::kRestart:
        force_delete();
        return start(StartPolicy::kIgnore);
      case LifeCall::kPrune:
        life_.pruned = true;
        tolerate([&] { (void)client_.prune_executions(plan_.id); });
        return true;
      case LifeCall::kCancel:
        tolerate([&] { client_.cancel_instance(plan_.id, wish("cancel")); });
        return true;
      case LifeCall::kTerminate:
        tolerate([&] { client_.terminate_instance(plan_.id, wish("termination")); });
        return true;
      case LifeCall::kRaise:
        if (is_free()) tolerate([&] { client_.raise_event(plan_.id, std::string(kNeverRaised), "a ghost"); });
        return true;
      case LifeCall::kCancelAhead:
        if (is_free()) cancel_ahead();
        return true;
      case LifeCall::kRaiseAhead:
        if (is_free()) client_.raise_event(plan_.id, std::string(kAhead), "ahead", {.even_if_missing = true});
        return true;
      case LifeCall::kDeleteAhead:
        if (is_free()) delete_ahead();
        return true;
      case LifeCall::kBulkDelete:
        bulk_delete();
        return true;
      case LifeCall::kBulkPrune:
        bulk_prune();
        return true;
      case LifeCall::kMissing:
        call_nobody();
        return true;
      case LifeCall::kStartUnserved:
        client_.start_orchestration(instance_id_of(*plan_.unserved), std::string(kInterpret),
                                    Raw(encode_assignment({*plan_.unserved, {}})),
                                    StartInstanceOptions().version(*plan_.unserved->version));
        return true;
      case LifeCall::kSurvey:
        survey();
        return true;
      case LifeCall::kLook:
        look();
        return true;
      case LifeCall::kSettle:
        if (never_ends()) tolerate([&] { client_.terminate_instance(plan_.id, wish("termination")); });
        return true;
    }
    return true;
  }

 private:
  void problem(const std::string& expected, const std::string& actual) {
    life_.problems.push_back("instance " + plan_.id + ": expected " + expected + ", actual: " + actual);
  }
  [[nodiscard]] const Program& program() const { return plan_.generations.at(step_.generation); }
  // No instance has the id, and only this client can change that.
  [[nodiscard]] bool is_free() const { return !plan_.contested && is_only(std::string()); }
  [[nodiscard]] bool is_only(const std::string& path) const {
    return life_.possible.size() == 1 && life_.possible.contains(path);
  }

  // NotFound is an accepted result.
  template <class Call>
  void tolerate(const Call& call) {
    try {
      call();
    } catch (const ClientError& error) {
      if (error.kind() != ClientErrorKind::kNotFound) throw;
    }
  }

  // Recorded before the call: the call may take effect although its result is lost.
  std::string wish(const char* what) {
    const std::string reason = std::string(kWish) + what + " " + std::to_string(life_.done) + " of " + plan_.id;
    life_.wishes[reason].insert(life_.possible.begin(), life_.possible.end());
    return reason;
  }

  bool start(StartPolicy policy) {
    for (const std::string& root : plan_.waits_for) {
      if (client_.get_orchestration_status(root).state == OrchestrationState::kNotFound) return false;
    }
    StartInstanceOptions options;
    if (program().version) options.version(*program().version);
    options.policy(policy);
    const bool was_free = is_only(std::string());
    try {
      const StartOutcome outcome = client_.start_orchestration(plan_.id, std::string(kInterpret),
                                                               Raw(encode_assignment({program(), {}})), options);
      // If the id was free, an ignored start is a repetition of this one.
      if (outcome != StartOutcome::kIgnored || was_free) life_.possible.clear();
    } catch (const ClientError& error) {
      const bool is_answer = error.kind() == ClientErrorKind::kStillRunning ||
                             (plan_.contested && error.kind() == ClientErrorKind::kSubOrchestration);
      if (!is_answer) throw;
      if (was_free) life_.possible.clear();
    }
    life_.possible.insert(program().path);
    return true;
  }

  void feed() {
    if (!is_only(std::string()) && !is_only(program().path)) return;
    for (std::size_t i = 0; i < messages_for(program()); ++i) {
      tolerate([&] { client_.enqueue_event(plan_.id, std::string(kInbox), message_name(program(), i)); });
    }
    life_.fed.insert(program().path);
  }

  bool remove(bool force) {
    try {
      (void)client_.delete_instance(plan_.id, force);
    } catch (const ClientError& error) {
      if (error.kind() == ClientErrorKind::kStillRunning) return false;
      if (plan_.contested && error.kind() == ClientErrorKind::kSubOrchestration) return true;
      if (error.kind() != ClientErrorKind::kNotFound) throw;
      if (!plan_.contested && !life_.possible.contains(std::string())) {
        problem("that it can be deleted", "it does not exist");
      }
    }
    life_.possible = {std::string()};
    return true;
  }

  void force_delete() {
    if (!remove(true)) problem("that it can be deleted with force", "it still runs");
  }

  // The next call of this client is the start. Recorded before the call, which may take effect without a result.
  void cancel_ahead() {
    const std::string reason = wish("cancel");
    life_.wishes[reason] = {program().path};
    life_.cancelled_ahead[program().path] = reason;
    client_.cancel_instance(plan_.id, reason, {.even_if_missing = true});
  }

  // No instance may end with this reason.
  void delete_ahead() {
    const std::string reason = wish("cancel");
    life_.wishes[reason].clear();
    client_.cancel_instance(plan_.id, reason, {.even_if_missing = true});
    tolerate([&] { (void)client_.delete_instance(plan_.id); });
  }

  // ---- in bulk ----

  [[nodiscard]] InstanceFilter filter() const {
    InstanceFilter filter;
    filter.ids = {plan_.id};
    if (step_.generation != kCompletedOnly) filter.statuses.push_back(ExecutionStatus::kFailed);
    if (step_.generation != kFailedOnly) filter.statuses.push_back(ExecutionStatus::kCompleted);
    return filter;
  }
  [[nodiscard]] bool matches(OrchestrationState state) const {
    const bool completed = state == OrchestrationState::kCompleted;
    const bool failed = state == OrchestrationState::kFailed || state == OrchestrationState::kCancelled ||
                        state == OrchestrationState::kTerminated;
    return (completed && step_.generation != kFailedOnly) || (failed && step_.generation != kCompletedOnly);
  }
  [[nodiscard]] OrchestrationState state() const { return client_.get_orchestration_status(plan_.id).state; }

  // Nothing happens between the calls of one step, so what does not match before the call must be there after it. What
  // matches may stay: its tree may not have ended, or it is a child. The start of another instance's child, which was
  // queued for a contested id, outlives a deletion.
  void bulk_delete() {
    const OrchestrationState before = state();
    (void)client_.delete_instance_bulk(filter());
    const OrchestrationState after = state();
    const bool is_awaited = plan_.contested && after == OrchestrationState::kPending;
    const bool deleted = before != after && (after == OrchestrationState::kNotFound || is_awaited);
    if (before != after && !(deleted && matches(before))) {
      problem("that a bulk deletion leaves it " + std::string(to_string(before)), std::string(to_string(after)));
    }
    if (deleted) life_.possible = {std::string()};
  }

  [[nodiscard]] std::size_t executions() const {
    if (state() == OrchestrationState::kNotFound || state() == OrchestrationState::kPending) return 0;
    return client_.list_executions(plan_.id).size();
  }

  void bulk_prune() {
    const bool is_meant = matches(state());
    const std::size_t before = executions();
    life_.pruned = life_.pruned || is_meant;
    (void)client_.prune_executions_bulk(filter(), {});
    const std::size_t expected = is_meant ? std::min<std::size_t>(before, 1) : before;
    if (executions() != expected) {
      problem(std::to_string(expected) + " executions after a bulk pruning", std::to_string(executions()));
    }
  }

  void call_nobody() {
    const std::string nobody = "nobody" + std::to_string(plan_.index);
    tolerate([&] { client_.cancel_instance(nobody, wish("cancel")); });
    tolerate([&] { client_.raise_event(nobody, std::string(kNeverRaised), "a ghost"); });
    tolerate([&] { client_.enqueue_event(nobody, std::string(kInbox), "for nobody"); });
  }

  void look() {
    if (plan_.contested) return;
    const OrchestrationStatus status = client_.get_orchestration_status(plan_.id);
    if (status.state == OrchestrationState::kNotFound) {
      if (!life_.possible.contains(std::string())) problem("that it exists", "it does not");
      return;
    }
    if (is_only(std::string())) problem("that it does not exist", std::string(to_string(status.state)));
    const auto path = status.output ? path_in_output(*status.output) : std::nullopt;
    if (path && !life_.possible.contains(*path)) problem("no output of what is gone", "the output of " + *path);
    if (path && life_.cancelled_ahead.contains(*path)) problem("that it is cancelled", "the output of " + *path);
  }

  // Nothing happens between the calls of one step.
  void survey() {
    const std::string unserved = instance_id_of(*plan_.unserved);
    const bool waits = client_.get_orchestration_status(unserved).state == OrchestrationState::kPending;
    bool listed = false;
    for (const StuckInstance& stuck : client_.find_stuck_instances()) {
      if (stuck.instance == unserved) listed = true;
      if (!is_missing_code(stuck.reason)) problem("no report of " + stuck.instance + " as stuck", stuck.reason);
    }
    if (waits && !listed) problem("that the waiting start of " + unserved + " is reported as stuck", "it is not");
    if (!waits && listed) problem("that " + unserved + ", which has ended, is not reported as stuck", "it is");
  }

  // What no node has or serves: at any time, or before the roll-out of the second version.
  [[nodiscard]] bool is_missing_code(const std::string& reason) const {
    const auto names = [&](std::string_view what) { return reason.find(what) != std::string::npos; };
    if (names(kUnknown) || names(kUnservedTag) || names(kUnservedVersion) || names(activity::kRetired)) return true;
    const auto has_second = [](const NodeInfo& node) {
      return std::any_of(node.orchestrations.begin(), node.orchestrations.end(),
                         [](const OrchestrationVersion& code) { return code.version.to_string() == kSecondVersion; });
    };
    const std::vector<NodeInfo> nodes = client_.list_nodes();
    return names(kSecondVersion) && std::none_of(nodes.begin(), nodes.end(), has_second);
  }

  [[nodiscard]] bool never_ends() const {
    const auto ends = [&](const Program& each) {
      if (!plan_.contested && !life_.possible.contains(each.path)) return true;
      return each.ending != Ending::kWaits && (messages_for(each) == 0 || life_.fed.contains(each.path));
    };
    return !std::all_of(plan_.generations.begin(), plan_.generations.end(), ends);
  }

  const LifePlan& plan_;
  const LifeStep& step_;
  const Client& client_;
  Life& life_;
};

}  // namespace

std::string_view to_string(LifeCall call) noexcept {
  switch (call) {
    case LifeCall::kStart:
      return "start";
    case LifeCall::kReplace:
      return "replace";
    case LifeCall::kFeed:
      return "enqueue messages for";
    case LifeCall::kDelete:
      return "delete";
    case LifeCall::kForceDelete:
      return "delete with force";
    case LifeCall::kRestart:
      return "delete and restart";
    case LifeCall::kPrune:
      return "prune";
    case LifeCall::kCancel:
      return "cancel";
    case LifeCall::kTerminate:
      return "terminate";
    case LifeCall::kRaise:
      return "raise an event for";
    case LifeCall::kCancelAhead:
      return "cancel ahead";
    case LifeCall::kRaiseAhead:
      return "raise an event ahead for";
    case LifeCall::kDeleteAhead:
      return "cancel and delete ahead";
    case LifeCall::kBulkDelete:
      return "delete in bulk";
    case LifeCall::kBulkPrune:
      return "prune in bulk";
    case LifeCall::kMissing:
      return "call what is missing beside";
    case LifeCall::kStartUnserved:
      return "start what no node can run, beside";
    case LifeCall::kSurvey:
      return "ask what is stuck, beside";
    case LifeCall::kLook:
      return "look at";
    case LifeCall::kSettle:
      return "settle";
  }
  return "call";
}

bool carry_out(const LifePlan& plan, std::size_t step, const Client& client, Life& life) {
  if (life.done != step) return false;
  if (!LifeClient(plan, plan.steps.at(step), client, life).carry_out()) return false;
  ++life.done;
  life.tries = 0;
  return true;
}

std::optional<std::string> path_in_output(const std::string& output) {
  const auto json = nlohmann::json::parse(output, nullptr, false);
  if (!json.is_object() || !json.contains("path") || !json.at("path").is_string()) return std::nullopt;
  return json.at("path").get<std::string>();
}

}  // namespace perdure::testing::simulation
