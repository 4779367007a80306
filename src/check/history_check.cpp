#include <perdure/history_check.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "check/history_problem.h"
#include "check/left_values.h"
#include "client/request_checks.h"
#include "client/store_result.h"
#include "providers/item_decoder.h"

namespace perdure {

namespace {

// How often a running execution is read again because it changed in between.
constexpr int kMaxReads = 10;

bool is_live(ExecutionStatus status) {
  return status == ExecutionStatus::kRunning || status == ExecutionStatus::kContinuedAsNew;
}

// Of the instances that the check looks at. Throws ClientError if none can ever match.
InstanceFilter filter_of(const HistoryCheckOptions& options) {
  InstanceFilter filter = options.filter;
  if (!options.live_only) return filter;
  if (filter.statuses.empty()) filter.statuses = {ExecutionStatus::kRunning, ExecutionStatus::kContinuedAsNew};
  const auto ended = std::find_if_not(filter.statuses.begin(), filter.statuses.end(), is_live);
  if (ended == filter.statuses.end()) return filter;
  throw ClientError(ClientErrorKind::kInvalidInput, "the filter selects instances that are " +
                                                        std::string(to_string(*ended)) +
                                                        ", but live_only excludes them; set live_only to false");
}

ProviderAdmin& admin_of(Provider& store) {
  if (ProviderAdmin* const admin = store.admin()) return *admin;
  throw ClientError(ClientErrorKind::kNotSupported, "the provider '" + std::string(store.name()) +
                                                        "' has no admin interface, so its histories cannot be listed");
}

void check_at_least_one(const char* option, std::size_t value) {
  if (value > 0) return;
  throw ClientError(ClientErrorKind::kInvalidInput, std::string(option) + " is 0; set it to 1 or more");
}

class HistoryCheck {
 public:
  HistoryCheck(ProviderAdmin& admin, const Registry& registry, const HistoryCheckOptions& options)
      : admin_(admin), registry_(registry), options_(options) {}

  HistoryCheckResult run();

 private:
  // Events with the values that the code may read.
  struct Running {
    DecodedHistory history;
    KeyValueSnapshot key_values;
  };

  void check_live(InstanceInfo info);
  void check_running(const InstanceInfo& info, const Running& running);
  void check_stored(const InstanceInfo& info);
  void check_continuation(const InstanceInfo& info);
  std::optional<HistoryProblem> check_past(const InstanceInfo& info, ExecutionId execution,
                                           const DecodedHistory& history, const LeftValues& values);

  [[nodiscard]] std::optional<HistoryProblem> replay(const std::string& instance, ExecutionId execution,
                                                     const DecodedHistory& history, KeyValueSnapshot values) const;
  [[nodiscard]] DecodedHistory read_history(const std::string& instance, ExecutionId execution);
  [[nodiscard]] std::optional<Running> read_running(const InstanceInfo& info);
  [[nodiscard]] std::optional<InstanceInfo> find(const std::string& instance);
  [[nodiscard]] bool was_replaced(const InstanceInfo& info);

  void count(const DecodedHistory& history);
  void report(const InstanceInfo& info, ExecutionId execution, const DecodedHistory& history, HistoryProblem problem);
  void add(HistoryFinding finding);
  void tell_progress();

