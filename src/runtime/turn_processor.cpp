#include "runtime/turn_processor.h"

#include <algorithm>
#include <utility>

#include <perdure/detail/thrown.h>
#include <perdure/engine_metrics.h>
#include "model/decode_error.h"
#include "model/event_codec.h"
#include "model/message_codec.h"
#include "model/refused_by_store.h"
#include "replay/intake.h"
#include "runtime/asked_nodes.h"
#include "runtime/ending_turn.h"
#include "runtime/foreign_messages.h"
#include "runtime/trace_log.h"
#include "runtime/turn_commit_builder.h"

namespace perdure::runtime {

namespace {

// What can never work here may work on another node, or after the next deployment.
constexpr Milliseconds kRestOfUnusable{1'000};

bool has_kind(const OrchestrationItem& item, MessageKind kind) {
  return std::any_of(item.messages.begin(), item.messages.end(),
                     [kind](const QueuedMessage& message) { return message.record.kind == kind; });
}

KeyValueSnapshot snapshot_of(const StoredHistory& history) {
  KeyValueSnapshot snapshot;
  for (const KeyValue& entry : history.key_values)
    snapshot.emplace(entry.key, StoredValue{entry.value, entry.updated_at});
  return snapshot;
}

std::string to_text(const std::optional<SemanticVersion>& version) {
  return version ? version->to_string() : "latest";
}

}  // namespace

std::string to_text(const std::vector<VersionRange>& ranges) {
  std::string text;
  for (const VersionRange& range : ranges) text += (text.empty() ? "" : ", ") + range.to_string();
  return text;
}

// A task while it is worked on.
struct TurnProcessor::Turn {
  explicit Turn(TurnTask of)
      : task(std::move(of)),
        messages(decode_messages_of(task.item, link_of(task.item))),
        execution(task.item.execution_id) {
    // The next execution begins with nothing but the values; the history that came along is its predecessor's.
    begins_next = task.item.metadata && task.item.metadata->status == ExecutionStatus::kContinuedAsNew;
    if (begins_next) {
      ++execution;
    } else {
      history = decode_stored_history(task.history);
    }
    if (task.kept) {
      started_at = task.kept->started_at;
    } else {
      started_at = history.events.empty() ? task.now : history.events.front().time;
    }
    // A clock may be set back; the time of an execution is not.
    if (task.kept) task.now = std::max(task.now, task.kept->last_turn_at);
    if (!history.events.empty()) task.now = std::max(task.now, history.events.back().time);
  }

  [[nodiscard]] const OrchestrationItem& item() const { return task.item; }
  [[nodiscard]] std::string name() const {
    if (item().metadata) return item().metadata->name;
    return item().messages.empty() ? std::string() : item().messages.front().record.name;
  }

  // The first commit creates the instance, and its id is the incarnation.
  [[nodiscard]] std::uint64_t incarnation() const { return item().metadata ? item().incarnation : task.commit_id; }
  [[nodiscard]] std::optional<ParentLink> link() const { return link_of(item()); }

  // Other starts may wait behind it, of parents that get the refusal that the id is taken.
  [[nodiscard]] bool start_is_unreadable() const {
    return !item().metadata && !item().messages.empty() && !messages.undecodable.empty() &&
           begins_execution(item().messages.front().record.kind) &&
           messages.undecodable.front().id == item().messages.front().id;
  }

