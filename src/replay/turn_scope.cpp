#include "replay/turn_scope.h"

#include <utility>

namespace perdure {

namespace {
thread_local TurnScope* t_scope = nullptr;
}

TurnScope::TurnScope(const std::string& instance, const std::string& orchestration, Phase phase) noexcept
    : instance_(&instance), orchestration_(&orchestration), phase_(phase), previous_(std::exchange(t_scope, this)) {}

TurnScope::~TurnScope() {
  t_scope = previous_;
}

TurnScope* TurnScope::current() noexcept {
  return t_scope;
}

void TurnScope::refuse(std::string reason) {
  if (refusal_.empty()) refusal_ = std::move(reason);
}

OutsideTurn::OutsideTurn() noexcept : left_(std::exchange(t_scope, nullptr)) {}

OutsideTurn::~OutsideTurn() {
  t_scope = left_;
}

}  // namespace perdure