  ProviderAdmin& admin_;
  const Registry& registry_;
  const HistoryCheckOptions& options_;
  HistoryCheckResult result_;
  bool stopped_ = false;
};

HistoryCheckResult HistoryCheck::run() {
  InstanceQuery query{.filter = filter_of(options_), .limit = options_.page_size, .cursor = {}};
  do {
    InstancePage page = value_of(admin_.list_instances(query));
    for (InstanceInfo& info : page.instances) {
      if (options_.only_registered && !registry_.has(info.name)) continue;
      const auto executions = result_.counts.executions;
      ++result_.counts.instances;
      if (options_.live_only) {
        check_live(std::move(info));
      } else {
        check_stored(info);
      }
      if (result_.counts.executions == executions) tell_progress();
      if (stopped_) return std::move(result_);
    }
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  result_.complete = true;
  return std::move(result_);
}

// ---- running executions --------------------------------------------------------------------------------------------

void HistoryCheck::check_live(InstanceInfo info) {
  for (int reads = 0; reads < kMaxReads; ++reads) {
    if (!is_live(info.status)) return;  // it has ended since it was listed
    if (info.status == ExecutionStatus::kRunning) {
      if (const auto running = read_running(info)) return check_running(info, *running);
    } else if (reads > 0) {
      return check_continuation(info);
    }  // else: what was listed as being continued may be running by now
    auto now = find(info.id);
    if (!now) return;
    info = std::move(*now);
  }
  add({.instance = info.id,
       .execution = info.execution_id,
       .name = info.name,
       .version = info.version,
       .kind = HistoryFindingKind::kCannotTell,
       .live = true,
       .report = "the instance started another execution during each of " + std::to_string(kMaxReads) +
                 " reads; check it alone, or while no node runs"});
}

void HistoryCheck::check_running(const InstanceInfo& info, const Running& running) {
  if (running.history.events.empty() && !running.history.error) return;  // deleted
  count(running.history);
  if (auto problem = replay(info.id, info.execution_id, running.history, running.key_values)) {
    report(info, info.execution_id, running.history, std::move(*problem));
  }
  tell_progress();
}

// Its execution has ended and is replayed by nobody. The next one has no history yet, but it will need its code.
void HistoryCheck::check_continuation(const InstanceInfo& info) {
  std::optional<SemanticVersion> version;
  for (const Event& event : read_history(info.id, info.execution_id).events) {
    const auto* next = std::get_if<events::OrchestrationContinuedAsNew>(&event.body);
    if (next) version = next->version;
  }
  auto problem = find_missing_code(registry_, info.name, version);
  if (!problem) return;
  add({.instance = info.id,
       .execution = info.execution_id + 1,
       .name = info.name,
       .version = version,
       .kind = problem->kind,
       .live = true,
       .report = std::move(problem->report)});
}

// Nothing: the execution ended or was replaced while it was read, so that values and events may not belong together.
// The first execution begins without values.
std::optional<HistoryCheck::Running> HistoryCheck::read_running(const InstanceInfo& info) {
  if (info.execution_id == kFirstExecutionId) return Running{read_history(info.id, info.execution_id), {}};
  Running running;
  running.key_values = to_snapshot(value_of(admin_.read_key_value_snapshot(info.id)));
  running.history = read_history(info.id, info.execution_id);
  const auto now = find(info.id);
  const bool unchanged = now && now->status == ExecutionStatus::kRunning && now->execution_id == info.execution_id &&
                         now->created_at == info.created_at;
  if (!unchanged) return std::nullopt;
  return running;
}

// ---- every execution -----------------------------------------------------------------------------------------------

void HistoryCheck::check_stored(const InstanceInfo& info) {
  LeftValues values;
  ExecutionId expected = kFirstExecutionId;
  for (const ExecutionId execution : value_of(admin_.list_executions(info.id))) {
    if (execution != expected) values.lose("execution " + std::to_string(execution - 1) + " is no longer stored");
    expected = execution + 1;
    std::optional<Running> running;
    if (execution == info.execution_id && info.status == ExecutionStatus::kRunning) running = read_running(info);
    const DecodedHistory history = running ? std::move(running->history) : read_history(info.id, execution);
    if (history.events.empty() && !history.error) {
      values.lose("execution " + std::to_string(execution) + " was deleted");
      continue;
    }
    count(history);
    auto problem = running ? replay(info.id, execution, history, std::move(running->key_values))
                           : check_past(info, execution, history, values);
    const bool readable = !problem || (problem->kind != HistoryFindingKind::kUndecodable &&
                                       problem->kind != HistoryFindingKind::kCorrupt);
    if (problem) report(info, execution, history, std::move(*problem));
    tell_progress();
    if (stopped_) return;
    if (readable) {
      values.add(history.events);
    } else {
      values.lose("execution " + std::to_string(execution) + " is corrupt");
    }
  }
  if (info.status == ExecutionStatus::kContinuedAsNew) check_continuation(info);
}

std::optional<HistoryProblem> HistoryCheck::check_past(const InstanceInfo& info, ExecutionId execution,
                                                       const DecodedHistory& history, const LeftValues& values) {
  auto problem = replay(info.id, execution, history, values.snapshot());
  if (!problem || problem->kind != HistoryFindingKind::kDiverges || execution == kFirstExecutionId) return problem;
  std::string reason;
  if (values.unknown()) {
    reason = "the key-values at the start of execution " + std::to_string(execution) + " are unknown, because " +
             *values.unknown() + "; with the known ones:\n";
  } else if (was_replaced(info)) {
    reason = "the instance was deleted or replaced while it was read; check it again:\n";
  }
  if (!reason.empty()) problem = HistoryProblem{HistoryFindingKind::kCannotTell, reason + problem->report};
  return problem;
}

// ---- one history ---------------------------------------------------------------------------------------------------

std::optional<HistoryProblem> HistoryCheck::replay(const std::string& instance, ExecutionId execution,
                                                   const DecodedHistory& history, KeyValueSnapshot values) const {
  if (history.error) return HistoryProblem{HistoryFindingKind::kUndecodable, *history.error};
  return find_history_problem(registry_, options_.limits,
                              {.instance = instance,
                               .execution = execution,
                               .history = history.events,
                               .messages = {},
                               .key_values = std::move(values)});
}

DecodedHistory HistoryCheck::read_history(const std::string& instance, ExecutionId execution) {
  auto records = admin_.read_history(instance, execution);
  StoredHistory stored;
  if (records) {
    stored.events = std::move(records).value();
  } else if (records.error().kind() == ProviderErrorKind::kCorruptData) {
    stored.error = records.error().message();
  } else {
    throw ClientError(records.error());
  }
  return decode_stored_history(stored);
}

std::optional<InstanceInfo> HistoryCheck::find(const std::string& instance) {
  auto info = admin_.instance_info(instance);
  if (!info && info.error().kind() == ProviderErrorKind::kNotFound) return std::nullopt;
  return value_of(std::move(info));
}

bool HistoryCheck::was_replaced(const InstanceInfo& info) {
  const auto now = find(info.id);
  return !now || now->created_at != info.created_at;
}

// ---- the result ----------------------------------------------------------------------------------------------------

void HistoryCheck::count(const DecodedHistory& history) {
  ++result_.counts.executions;
  result_.counts.events += history.events.size();
}

void HistoryCheck::report(const InstanceInfo& info, ExecutionId execution, const DecodedHistory& history,
                          HistoryProblem problem) {
  const bool is_current = execution == info.execution_id;
  HistoryFinding finding{.instance = info.id,
                         .execution = execution,
                         .name = info.name,
                         .version = is_current ? info.version : std::nullopt,
                         .kind = problem.kind,
                         .live = is_current && info.status == ExecutionStatus::kRunning,
                         .report = std::move(problem.report)};
  const auto* start =
      history.events.empty() ? nullptr : std::get_if<events::OrchestrationStarted>(&history.events.front().body);
  if (start) {
    finding.name = start->name;
    finding.version = start->version;
  }
  add(std::move(finding));
}

void HistoryCheck::add(HistoryFinding finding) {
  result_.findings.push_back(std::move(finding));
  result_.counts.findings = result_.findings.size();
  if (result_.findings.size() >= options_.max_findings) stopped_ = true;
}

void HistoryCheck::tell_progress() {
  if (options_.progress && !options_.progress(result_.counts)) stopped_ = true;
}

}  // namespace

std::string_view to_string(HistoryFindingKind kind) noexcept {
  switch (kind) {
    case HistoryFindingKind::kDiverges:
      return "diverges";
    case HistoryFindingKind::kNotRegistered:
      return "not registered";
    case HistoryFindingKind::kUndecodable:
      return "undecodable";
    case HistoryFindingKind::kCorrupt:
      return "corrupt";
    case HistoryFindingKind::kCannotTell:
      return "cannot tell";
  }
  return "unknown";
}

std::string HistoryFinding::to_string() const {
  return "instance '" + instance + "', execution " + std::to_string(execution) + ", orchestration '" + name + "'" +
         (version ? " " + version->to_string() : "") + ": " + std::string(perdure::to_string(kind)) +
         (live ? "" : " (it has ended)") + "\n" + report;
}

HistoryCheckResult check_histories(Provider& store, const Registry& registry, const HistoryCheckOptions& options) {
  registry.check();
  check_at_least_one("page_size", options.page_size);
  check_at_least_one("max_findings", options.max_findings);
  check_filter(options.filter, options.limits);
  return HistoryCheck(admin_of(store), registry, options).run();
}

}  // namespace perdure
