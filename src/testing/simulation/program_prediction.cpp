#include "testing/simulation/program_prediction.h"

#include <string>
#include <utility>

#include "testing/simulation/interpreter.h"
#include "testing/simulation/interpreter_steps.h"

namespace perdure::testing::simulation {

namespace {

class Prediction {
 public:
  Prediction(const Program& program, InstanceRule& rule, Rules& rules, const std::set<std::string>& open_ids)
      : program_(program), rule_(rule), rules_(rules), open_ids_(open_ids) {}

  void follow() {
    rule_.ending = program_.ending;
    rule_.failure = failure_of(program_);
    rule_.executions = program_.sections.size();
    rule_.version = program_.version;
    for (const Block& section : program_.sections) follow(section);
  }

 private:
  void follow(const Block& block) {
    for (const Step& step : block) {
      for (const Block& inner : step.blocks) follow(inner);
      if (!step.programs.empty()) {
        follow_instance(step);
      } else if (!call(step)) {
        rule_.values[step.id].allowed = values(step);
      }
    }
  }

  // What leaves no value, or one that depends on what was done before.
  bool call(const Step& step) {
    switch (step.op) {
      case Op::kSetKey:
        rule_.key_values[step.key] = token(program_, step);
        return true;
      case Op::kClearKey:
        rule_.key_values.erase(step.key);
        return true;
      case Op::kClearKeys:
        rule_.key_values.clear();
        return true;
      case Op::kReadKey: {
        const auto found = rule_.key_values.find(step.key);
        const std::string value = found == rule_.key_values.end() ? "absent" : found->second;
        rule_.values[step.id].allowed = {value + " of " + std::to_string(rule_.key_values.size())};
        return true;
      }
      case Op::kStatus:
        rule_.custom_status = token(program_, step);
        return true;
      case Op::kResetStatus:
        rule_.values[step.id].allowed = {rule_.custom_status.value_or("absent")};
        rule_.custom_status.reset();
        return true;
      case Op::kQueue: {
        std::string text = "read " + std::to_string(step.number);
        if (step.last) {
          for (const std::string& message : all_messages()) text += " " + message;
        }
        rule_.values[step.id].allowed = {text};
        return true;
      }
      default:
        return step.op == Op::kTrace;
    }
  }

  [[nodiscard]] std::set<std::string> all_messages() const {
    std::set<std::string> all;
    for (std::size_t i = 0; i < messages_for(program_); ++i) all.insert(message_name(program_, i));
    return all;
  }

  [[nodiscard]] std::vector<std::string> values(const Step& step) const {
    const std::string name = token(program_, step);
    switch (step.op) {
      case Op::kActivity:
      case Op::kTaggedActivity:
      case Op::kFlakyActivity:
      case Op::kAsyncActivity:
        return {"done " + name};
      case Op::kGivenUpActivity:
        return {"failed: " + name + " fails"};
      case Op::kHopelessActivity:
        return {"failed: " + name + " fails for good"};
      case Op::kTimedOutActivity:
      case Op::kSilentActivity:
      case Op::kUnservedActivity:
      case Op::kUnknownTimedActivity:
      case Op::kRetiredActivity:
        return {"timed out"};
      case Op::kDroppedCompletion:
        return {"failed: " + std::string(kCompletionDropped)};
      case Op::kProgress:
        return {"reached " + std::to_string(step.number)};
      case Op::kCaughtFailure:
        return {"activity '" + std::string(activity::kFails) + "' failed: " + name + " fails"};
      case Op::kDroppedActivity:
      case Op::kDroppedUnknownActivity:
        return {"dropped"};
      case Op::kDetachedActivity:
      case Op::kUnknownActivity:
        return {"detached"};
      case Op::kTimer:
        return {"fired"};
      case Op::kRacingSignal:
        return {"signal " + name, "timer"};
      case Op::kSignalFromActivity:
      case Op::kSignalFromClient:
        return {"signal " + name};
      case Op::kSelectRace:
        return {"done " + name, "timer"};
      case Op::kGuid:
      case Op::kTime:
        return {"same"};
      case Op::kSaga:
        return {"failed: " + name + " fails" + (step.number % 2 == 1 ? ", not undone: " + name + " fails" : "")};
      case Op::kThrowingTask:
        return {"failed: " + name + " throws"};
      case Op::kTask:
        return {"task"};
      case Op::kJoinPack:
        return {"done " + name + "; block"};
      case Op::kSelectFixed:
        return {step.number % 4 != 3 && step.number % 3 == 0 ? "done " + name : "timer"};
      default:
        return numbered_values(step, name);
    }
  }

  static std::vector<std::string> numbered_values(const Step& step, const std::string& name) {
    std::vector<std::string> each;
    each.reserve(step.number);
    for (std::uint64_t i = 0; i < step.number; ++i) each.push_back("done " + name + "." + std::to_string(i));
    if (step.op == Op::kSelectMany) {
      for (std::uint64_t i = 0; i < step.number; ++i) each[i].insert(0, std::to_string(i) + ": ");
      return each;
    }
    if (step.op == Op::kJoinMany && each.size() > 1) each[1] = "failed: " + name + ".1 fails";
    std::string text;
    if (step.op == Op::kJoinTasks) {
      for (std::size_t i = 0; i < step.blocks.size(); ++i) text += "block " + std::to_string(i) + "; ";
    } else if (step.op == Op::kQueueFromActivity) {
      for (std::uint64_t i = 0; i < step.number; ++i) text += "m" + std::to_string(i) + " ";
    } else {
      for (const std::string& value : each) text += value + "; ";
    }
    return {text};
  }

