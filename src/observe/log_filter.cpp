// Thresholds per target, and the comma list that sets them from outside.
#include <algorithm>
#include <cstddef>

#include <perdure/log.h>

namespace perdure {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kLevelNames = "trace, debug, info, warn, error or off";

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// One entry of the list: a bare level has an empty target; a bad entry has a problem and nothing else of use.
struct Directive {
  std::string target;
  LogLevel level = LogLevel::kOff;
  std::string problem;
};

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

Directive bad(std::string_view entry, const std::string& why) {
  return {{}, LogLevel::kOff, quoted(entry) + " " + why};
}

Directive parse_directive(std::string_view entry) {
  const std::size_t equals = entry.find('=');
  const bool bare = equals == std::string_view::npos;
  const std::string_view target = bare ? std::string_view{} : trimmed(entry.substr(0, equals));
  const std::string_view name = bare ? entry : trimmed(entry.substr(equals + 1));
  if (!bare && target.empty()) return bad(entry, "has no target before '='");
  if (target.find_first_of(kBlanks) != std::string_view::npos) return bad(entry, "has a blank inside its target");
  const std::optional<LogLevel> level = parse_log_level(name);
  if (level) return {std::string(target), *level, {}};
  if (bare) return bad(entry, "is neither a level (" + std::string(kLevelNames) + ") nor target=level");
  return bad(entry, "names the level " + quoted(name) + ", which is none of " + std::string(kLevelNames));
}

std::vector<Directive> parse_directives(std::string_view list) {
  std::vector<Directive> directives;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view entry = trimmed(list.substr(0, comma));
    if (!entry.empty()) directives.push_back(parse_directive(entry));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return directives;
}

bool covers(std::string_view filter_target, std::string_view target) noexcept {
  if (!target.starts_with(filter_target)) return false;
  const std::string_view rest = target.substr(filter_target.size());
  return rest.empty() || rest.starts_with("::");
}

}  // namespace

LogFilter::LogFilter() : LogFilter(LogLevel::kWarn) {
  set(std::string(log_target::kOrchestration), LogLevel::kInfo);
  set(std::string(log_target::kActivity), LogLevel::kInfo);
}

LogFilter::LogFilter(LogLevel minimum) : minimum_(minimum) {}

LogFilter& LogFilter::set(std::string target, LogLevel minimum) {
  const auto same = std::ranges::find(targets_, target, &std::pair<std::string, LogLevel>::first);
  if (same != targets_.end()) {
    same->second = minimum;
  } else {
    targets_.emplace_back(std::move(target), minimum);
  }
  return *this;
}

std::vector<std::string> LogFilter::apply(std::string_view directives) {
  const std::vector<Directive> parsed = parse_directives(directives);
  std::vector<std::string> problems;
  for (const Directive& directive : parsed) {
    if (!directive.problem.empty()) {
      problems.push_back(directive.problem);
    } else if (directive.target.empty()) {
      minimum_ = directive.level;
      targets_.clear();
    }
  }
  for (const Directive& directive : parsed) {
    if (directive.problem.empty() && !directive.target.empty()) set(directive.target, directive.level);
  }
  return problems;
}

bool LogFilter::enabled(LogLevel level, std::string_view target) const noexcept {
  if (level == LogLevel::kOff) return false;
  LogLevel threshold = minimum_;
  std::size_t longest = 0;
  for (const auto& [filter_target, minimum] : targets_) {
    if (filter_target.size() >= longest && covers(filter_target, target)) {
      longest = filter_target.size();
      threshold = minimum;
    }
  }
  return level >= threshold;
}

}  // namespace perdure
