// For tests of damage: a store that can spoil its own events.
#pragma once

#include <string>

namespace perdure {

class HistoryDamage {
 public:
  // Overwrites the events of the instance's current execution with bytes that nobody can decode.
  virtual void damage_history(const std::string& instance) = 0;

 protected:
  ~HistoryDamage() = default;
};

}  // namespace perdure
