#include "testing/environment/driver.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

#include <perdure/memory_provider.h>
#include "providers/times.h"

namespace perdure::testing {

namespace {

// For what a node does from time to time although nothing has changed: the longest that its options allow.
constexpr Milliseconds kRarely = std::chrono::hours(24 * 3'650);
// What is due later than this never is: only locks that were given out for kLongestLock are.
constexpr Milliseconds kFarthest = kLongestLock / 2;
// Between two looks for an outcome that another thread brings.
constexpr std::chrono::microseconds kBetweenLooks{200};

// A log counts nanoseconds, which end in the year 2262.
constexpr Timestamp kLastOfLog{std::chrono::sys_days(std::chrono::year(2262) / 1 / 1)};

LogClock log_clock(const std::shared_ptr<VirtualClock>& clock) {
  return [clock]() -> std::chrono::system_clock::time_point { return std::min(clock->now(), kLastOfLog); };
}

TestOptions completed(TestOptions options, const std::shared_ptr<VirtualClock>& clock,
                      const std::shared_ptr<CapturingLogSink>& log) {
  RuntimeOptions& node = options.runtime;
  node.clock = clock;
  node.logger = Logger(log);
  node.long_poll_timeout = kRarely;
  node.session_cleanup_interval = kRarely;
  node.gauge_poll_interval = kRarely;
  node.check();
  if (options.max_steps == 0) throw std::invalid_argument("TestOptions::max_steps must be at least 1");
  return options;
}

std::string name_of(const OpenWork& work) {
  return "activity '" + work.name + "' of instance '" + work.identity.instance + "'";
}

}  // namespace

Driver::Driver(Registry code, TestOptions options)
    : clock_(std::make_shared<VirtualClock>(options.start)),
      log_(std::make_shared<CapturingLogSink>(LogLevel::kTrace, CapturingLogSink::kDefaultCapacity, log_clock(clock_))),
      outside_(std::make_shared<OutsideStore>(
          make_memory_provider({.clock = clock_, .logger = Logger(log_), .metrics = options.runtime.metrics}), clock_)),
      store_(outside_),
      watched_(std::make_shared<WatchedStore>(store_)),
      client_(store_, {.limits = options.runtime.limits, .logger = Logger(log_)}),
      dice_(options.seed),
      desk_(*clock_, plan_) {
  options_ = completed(std::move(options), clock_, log_);
  desk_.use_code(std::move(code));
  clock_->drive_with([this](Timestamp deadline) { drive(deadline); });
}

Driver::~Driver() {
  clock_->drive_with({});
  desk_.stop_open_calls();
  clock_->jump_to(shifted(now(), kFarthest));  // other threads that wait on the store have waited for long enough
}

void Driver::use_mock(const Registry& mock) {
  check_thread();
  if (desk_.use_mock(mock)) code_has_grown_ = true;
}

void Driver::plan(Timestamp at, std::function<void()> function) {
  check_thread();
  if (!function) throw std::invalid_argument("an empty function was planned; there is nothing to call");
  plan_.add(at, {.function = std::move(function), .owner = desk_.current(), .comes_first = at > now()});
}

// ---- calls of the test ---------------------------------------------------------------------------------------------

void Driver::check_thread() const {
  if (clock_->on_driving_thread()) return;
  throw std::logic_error(
      "a TestEnvironment must be used by the thread that created it; other threads may use its client");
}

void Driver::begin_call() {
  check_thread();
  steps_ = 0;
}

OrchestrationStatus Driver::wait(const std::string& instance) {
  begin_call();
  while (true) {
    OrchestrationStatus status = client_.get_orchestration_status(instance);
    if (status.ended()) return status;
    if (!proceed(Timestamp::max())) throw Stalled(describe_stall(client_, instance, scene()));
  }
}

void Driver::advance(Milliseconds by) {
  begin_call();
  if (by.count() < 0) {
    throw std::invalid_argument("time does not go back: advance() was called with " + std::to_string(by.count()) +
                                " ms");
  }
  const Timestamp end = shifted(now(), by);
  while (proceed(end)) {
  }
  clock_->jump_to(end);
}

void Driver::drive(Timestamp deadline) {
  if (std::exchange(driven_until_, deadline) != deadline) steps_ = 0;
  if (proceed(deadline)) return;
  if (deadline == Timestamp::max()) {
    throw Stalled("a wait on the store has no deadline, and no event is left that could end it");
  }
  clock_->jump_to(deadline);
}

// ---- what happens --------------------------------------------------------------------------------------------------

bool Driver::proceed(Timestamp limit) {
  if (++steps_ > options_.max_steps) {
    throw Stalled("events still occur after " + std::to_string(options_.max_steps) + " steps, at " +
                  to_text(now() - options_.start) +
                  "; check for a workflow that loops forever, or raise TestOptions::max_steps");
  }
  if (work() || await_other_threads()) return true;
  const Timestamp next = next_moment(limit);
  if (next > limit || next == Timestamp::max()) return false;
  clock_->jump_to(next);
  return true;
}

bool Driver::work() {
  if (const auto planned = plan_.take_due(now())) {
    make_planned_call(*planned);
    return true;
  }
  ensure_node();
  watched_->forget_waits();
  const std::size_t possible = choices();
  if (possible == 0) return false;
  step(options_.seed == 0 ? 0 : dice_.below(possible));
  return true;
}

void Driver::make_planned_call(const Plan::Entry& planned) {
  struct Restored {
    Restored(OutsideStore& of, std::optional<Timestamp> moment) : store(of), before(of.set_planned_moment(moment)) {}
    Restored(const Restored&) = delete;
    Restored& operator=(const Restored&) = delete;
    ~Restored() { store.set_planned_moment(before); }
    OutsideStore& store;
    std::optional<Timestamp> before;  // the call may be made during another one
  };
  const Restored restored(*outside_, planned.comes_first ? std::optional(now()) : std::nullopt);
  desk_.run_as(planned.owner, planned.function);
}

std::size_t Driver::choices() {
  std::size_t sum = 0;
  for (const auto& node : nodes_) sum += node->choices();
  return sum;
}

void Driver::step(std::size_t choice) {
  struct Guard {
    explicit Guard(std::size_t& count) : depth(count) { ++depth; }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { --depth; }
    std::size_t& depth;
  };
  for (const auto& node : nodes_) {
    const std::size_t possible = node->choices();
    if (choice < possible) {
      const Guard guard(stepping_);
      node->step(choice);
      break;
    }
    choice -= possible;
  }
  if (dying_ && stepping_ == 0) die();
}

bool Driver::await_other_threads() {
  if (under_way_on_other_threads().empty()) return false;
  const auto patience_ends = std::chrono::steady_clock::now() + options_.patience;
  while (choices() == 0) {
    if (std::chrono::steady_clock::now() >= patience_ends) {
      std::string names;
      for (const OpenWork& work : under_way_on_other_threads()) names += (names.empty() ? "" : ", ") + name_of(work);
      throw Stalled("not completed within " + std::to_string(options_.patience.count()) +
                    " ms of real time (TestOptions::patience): " + names +
                    ". Virtual time does not pass while another thread may still complete an activity; for one that "
                    "takes virtual time see set_activity_duration()");
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return true;
}

std::vector<OpenWork> Driver::under_way_on_other_threads() {
  std::vector<OpenWork> open = watched_->open_work();
  // An activity that has planned something waits for virtual time, and so does one whose code waits for a workflow.
  std::erase_if(
      open, [this](const OpenWork& work) { return plan_.has_of(work.identity) || desk_.is_running(work.identity); });
  return open;
}

// ---- time ----------------------------------------------------------------------------------------------------------

Timestamp Driver::next_moment(Timestamp limit) {
  const Timestamp farthest = shifted(now(), kFarthest);
  const Timestamp due = std::min(next_moment_of_store(), plan_.next());
  const std::vector<OpenWork> open = watched_->open_work();
  const bool has_deadline =
      std::any_of(open.begin(), open.end(), [](const OpenWork& work) { return work.has_deadline; });
  // The renewal of locks alone is not progress to wait for.
  if (due >= farthest && !has_deadline && limit >= farthest) return Timestamp::max();
  Timestamp next = due;
  for (const auto& node : nodes_) {
    if (const Timestamp wake = node->wake_at(); wake > now()) next = std::min(next, wake);
  }
  return next >= farthest ? Timestamp::max() : next;
}

Timestamp Driver::next_moment_of_store() {
  const WorkWait waits = watched_->waits();
  const auto sleep =
      clock_->sleep_of([&] { static_cast<void>(store_->wait_for_work(waits, Timestamp::max()).value()); });
  return sleep.value_or(now());  // another thread has just sent something
}

StallScene Driver::scene() {
  StallScene scene{.start = options_.start, .now = now(), .tags = options_.runtime.worker_tag_filter, .under_way = {}};
  for (const OpenWork& work : watched_->open_work()) scene.under_way.insert(work.identity);
  return scene;
}

// ---- processes -----------------------------------------------------------------------------------------------------

void Driver::ensure_node() {
  if (stepping_ > 0) return;
  if (nodes_.size() > 1) {
    std::erase_if(nodes_, [&](const auto& node) { return node != nodes_.back() && node->idle(); });
  }
  if (!nodes_.empty() && !code_has_grown_) return;
  code_has_grown_ = false;
  if (!nodes_.empty()) nodes_.back()->drain();
  RuntimeOptions options = options_.runtime;
  // Not a random one: all nodes of a process own its sessions.
  if (options.worker_node_id.empty()) options.worker_node_id = "test-process-" + std::to_string(processes_);
  nodes_.push_back(std::make_unique<SteppedNode>(watched_, desk_.registry(), options, dice_.next()));
}

void Driver::restart(std::optional<Registry> code) {
  check_thread();
  if (stepping_ > 1 || (stepping_ == 1 && desk_.depth() > 1)) {
    throw std::logic_error("restart() was called while an activity waits for a workflow; let it return first");
  }
  if (code) {
    code->check();
    next_code_ = std::move(code);
  }
  dying_ = true;
  if (stepping_ == 0) die();
}

void Driver::die() {
  dying_ = false;
  watched_->let_locks_end(options_.runtime.worker_lock_timeout);
  plan_.disown();
  desk_.stop_open_calls();
  nodes_.clear();
  ++processes_;
  if (next_code_) desk_.use_code(*std::exchange(next_code_, std::nullopt));
}

}  // namespace perdure::testing
