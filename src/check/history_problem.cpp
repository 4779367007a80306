#include "check/history_problem.h"

#include <memory>
#include <utility>
#include <variant>

#include "replay/history_facts.h"

namespace perdure {

namespace {

HistoryProblem problem_from(const ErrorDetails& failure) {
  const auto* configuration = std::get_if<ConfigurationError>(&failure);
  const bool corrupt = configuration && configuration->kind == ConfigurationErrorKind::kCorruptHistory;
  return {corrupt ? HistoryFindingKind::kCorrupt : HistoryFindingKind::kDiverges,
          configuration ? configuration->message : describe(failure)};
}

// Of a history whose code is not here: what can be said without code goes first.
std::optional<HistoryProblem> problem_without_code(const Registry& registry, std::span<const Event> history,
                                                   const NotRegistered& missing) {
  HistoryFacts facts;
  for (const Event& event : history) {
    if (const auto problem = facts.problem_with(event)) return HistoryProblem{HistoryFindingKind::kCorrupt, *problem};
    facts.record(event);
  }
  // A start that ended before code was found for it: none ever ran.
  if (facts.terminal() && !missing.version) return std::nullopt;
  return find_missing_code(registry, missing.name, missing.version);
}

}  // namespace

std::optional<HistoryProblem> find_history_problem(const Registry& registry, const Limits& limits,
                                                   OpenRequest request) {
  InProcessTurnExecutor executor(
      [&registry](const std::string& name, const std::optional<SemanticVersion>& version) {
        return registry.resolve(name, version);
      },
      limits);
  const std::span<const Event> history = request.history;
  const OpenResult opened = executor.open(std::move(request));
  if (const auto* missing = std::get_if<NotRegistered>(&opened)) {
    return problem_without_code(registry, history, *missing);
  }
  const auto* execution = std::get_if<std::unique_ptr<OpenExecution>>(&opened);
  if (!execution || !(*execution)->failure()) return std::nullopt;
  return problem_from(*(*execution)->failure());
}

std::optional<HistoryProblem> find_missing_code(const Registry& registry, const std::string& name,
                                                const std::optional<SemanticVersion>& version) {
  if (registry.resolve(name, version)) return std::nullopt;
  std::string text =
      "orchestration '" + name + "'" + (version ? " " + version->to_string() : "") + " is not registered";
  std::string others;
  for (const SemanticVersion& other : registry.versions(name)) {
    others += (others.empty() ? "" : ", ") + other.to_string();
  }
  if (!others.empty()) text += " (registered versions: " + others + ")";
  return HistoryProblem{HistoryFindingKind::kNotRegistered,
                        text + "; register it, or run nodes that have it until the instances that need it have ended"};
}

KeyValueSnapshot to_snapshot(std::span<const KeyValue> values) {
  KeyValueSnapshot snapshot;
  for (const KeyValue& entry : values) snapshot.emplace(entry.key, StoredValue{entry.value, entry.updated_at});
  return snapshot;
}

}  // namespace perdure
