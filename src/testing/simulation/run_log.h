// RunLog: what happened in a simulated run, a line each. Off unless somebody wants to read it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <perdure/types.h>

namespace perdure::testing::simulation {

class RunLog {
 public:
  RunLog(bool on, Timestamp start) : on_(on), start_(start) {}

  [[nodiscard]] bool on() const noexcept { return on_; }
  // Who is acting: lines until the next call are about them.
  void begin(std::string actor) { actor_ = std::move(actor); }
  void add(Timestamp now, const std::string& text);
  [[nodiscard]] const std::vector<std::string>& lines() const noexcept { return lines_; }

 private:
  bool on_;
  Timestamp start_;
  std::string actor_;
  std::vector<std::string> lines_;
};

}  // namespace perdure::testing::simulation
