// TurnScope: the mark "code of an orchestration runs on this thread now". The engine sets it around every call into
// that code and takes it off while something that is not deterministic works on the code's behalf. A determinism guard
// (<perdure/testing/determinism_guard.h>) reads it; without one nobody does.
#pragma once

#include <cstdint>
#include <string>

namespace perdure {

class TurnScope {
 public:
  enum class Phase : std::uint8_t {
    kRunning,     // what the code does counts: a refusal ends the execution
    kDestroying,  // only destructors run, and nothing that they do has an effect on the execution
  };

  // Borrows both names.
  TurnScope(const std::string& instance, const std::string& orchestration, Phase phase) noexcept;
  TurnScope(const TurnScope&) = delete;
  TurnScope& operator=(const TurnScope&) = delete;
  ~TurnScope();

  // The code that this thread is in, or null.
  [[nodiscard]] static TurnScope* current() noexcept;

  [[nodiscard]] const std::string& instance() const noexcept { return *instance_; }
  [[nodiscard]] const std::string& orchestration() const noexcept { return *orchestration_; }
  [[nodiscard]] Phase phase() const noexcept { return phase_; }

  // Says that the code did what it must not do. The engine asks when the code has come back, so the code can neither
  // catch it nor go on after it. The first reason counts.
  void refuse(std::string reason);
  [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }  // empty: none

 private:
  const std::string* instance_;
  const std::string* orchestration_;
  Phase phase_;
  std::string refusal_;
  TurnScope* previous_;
};

// Takes the mark off for a scope. src/replay is pure, so the only way out of it in a turn, the trace sink, needs one.
class OutsideTurn {
 public:
  OutsideTurn() noexcept;
  OutsideTurn(const OutsideTurn&) = delete;
  OutsideTurn& operator=(const OutsideTurn&) = delete;
  ~OutsideTurn();

 private:
  TurnScope* left_;
};

}  // namespace perdure