  // ---- other instances ----

  void follow_instance(const Step& step) {
    const Program& other = step.programs.front();
    InstanceRule& rule = rules_[other.path];
    rule.path = other.path;
    const bool shared = step.op == Op::kSharedChild;
    const Sharing sharing = shared ? sharing_of(step) : Sharing::kAwaited;
    const bool alone = step.op == Op::kDetachedStart || sharing == Sharing::kStartedAlone;
    if (!alone) rule.parent = program_.path;
    if (alone || shared || step.op == Op::kNamedChild || step.op == Op::kForeignKey) rule.id = instance_id_of(other);
    const bool parent_may_be_cut = rule_.may_be_cancelled || rule_.may_be_terminated;
    const bool diverges = step.op == Op::kDivergingChild;
    const bool dropped = step.op == Op::kDroppedChild || step.op == Op::kDroppedUnknownChild ||
                         (diverges && !is_detached(step)) || sharing == Sharing::kDropped || sharing == Sharing::kHeld;
    rule.touched = rule_.touched;
    rule.detached = step.op == Op::kDetachedChild || step.op == Op::kUnknownChild || (diverges && is_detached(step)) ||
                    sharing == Sharing::kDetached;
    rule.never_starts = rule_.never_starts || (step.op == Op::kDroppedChild && step.number % 3 == 0);
    rule.may_be_missing = rule_.may_be_missing || parent_may_be_cut || shared;
    // Clients address an id, whichever instance has it.
    const bool open = shared && open_ids_.contains(instance_id_of(other));
    rule.may_be_cancelled = (!alone && (parent_may_be_cut || dropped)) || open;
    rule.may_be_terminated = open;
    Prediction(other, rule, rules_, open_ids_).follow();
    ValueRule& value = rule_.values[step.id];
    switch (step.op) {
      case Op::kSharedChild:
        value = shared_value(other, rule, sharing, open);
        break;
      case Op::kDroppedChild:
        value.allowed = {step.number % 3 == 2 ? "done " + token(program_, step) : "dropped"};
        break;
      case Op::kUnknownChild:
      case Op::kDetachedChild:
        value.allowed = {"detached"};
        break;
      case Op::kDroppedUnknownChild:
        value.allowed = {"dropped"};
        break;
      case Op::kDivergingChild:
        value.allowed = {is_detached(step) ? "detached" : "dropped"};
        break;
      case Op::kDetachedStart:
        value.allowed = {"started"};
        break;
      case Op::kForeignKey: {
        const auto found = rule.key_values.find(step.key);
        value.child = other.path;
        const std::string outcome = other.ending == Ending::kFails ? "failed" : "completed";
        value.allowed = {outcome + " with " + (found == rule.key_values.end() ? "nothing" : found->second)};
        break;
      }
      default:
        value.child = other.path;
        value.is_output = other.ending == Ending::kCompletes;
        if (!value.is_output) value.allowed = {"failed: " + rule.failure};
    }
  }

  static ValueRule shared_value(const Program& other, const InstanceRule& rule, Sharing sharing, bool open) {
    ValueRule value;
    switch (sharing) {
      case Sharing::kAwaited:
        value.child = other.path;
        value.is_output = other.ending == Ending::kCompletes;
        if (!value.is_output) value.allowed = {"failed: " + rule.failure};
        value.may_be_refused = true;
        value.open_to_clients = open;
        break;
      case Sharing::kDropped:
        value.allowed = {"dropped"};
        break;
      case Sharing::kDetached:
        value.allowed = {"detached"};
        break;
      case Sharing::kHeld:
        value.allowed = {"held"};
        break;
      case Sharing::kStartedAlone:
        value.allowed = {"started"};
    }
    return value;
  }

  const Program& program_;
  InstanceRule& rule_;
  Rules& rules_;
  const std::set<std::string>& open_ids_;
};

}  // namespace

void predict(const Program& root, const Intervention& intervention, Rules& rules) {
  InstanceRule& rule = rules[root.path];
  rule.path = root.path;
  rule.id = instance_id_of(root);
  rule.may_be_cancelled = intervention.cancel;
  rule.may_be_terminated = intervention.terminate;
  // Those of a lifecycle have many reasons, which its client knows.
  if (intervention.cancel && !intervention.touch) rule.reason = kCancelReason;
  if (intervention.terminate && !intervention.touch) rule.reason = kTerminateReason;
  rule.touched = intervention.touch;
  rule.may_be_missing = intervention.touch;
  Prediction(root, rule, rules, intervention.open_ids).follow();
}

std::size_t messages_for(const Program& program) {
  std::size_t messages = 0;
  for_each_step(program, [&](const Step& step) {
    if (step.op == Op::kQueue) messages += step.number;
  });
  return messages;
}

}  // namespace perdure::testing::simulation
