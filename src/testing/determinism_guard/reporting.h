// What becomes of a watched call that was made inside a turn.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include <perdure/testing/determinism_guard.h>
#include "replay/turn_scope.h"

namespace perdure::testing {

// Who gets the reports.
void add_collector(std::shared_ptr<DeterminismGuard::Collected> collector);
void remove_collector(const std::shared_ptr<DeterminismGuard::Collected>& collector);
void allow_stacks_with(std::string_view text);

// Gives the report to the youngest guard; without one the turn is refused, and where there is nothing left to refuse,
// because the execution has ended, the report goes to standard error. `errno` stays as it is.
void report_call(TurnScope& turn, const char* function, CallClass call_class, const void* return_address) noexcept;

// One call of a watched function. Reports it when it is made inside a turn; what the function itself calls is not
// reported again.
class WatchedCall {
 public:
  WatchedCall(const char* function, CallClass call_class, const void* return_address) noexcept {
    TurnScope* const turn = TurnScope::current();
    if (!turn) return;
    outside_.emplace();
    report_call(*turn, function, call_class, return_address);
  }

 private:
  std::optional<OutsideTurn> outside_;
};

}  // namespace perdure::testing
