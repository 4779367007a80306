#include "testing/determinism_guard/reporting.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "testing/determinism_guard/call_stack.h"
#include "testing/determinism_guard/collected.h"

namespace perdure::testing {

namespace {

// Never destroyed: calls are watched until the process is gone.
struct Receivers {
  std::mutex mutex;
  std::vector<std::shared_ptr<DeterminismGuard::Collected>> collectors;  // the youngest last
  std::vector<std::string> allowed;
};

Receivers& receivers() {
  static auto& instance = *new Receivers;
  return instance;
}

bool is_allowed(const std::vector<std::string>& stack, const std::vector<std::string>& allowed) {
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& text) {
    return std::any_of(stack.begin(), stack.end(),
                       [&](const std::string& line) { return line.find(text) != std::string::npos; });
  });
}

class KeepErrno {
 public:
  KeepErrno() noexcept : value_(errno) {}
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;
  ~KeepErrno() { errno = value_; }

 private:
  int value_;
};

}  // namespace

void add_collector(std::shared_ptr<DeterminismGuard::Collected> collector) {
  auto& all = receivers();
  const std::lock_guard lock(all.mutex);
  all.collectors.push_back(std::move(collector));
}

void remove_collector(const std::shared_ptr<DeterminismGuard::Collected>& collector) {
  auto& all = receivers();
  const std::lock_guard lock(all.mutex);
  std::erase(all.collectors, collector);
}

void allow_stacks_with(std::string_view text) {
  auto& all = receivers();
  const std::lock_guard lock(all.mutex);
  all.allowed.emplace_back(text);
}

void report_call(TurnScope& turn, const char* function, CallClass call_class, const void* return_address) noexcept {
  const KeepErrno keep;
  CallStack stack = stack_of_call(return_address);
  if (stack.made_by_allocator) return;
  auto& all = receivers();
  const std::lock_guard lock(all.mutex);
  if (is_allowed(stack.lines, all.allowed)) return;
  NondeterministicCall call{function, call_class, turn.instance(), turn.orchestration(), std::move(stack.lines)};
  if (!all.collectors.empty()) return all.collectors.back()->add(std::move(call));
  if (turn.phase() == TurnScope::Phase::kRunning) return turn.refuse(describe(call));
  std::fprintf(stderr, "%s\n", describe(call).c_str());
}

}  // namespace perdure::testing
