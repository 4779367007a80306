// What simulate() tells its users, as text.
#include <algorithm>
#include <array>
#include <charconv>
#include <ostream>
#include <stdexcept>

#include <perdure/testing/simulate.h>

namespace perdure::testing {

namespace {

constexpr std::array<std::string_view, 4> kRunNames{"calm", "crash-before", "crash-after", "seed"};

std::string counted(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

// Every line of it, moved to the right.
std::string indented(std::string_view text, std::string_view by) {
  std::string lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    lines += std::string(by) + std::string(line) + "\n";
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return lines;
}

}  // namespace

std::string SimulatedRun::to_string() const {
  std::string text(kRunNames.at(static_cast<std::size_t>(kind)));
  if (kind != SimulatedRunKind::kCalm) text += ":" + std::to_string(number);
  return text;
}

SimulatedRun SimulatedRun::parse(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  for (std::size_t kind = 0; kind < kRunNames.size(); ++kind) {
    if (name != kRunNames.at(kind)) continue;
    SimulatedRun run{static_cast<SimulatedRunKind>(kind), 0};
    const bool is_calm = run.kind == SimulatedRunKind::kCalm;
    const bool is_numbered = name.size() < text.size();
    if (is_calm && !is_numbered) return run;
    if (is_calm || !is_numbered) break;
    const std::string_view number = text.substr(name.size() + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), run.number);
    const bool is_write = run.kind == SimulatedRunKind::kCrashBefore || run.kind == SimulatedRunKind::kCrashAfter;
    if (error != std::errc() || end != number.data() + number.size() || (is_write && run.number == 0)) break;
    return run;
  }
  throw std::invalid_argument("'" + std::string(text) +
                              "' names no simulated run: write calm, crash-before:7, crash-after:7 (writes count from "
                              "1) or seed:17");
}

std::string_view to_string(SimulationFindingKind kind) noexcept {
  switch (kind) {
    case SimulationFindingKind::kNondeterminism:
      return "nondeterminism";
    case SimulationFindingKind::kStuck:
      return "stuck";
    case SimulationFindingKind::kWrongEnd:
      return "wrong end";
    case SimulationFindingKind::kRepeatedActivity:
      return "repeated activity";
    case SimulationFindingKind::kException:
      return "exception";
    case SimulationFindingKind::kStoreInvariant:
      return "store invariant";
  }
  return "unknown";
}

std::string SimulationFinding::repeat() const {
  return "options.only = \"" + run.to_string() + "\";";
}

std::string SimulationFinding::to_string() const {
  std::string head(testing::to_string(kind));
  if (!instance.empty()) head += ", instance '" + instance + "'";
  head += ", in " + counted(runs, "run", "runs") + ", first in " + run.to_string() + "\n";
  return head + indented(text, "  ") + "  repeat it with: " + repeat() + "\n";
}

std::ostream& operator<<(std::ostream& out, const SimulationFinding& finding) {
  return out << finding.to_string();
}

std::string RepeatedActivity::to_string() const {
  return "'" + name + "' (" + std::to_string(activity_id) + ") of '" + instance + "'" +
         (execution == kFirstExecutionId ? "" : ", execution " + std::to_string(execution)) + ": " +
         std::to_string(times) + " times in " + run.to_string() + "; more than once in " + counted(runs, "run", "runs");
}

std::string SimulationResult::to_string() const {
  std::string text = counted(runs, "run", "runs") + " (" + counted(crash_points, "crash point", "crash points") + ", " +
                     counted(seeds, "seed", "seeds") + "), " + counted(requests, "request", "requests") + ", " +
                     counted(faults, "fault", "faults") + ": " +
                     (findings.empty() ? "nothing found" : counted(findings.size(), "finding", "findings")) + "\n";
  if (!stopped.empty()) text += "stopped: " + stopped + "\n";
  for (const SimulationFinding& finding : findings) text += "\n" + finding.to_string();
  if (!findings.empty() && !findings.front().log.empty()) {
    text += "\nthe end of " + findings.front().run.to_string() + ":\n";
    for (const std::string& line : findings.front().log) text += "  " + line + "\n";
  }
  if (!repeated_activities.empty()) text += "\nactivities that ran more than once for one schedule:\n";
  for (const RepeatedActivity& activity : repeated_activities) text += "  " + activity.to_string() + "\n";
  return text;
}

std::ostream& operator<<(std::ostream& out, const SimulationResult& result) {
  return out << result.to_string();
}

}  // namespace perdure::testing
