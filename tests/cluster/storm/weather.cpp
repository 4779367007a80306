#include "weather.h"

#include <algorithm>
#include <utility>

namespace perdure::test::storm {

using testing::cluster::kClockStep;
using testing::cluster::kEveryNode;
using testing::cluster::kFullVolume;
using testing::cluster::kLostStore;

Weather::Weather(const Options& options, World& world, Crew& crew, Excuses& excuses, Counts& counts)
    : world_(world), crew_(crew), excuses_(excuses), counts_(counts), dice_(options.seed) {
  add_clock_steps();
  add_silences(options);
  add_full_volumes();
  add_cuts();
  add_faults_of_nodes();
  const auto now = SteadyClock::now();
  for (Kind& kind : kinds_) kind.next = draw(now, {.least = 0, .most = kind.pause.most});
}

void Weather::add(Range pause, Range length, std::function<void()> begin, std::function<void()> end) {
  kinds_.push_back({.pause = pause, .length = length, .begin = std::move(begin), .end = std::move(end)});
}

void Weather::add_for_everybody(const char* excuse, Range pause, Range length, std::function<void()> begin,
                                std::function<void()> end) {
  add(
      pause, length,
      [this, excuse, begin = std::move(begin)] {
        excuses_.begin(kEveryNode, excuse);
        begin();
      },
      [this, excuse, end = std::move(end)] {
        end();
        excuses_.end(kEveryNode, excuse, SteadyClock::now());
      });
}

Weather::SteadyClock::time_point Weather::draw(SteadyClock::time_point now, Range range) {
  return now + std::chrono::milliseconds(dice_.between(range.least, range.most));
}

void Weather::blow(SteadyClock::time_point now, bool may_begin) {
  for (Kind& kind : kinds_) {
    if (now < kind.next) continue;
    if (kind.under_way) {
      kind.end();
      kind.under_way = false;
      kind.next = draw(now, kind.pause);
    } else if (may_begin) {
      kind.begin();
      kind.under_way = true;
      kind.next = draw(now, kind.length);
    }
  }
  const auto under_way = std::count_if(kinds_.begin(), kinds_.end(), [](const Kind& kind) { return kind.under_way; });
  counts_.most_at_once = std::max(counts_.most_at_once, static_cast<std::size_t>(under_way) + crew_.standing_still());
}

bool Weather::is_calm() const {
  return crew_.standing_still() == 0 &&
         std::none_of(kinds_.begin(), kinds_.end(), [](const Kind& kind) { return kind.under_way; });
}

// ---- the server ----------------------------------------------------------------------------------------------------

// A step back is an excuse too: each node may make one call with the earlier time before it notices.
void Weather::add_clock_steps() {
  constexpr std::size_t kSmall = 10'000;
  constexpr std::size_t kLarge = 600'000;
  const auto step = [this] {
    const std::size_t range = dice_.chance(70) ? kSmall : kLarge;
    const Milliseconds ahead{static_cast<Milliseconds::rep>(dice_.below(2 * range + 1)) -
                             static_cast<Milliseconds::rep>(range)};
    world_.set_clock(ahead);
    ++(ahead > ahead_ ? counts_.steps_forward : counts_.steps_back);
    ahead_ = ahead;
  };
  add_for_everybody(kClockStep, {.least = 500, .most = 5'000}, {}, step, [] {});
}

void Weather::add_silences(const Options& options) {
  add_for_everybody(
      kLostStore, {.least = 3'000, .most = 15'000},
      {.least = 1'000 * options.silence_least, .most = 1'000 * options.silence_most}, [this] { go_silent(); },
      [this] { end_silence(); });
}

void Weather::go_silent() {
  silent_ = dice_.one_of({Silent::kFront, Silent::kBack, Silent::kPooler});
  if (silent_ == Silent::kFront) world_.front().go_silent();
  if (silent_ == Silent::kBack) world_.back().go_silent();
  if (silent_ == Silent::kPooler) world_.pooler().stand_still();
  silent_since_ = SteadyClock::now();
  ++counts_.silences;
}

// A rough time of the same proxy ends too.
void Weather::end_silence() {
  if (silent_ == Silent::kPooler) world_.pooler().go_on();
  const Silent what = std::exchange(silent_, Silent::kNothing);
  if (what == Silent::kFront) world_.front().pass_everything();
  if (what == Silent::kBack) world_.back().pass_everything();
  counts_.silent_seconds += std::chrono::duration<double>(SteadyClock::now() - silent_since_).count();
}

void Weather::add_full_volumes() {
  const auto fill = [this] {
    world_.volume().fill();
    ++counts_.full_volumes;
  };
  add_for_everybody(kFullVolume, {.least = 4'000, .most = 15'000}, {.least = 2'000, .most = 10'000}, fill,
                    [this] { world_.volume().free(); });
}

// ---- the way to it -------------------------------------------------------------------------------------------------

void Weather::add_cuts() {
  const auto cut_all = [this] {
    (dice_.chance(50) ? world_.front() : world_.back()).cut_all();
    ++counts_.cut_alls;
  };
  add_for_everybody(kLostStore, {.least = 2'000, .most = 12'000}, {}, cut_all, [] {});
  add_for_everybody(
      kLostStore, {.least = 5'000, .most = 20'000}, {.least = 2'000, .most = 8'000}, [this] { begin_rough_time(); },
      [this] { end_rough_time(); });
  const auto restart_pooler = [this] {
    if (silent_ == Silent::kPooler) return;  // which it would end
    world_.pooler().restart();
    ++counts_.pooler_restarts;
  };
  add_for_everybody(kLostStore, {.least = 8'000, .most = 30'000}, {}, restart_pooler, [] {});
}

void Weather::begin_rough_time() {
  rough_ = dice_.chance(50) ? &world_.front() : &world_.back();
  if (dice_.chance(50)) {
    rough_->cut_after_bytes(dice_.next(), 2'000, 100'000);
  } else {
    rough_->lose_answers(dice_.next(), 3);
  }
  ++counts_.rough_times;
}

void Weather::end_rough_time() {
  rough_->pass_everything();  // which would end a silence too
  if (silent_ == Silent::kFront) world_.front().go_silent();
  if (silent_ == Silent::kBack) world_.back().go_silent();
}

// ---- nodes ---------------------------------------------------------------------------------------------------------

void Weather::add_faults_of_nodes() {
  add({.least = 1'000, .most = 8'000}, {}, [this] { crew_.kill_one(dice_); }, [] {});
  const auto stop = [this] { crew_.stop_one(dice_, draw(SteadyClock::now(), {.least = 500, .most = 15'000})); };
  add({.least = 1'000, .most = 8'000}, {}, stop, [] {});
  add({.least = 5'000, .most = 20'000}, {}, [this] { crew_.ask_one_to_end(dice_, SteadyClock::now()); }, [] {});
}

}  // namespace perdure::test::storm
