// Weather: the faults of a storm. Each kind begins and ends by its own dice, so that several are under way at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "counts.h"
#include "crew.h"
#include "excuses.h"
#include "options.h"
#include "testing/dice.h"
#include "world.h"

namespace perdure::test::storm {

class Weather {
 public:
  using SteadyClock = std::chrono::steady_clock;

  Weather(const Options& options, World& world, Crew& crew, Excuses& excuses, Counts& counts);
  Weather(const Weather&) = delete;
  Weather& operator=(const Weather&) = delete;

  // Often. Begins faults only if `may_begin`; ends those that are old enough in any case.
  void blow(SteadyClock::time_point now, bool may_begin);
  [[nodiscard]] bool is_calm() const;

 private:
  struct Range {
    std::size_t least = 0;  // milliseconds
    std::size_t most = 0;
  };
  struct Kind {
    Range pause;   // between the end of one and the beginning of the next
    Range length;  // most is 0: it ends at once
    std::function<void()> begin;
    std::function<void()> end;
    bool under_way = false;
    SteadyClock::time_point next{};  // its beginning, or its end
  };

  void add(Range pause, Range length, std::function<void()> begin, std::function<void()> end = {});
  [[nodiscard]] SteadyClock::time_point draw(SteadyClock::time_point now, Range range);
  // Wraps a fault that concerns everybody in its excuse.
  void add_for_everybody(const char* excuse, Range pause, Range length, std::function<void()> begin,
                         std::function<void()> end);

  void add_clock_steps();
  void add_silences(const Options& options);
  void add_full_volumes();
  void add_cuts();
  void add_faults_of_nodes();
  void go_silent();
  void end_silence();
  void begin_rough_time();
  void end_rough_time();

  World& world_;
  Crew& crew_;
  Excuses& excuses_;
  Counts& counts_;
  testing::Dice dice_;
  std::vector<Kind> kinds_;
  Milliseconds ahead_{0};  // the server's clock
  enum class Silent { kNothing, kFront, kBack, kPooler } silent_ = Silent::kNothing;
  CuttingProxy* rough_ = nullptr;
  SteadyClock::time_point silent_since_{};
};

}  // namespace perdure::test::storm
