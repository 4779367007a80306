#include <perdure/testing/determinism_guard.h>

#include <stdexcept>

#include "testing/determinism_guard/collected.h"
#include "testing/determinism_guard/reporting.h"
#include "testing/determinism_guard/watched.h"

namespace perdure::testing {

namespace {

const char* way_out(CallClass call_class) noexcept {
  switch (call_class) {
    case CallClass::kClock:
      return "ask the context for the time with utc_now()";
    case CallClass::kRandom:
      return "ask the context with random() or new_guid()";
    case CallClass::kSleep:
      return "await a schedule_timer() of the context";
    case CallClass::kThread:
      return "run operations concurrently with several futures and join, and use threads only in activities";
    case CallClass::kProcess:
    case CallClass::kSocket:
    case CallClass::kFile:
      return "do it in an activity";
  }
  return "do it in an activity";
}

}  // namespace

std::string_view to_string(CallClass call_class) noexcept {
  switch (call_class) {
    case CallClass::kClock:
      return "clock";
    case CallClass::kRandom:
      return "random";
    case CallClass::kSleep:
      return "sleep";
    case CallClass::kThread:
      return "thread";
    case CallClass::kProcess:
      return "process";
    case CallClass::kSocket:
      return "socket";
    case CallClass::kFile:
      return "file";
  }
  return "unknown";
}

std::string describe(const NondeterministicCall& call) {
  std::string text = "the code called " + call.function + " (" + std::string(to_string(call.call_class)) +
                     ") inside a turn, and a replay would get another result (instance '" + call.instance +
                     "', orchestration '" + call.orchestration + "'): " + way_out(call.call_class) + ". Called by";
  for (const std::string& line : call.stack) text += "\n  " + line;
  return text;
}

DeterminismGuard::DeterminismGuard() : collected_(std::make_shared<Collected>()) {
  if (!calls_are_watched()) {
    throw std::logic_error(
        "the determinism guard is linked, but libraries do not use it; link the program dynamically, without options "
        "that hide the symbols of static libraries (--exclude-libs)");
  }
  add_collector(collected_);
}

DeterminismGuard::~DeterminismGuard() {
  remove_collector(collected_);
}

std::vector<NondeterministicCall> DeterminismGuard::reports() const {
  return collected_->calls();
}

void DeterminismGuard::clear() {
  collected_->clear();
}

void DeterminismGuard::allow(std::string_view in_stack) {
  if (in_stack.empty()) {
    throw std::invalid_argument("DeterminismGuard::allow of an empty text would allow everything; name a function");
  }
  allow_stacks_with(in_stack);
}

}  // namespace perdure::testing