  TurnTask task;
  DecodedMessages messages;
  DecodedHistory history;
  ExecutionId execution;
  Timestamp started_at{};  // of the execution
  bool begins_next = false;
  bool poisoned = false;
};

TurnProcessor::TurnProcessor(const RuntimeOptions& options, std::shared_ptr<TurnExecutor> executor, std::string node)
    : node_(std::move(node)),
      max_attempts_(options.max_attempts),
      backoff_(options.unregistered_backoff),
      pin_(options.engine_version),
      supported_(options.supported_replay_versions),
      executor_(std::move(executor)),
      logger_(options.logger.with_target(log_target::kOrchestrationDispatcher)),
      traces_(options.logger.with_target(log_target::kOrchestration)),
      metrics_(options.metrics) {
  if (supported_.empty()) supported_.push_back({{0, 0, 0}, options.engine_version.value_or(engine_version())});
}

TurnDecision TurnProcessor::process(TurnTask task) const noexcept {
  const LockToken token = task.item.token;
  const std::string instance = task.item.instance;
  try {
    Turn turn(std::move(task));
    return decide(turn);
  } catch (const std::exception& error) {
    return failed_inside(token, instance, detail::text_of(error));
  } catch (...) {
    return failed_inside(token, instance, detail::kThrewOther);
  }
}

TurnDecision TurnProcessor::failed_inside(const LockToken& token, const std::string& instance,
                                          std::string_view error) const {
  logger_.error("internal error in turn; instance abandoned",
                {{"instance_id", instance}, {"worker_id", node_}, {"error", error}});
  return {
      .action = Abandon{.token = token, .delay = kRestOfUnusable, .ignore_attempt = false}, .kept = {}, .report = {}};
}

// The order of the checks is the contract: what has ended is not touched; what was tried too often ends, whatever else
// is wrong with it; and only then everything that deserves another try.
TurnDecision TurnProcessor::decide(Turn& turn) const {
  const OrchestrationItem& item = turn.item();
  const bool continues = turn.begins_next && has_kind(item, MessageKind::kContinueAsNew);
  if (item.metadata && is_terminal(item.metadata->status) && !turn.begins_next) {
    return drop_batch(turn, "discarding messages for a terminal instance", IgnoreReason::kExecutionEnded);
  }
  if (turn.begins_next && !continues) {
    return has_kind(item, MessageKind::kStartOrchestration) ? drop_starts(turn) : without_continuation(turn);
  }
  // A cancel and a terminate are honoured where nothing else can be done any more. What belongs to another engine is
  // left to a node that can read it.
  const bool exhausted = is_exhausted(item) || turn.task.refusal;
  const bool unreadable = !turn.messages.undecodable.empty() || turn.history.error;
  if (exhausted || unreadable || !is_supported(turn)) add_end_requests(turn.task.item, turn.messages);
  if (exhausted || (unreadable && is_supported(turn))) {
    if (auto request = requested_end(turn.messages.messages, turn.link())) return end(turn, std::move(*request));
  }
  if (exhausted) return poison(turn);
  if (unreadable || !is_supported(turn)) {
    if (auto discarded = discard_foreign(turn)) return std::move(*discarded);
  }
  if (!is_supported(turn)) {
    metrics_.add(metric::kOrchestrationIncompatibleVersionAbandoned);
    const std::string pinned = item.metadata->pinned_version->to_string();
    warn(turn, "execution pinned to engine version " + pinned + ", which this node does not replay; instance abandoned",
         "supported_range", runtime::to_text(supported_));
    return give_back(turn, kRestOfUnusable);
  }
  if (!turn.messages.undecodable.empty()) {
    warn(turn, "undecodable message; instance abandoned", "error", turn.messages.undecodable.front().error);
    return give_back(turn, kRestOfUnusable);
  }
  if (turn.history.error) {
    warn(turn, "undecodable history; instance abandoned", "error", *turn.history.error);
    return give_back(turn, kRestOfUnusable);
  }
  return run(turn);
}

bool TurnProcessor::is_supported(const Turn& turn) const {
  const auto& metadata = turn.item().metadata;
  // An execution that begins here is pinned to this engine: nothing of another version is replayed.
  if (!metadata || !metadata->pinned_version || turn.begins_next) return true;
  return std::any_of(supported_.begin(), supported_.end(),
                     [&](const VersionRange& range) { return range.contains(*metadata->pinned_version); });
}

// ---- the normal way ------------------------------------------------------------------------------------------------

TurnDecision TurnProcessor::run(Turn& turn) const {
  const OrchestrationItem& item = turn.item();
  auto& kept = turn.task.kept;
  if (kept) {
    kept->code->catch_up(turn.history.events);
  } else {
    auto opened = executor_->open({.instance = item.instance,
                                   .execution = turn.execution,
                                   .incarnation = turn.incarnation(),
                                   .history = turn.history.events,
                                   .messages = turn.messages.messages,
                                   .key_values = snapshot_of(turn.task.history)});
    if (const auto* missing = std::get_if<NotRegistered>(&opened)) return without_handler(turn, *missing);
    if (std::holds_alternative<NothingToRun>(opened)) {
      return drop_batch(turn, "discarding messages for an instance that does not exist", IgnoreReason::kNotStarted);
    }
    kept.emplace();
    kept->incarnation = turn.incarnation();
    kept->id = turn.execution;
    kept->started_at = turn.started_at;
    kept->code = std::move(std::get<std::unique_ptr<OpenExecution>>(opened));
  }
  kept->last_turn_at = turn.task.now;
  std::vector<LockToken> completed_work = add_completions(turn);
  TraceLog traces(traces_, item, turn.execution, turn.name(), kept->code->code_version(), node_);
  const TurnOutcome outcome = kept->code->run_turn(
      {.now = turn.task.now, .entropy = turn.task.entropy, .messages = turn.messages.messages, .traces = &traces});
  log_ignored(turn, outcome.ignored);
  TurnDecision decision = commit(turn, outcome);
  std::get<TurnCommit>(decision.action).completed_work = std::move(completed_work);
  if (outcome.status == ExecutionStatus::kRunning) decision.kept = std::move(kept);
  return decision;
}

// What came without the queue, behind what came through it, and decoded like it: a turn cannot tell them apart.
std::vector<LockToken> TurnProcessor::add_completions(Turn& turn) const {
  std::vector<LockToken> completed_work;
  std::size_t bytes = 0;
  for (const LocalCompletion& completion : turn.task.completions) {
    // At most as many bytes as a fetch returns: a turn has to fit into the store. The others go through the queue.
    bytes += completion.message.body.size();
    if (!completed_work.empty() && bytes > OrchestrationFetch{}.max_bytes) break;
    try {
      turn.messages.messages.push_back(decode_message(completion.message));
      completed_work.push_back(completion.work);
    } catch (const DecodeError& error) {
      warn(turn, "undecodable direct completion; acknowledged through the worker queue", "error",
           detail::text_of(error));
    }
  }
  return completed_work;
}

TurnDecision TurnProcessor::commit(Turn& turn, const TurnOutcome& outcome) const {
  const OrchestrationItem& item = turn.item();
  TurnCommit commit;
  commit.token = item.token;
  commit.commit_id = turn.task.commit_id;
  // Without events there is no next execution yet: the batch is dropped in the one that is there.
  commit.execution_id = outcome.events.empty() ? item.execution_id : turn.execution;
  commit.consumed.reserve(item.messages.size());
  for (const QueuedMessage& message : item.messages) commit.consumed.push_back(message.id);
  add_outcome(commit, outcome, pin_);
  TurnDecision decision{.action = {}, .kept = {}, .report = {}};
  if (!outcome.events.empty()) {
    const auto* started = std::get_if<events::OrchestrationStarted>(&outcome.events.front().body);
    decision.report = TurnReport{
        .instance = item.instance,
        .name = started ? started->name : turn.name(),
        .version = commit.started ? to_text(commit.started->version)
                                  : to_text(item.metadata ? item.metadata->version : std::nullopt),
        .execution = turn.execution,
        .started_at = turn.started_at,
        .now = turn.task.now,
        .turns = outcome.events.back().turn,
        .events = outcome.events.back().id,
        .began = started != nullptr,
        .has_parent = started ? started->parent.has_value() : item.metadata && item.metadata->parent.has_value(),
        .registered = turn.task.kept.has_value(),
        .poisoned = turn.poisoned,
        .status = outcome.status,
        .error = outcome.error,
    };
    decision.messages = std::move(turn.task.item.messages);
  }
  if (metrics_.enabled()) decision.counts = count_turn(outcome, turn.task.now);
  decision.action = std::move(commit);
  return decision;
}

// ---- other ways ----------------------------------------------------------------------------------------------------

// A cancel and a terminate need no code; everything else waits for the node that has it.
TurnDecision TurnProcessor::without_handler(Turn& turn, const NotRegistered& missing) const {
  add_end_requests(turn.task.item, turn.messages);
  if (auto request = requested_end(turn.messages.messages, turn.link())) return end(turn, std::move(*request));
  if (auto discarded = discard_foreign(turn)) return std::move(*discarded);
  const std::uint32_t attempt = turn.item().attempt_count;
  const Milliseconds delay = backoff_.after(attempt);
  metrics_.add(metric::kUnregisteredBackoff, {{"kind", "orchestration"}});
  logger_.warn("orchestration not registered on this node; instance abandoned",
               {{"instance_id", turn.item().instance},
                {"execution_id", std::to_string(turn.execution)},
                {"orchestration_name", missing.name},
                {"orchestration_version", to_text(missing.version)},
                {"worker_id", node_},
                {"attempt_count", std::to_string(attempt)},
                {"max_attempts", std::to_string(max_attempts_)},
                {"remaining_attempts", std::to_string(max_attempts_ - attempt)},
                {"backoff_ms", std::to_string(delay.count())}});
  return give_back(turn, delay);
}

std::optional<NotRegistered> TurnProcessor::missing_code(const Turn& turn) const {
  if (turn.task.kept) return std::nullopt;  // its code is there, and the history is not whole
  return executor_->missing_code({.instance = turn.item().instance,
                                  .execution = turn.execution,
                                  .incarnation = turn.incarnation(),
                                  .history = turn.history.events,
                                  .messages = turn.messages.messages,
                                  .key_values = {}});
}

TurnDecision TurnProcessor::poison(Turn& turn) const {
  const OrchestrationItem& item = turn.item();
  turn.poisoned = true;
  if (!is_supported(turn)) {
    return end(turn, ConfigurationError{ConfigurationErrorKind::kIncompatibleVersion, turn.name(),
                                        "instance '" + item.instance + "' is pinned to engine version " +
                                            item.metadata->pinned_version->to_string() + ", but this node replays " +
                                            runtime::to_text(supported_) +
                                            "; run a node of that version, or widen supported_replay_versions"});
  }
  PoisonError error;
  error.instance = item.instance;
  error.execution_id = turn.execution;
  error.attempts = turn.task.refusal ? std::max(item.attempt_count, max_attempts_) : item.attempt_count;
  error.max_attempts = max_attempts_;
  if (turn.history.error) {
    error.subject = PoisonSubject::kUndecodableHistory;
    error.message = *turn.history.error;
  } else if (turn.task.refusal) {
    error.message = refused_by_store(*turn.task.refusal);
  } else if (!turn.messages.undecodable.empty()) {
    error.message = turn.messages.undecodable.front().error;
  } else if (const auto missing = missing_code(turn)) {
    error.message = not_registered("orchestration '" + missing->name + "' version " + to_text(missing->version), node_,
                                   asked_for_orchestration(turn.task.nodes, missing->name));
  } else {
    for (const Message& message : turn.messages.messages) {
      error.message += (error.message.empty() ? "" : ", ") + std::string(kind_name(message.body));
    }
  }
  warn(turn,
       turn.task.refusal ? "calls for this instance alone rejected by the store; instance failed as poison"
                         : "max_attempts exceeded without a commit; instance failed as poison",
       turn.task.refusal ? "error" : "messages", error.message);
  return end(turn, std::move(error));
}

// The continuation is queued by the commit that ends an execution, so it is lost if the store has none. A batch without
// it proves nothing: the store may not show it yet.
TurnDecision TurnProcessor::without_continuation(Turn& turn) const {
  if (!turn.item().continuation_missing) {
    warn(turn, "continuation missing in the fetched item but not reported missing by the store; instance abandoned");
    return {.action = Abandon{.token = turn.item().token, .delay = kRestOfUnusable, .ignore_attempt = true},
            .kept = {},
            .report = {}};
  }
  return end(
      turn,
      InfrastructureError{
          "continue_as_new",
          "instance '" + turn.item().instance +
              "' continued as new, but the start message of its next execution is missing; start the instance again",
          false});
}

// Ends the execution without its code.
TurnDecision TurnProcessor::end(Turn& turn, ErrorDetails error) const {
  turn.task.kept.reset();
  const TurnOutcome outcome = end_turn({.item = turn.item(),
                                        .stored = turn.task.history,
                                        .history = std::move(turn.history),
                                        .messages = std::move(turn.messages.messages),
                                        .name = turn.name(),
                                        .link = turn.link(),
                                        .execution = turn.execution,
                                        .incarnation = turn.incarnation(),
                                        .begins_next = turn.begins_next,
                                        .start_is_unreadable = turn.start_is_unreadable(),
                                        .now = turn.task.now},
                                       std::move(error));
  log_ignored(turn, outcome.ignored);
  return commit(turn, outcome);
}

TurnDecision TurnProcessor::drop_batch(Turn& turn, std::string_view why, IgnoreReason reason,
                                       const std::optional<ParentLink>& parent) const {
  DiscardedBatch discarded = describe_discarded(turn.messages, turn.link(), turn.incarnation(), reason);
  warn(turn, why, "messages", discarded.kinds);
  TurnCommit commit;
  commit.token = turn.item().token;
  commit.commit_id = turn.task.commit_id;
  commit.execution_id = turn.item().execution_id;
  for (const QueuedMessage& message : turn.item().messages) commit.consumed.push_back(message.id);
  for (const Message& message : turn.messages.messages) {
    if (const auto refusal = refusal_of(message, parent)) commit.messages.push_back(encode_message(*refusal));
  }
  TurnDecision decision{.action = std::move(commit), .kept = {}, .report = {}};
  if (metrics_.enabled()) decision.counts.ignored = std::move(discarded.reasons);
  return decision;
}

// More starts than a batch holds may stand in front of a continuation; what else came waits for it too.
TurnDecision TurnProcessor::drop_starts(Turn& turn) const {
  std::erase_if(turn.task.item.messages,
                [](const QueuedMessage& message) { return message.record.kind != MessageKind::kStartOrchestration; });
  std::erase_if(turn.messages.messages, [](const Message& message) {
    return !std::holds_alternative<messages::StartOrchestration>(message.body);
  });
  turn.messages.undecodable.clear();  // no start: the envelope of one suffices
  return drop_batch(turn, "discarding starts of an instance that is continuing as new", IgnoreReason::kAlreadyStarted,
                    turn.link());
}

// None of them needs the code or the history of the instance, and none may cost it an attempt.
std::optional<TurnDecision> TurnProcessor::discard_foreign(Turn& turn) const {
  if (!has_foreign_messages(turn.item())) return std::nullopt;
  keep_foreign_messages(turn.task.item, turn.messages);
  return drop_batch(turn, "discarding messages for another incarnation; the current one cannot run on this node",
                    IgnoreReason::kAlreadyStarted, turn.link());
}

TurnDecision TurnProcessor::give_back(const Turn& turn, Milliseconds delay) const {
  return {
      .action = Abandon{.token = turn.item().token, .delay = delay, .ignore_attempt = false}, .kept = {}, .report = {}};
}

// ---- logging -------------------------------------------------------------------------------------------------------

void TurnProcessor::warn(const Turn& turn, std::string_view message, std::string_view key,
                         const std::string& value) const {
  if (!logger_.enabled(LogLevel::kWarn)) return;
  const std::string execution = std::to_string(turn.execution);
  const std::string attempts = std::to_string(turn.item().attempt_count);
  const std::string name = turn.name();
  const auto& metadata = turn.item().metadata;
  const std::string version = metadata && metadata->version ? metadata->version->to_string() : "";
  std::vector<LogField> fields{
      {"instance_id", turn.item().instance}, {"execution_id", execution}, {"orchestration_name", name},
      {"orchestration_version", version},    {"worker_id", node_},        {"attempt_count", attempts}};
  if (!key.empty()) fields.push_back({key, value});
  logger_.log(LogLevel::kWarn, message, fields);
}

void TurnProcessor::log_ignored(const Turn& turn, const std::vector<IgnoredMessage>& ignored) const {
  for (const IgnoredMessage& message : ignored) {
    warn(turn, "message ignored: " + std::string(to_string(message.reason)), "message", message.what);
  }
}

}  // namespace perdure::runtime
