#include "cli/bench/run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <perdure/perdure.h>
#include "ceiling/load.h"
#include "cli/bench/flight.h"
#include "cli/bench/measuring_store.h"
#include "cli/bench/place.h"
#include "cli/bench/process_use.h"
#include "cli/bench/report.h"
#include "cli/bench/workloads.h"
#include "percentile.h"

namespace perdure::cli::bench {

namespace {

constexpr double kLongestWarmUp = 1;
constexpr double kWarmUpPart = 0.2;    // of the time that is measured
constexpr double kLongestBareRun = 1;  // of each of the two
// So many clients may wait on the store itself; more would wake each other.
constexpr std::size_t kMostWaitingClients = 16;
// What the SQLite store puts into one transaction at most.
constexpr std::size_t kMostStepsOfACommit = 1'024;
constexpr std::size_t kStarters = 16;  // idle: threads that start instances

// What the process and the database have used up to now.
struct Used {
  double cpu_seconds = 0;
  std::uint64_t steps = 0;
  std::uint64_t write_transactions = 0;
  std::optional<double> server_cpu_seconds;
  std::optional<std::uint64_t> round_trips;
};

class Bench {
 public:
  Bench(const Options& options, Place& place, std::ostream& progress, const Interrupt& interrupt)
      : options_(options),
        workload_(workload_named(options.workload)),
        place_(place),
        progress_(progress),
        interrupt_(interrupt),
        store_(std::make_shared<MeasuringStore>(place.open(),
                                                [this](const MeasuringStore::Committed& turn) { committed(turn); })),
        client_(store_),
        runtime_(store_, make_registry(options, steps_), runtime_options(options)) {}

  Figures run_load() {
    if (workload_.is("signals")) start_workflow(client_, options_, kReceiver);
    const double warm_up = std::min(kLongestWarmUp, kWarmUpPart * options_.seconds);
    progress_ << "warming up\n";
    const Measured warm = measure(warm_up, "warm");
    progress_ << "measuring the raw database\n";
    const Floor floor = measure_floor(warm);
    progress_ << "running " << workload_.name << " for " << options_.seconds << " s\n";
    const Measured measured = measure(options_.seconds, "run");
    return load_figures(about(), measured, floor);
  }

  Figures run_idle() {
    progress_ << "starting " << options_.instances << " instances\n";
    const double before = resident_bytes();
    std::atomic<std::size_t> next = 0;
    (void)fly(kStarters, 0, interrupt_.requested(), [&](std::size_t, std::size_t) {
      for (std::size_t i = next++; i < options_.instances && !interrupt_.requested(); i = next++) {
        start_workflow(client_, options_, "idle-" + std::to_string(i));
      }
    });
    interrupt_.throw_if_requested();
    turns_.wait(options_.instances, patience(), "the first turns of the instances");
    const double instance_bytes = std::max(0.0, resident_bytes() - before) / static_cast<double>(options_.instances);
    progress_ << "watching them for " << options_.seconds << " s\n";
    (void)store_->take();
    const Used begin = used();
    const auto start = std::chrono::steady_clock::now();
    rest(start + std::chrono::duration<double>(options_.seconds));
    Measured measured = since(begin);
    measured.flown.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return idle_figures(about(), measured, instance_bytes);
  }

 private:
  static RuntimeOptions runtime_options(const Options& options) {
    RuntimeOptions runtime;
    runtime.worker_concurrency = options.workers;
    runtime.orchestration_concurrency = options.turns;
    runtime.max_locked_instances = std::max(runtime.max_locked_instances, options.in_flight);
    runtime.fast_path = options.fast_path;
    return runtime;
  }

  void committed(const MeasuringStore::Committed& turn) {
    if (workload_.is("idle")) {
      turns_.done(1);
    } else if (turn.signals > 0) {
      turns_.done(turn.signals);
    }
    if (turn.status) ends_.ended(turn.instance, *turn.status);
  }

  [[nodiscard]] About about() const {
    return {.options = options_, .store = place_.description(), .observed_by_client = observed_by_client()};
  }

  [[nodiscard]] bool observed_by_client() const noexcept {
    return options_.in_flight <= kMostWaitingClients && !workload_.is("signals");
  }

  [[nodiscard]] Milliseconds patience() const {
    constexpr std::size_t kMinute = 60'000;
    constexpr std::size_t kStep = 100;
    const std::size_t parts = options_.steps + *options_.width + options_.instances;
    return Milliseconds(static_cast<Milliseconds::rep>(kMinute + parts * (kStep + *options_.delay_ms)));
  }

  // One workflow from its start to its end; one signal until it is consumed.
  void fly_one(const std::string& instance) {
    if (workload_.is("signals")) {
      const std::uint64_t number = turns_.next();
      send_signal(client_);
      turns_.wait(number, patience(), "signals");
    } else if (observed_by_client()) {
      start_workflow(client_, options_, instance);
      const OrchestrationStatus status = client_.wait_for_orchestration(instance, patience());
      if (!status.completed()) throw std::runtime_error("workflow '" + instance + "': " + status.error_text());
    } else {
      ends_.expect(instance);
      start_workflow(client_, options_, instance);
      ends_.wait(instance, patience());
    }
  }

  [[nodiscard]] Used used() {
    Used now;
    now.write_transactions = place_.write_transactions();
    now.round_trips = place_.round_trips();
    now.server_cpu_seconds = place_.server_cpu_seconds();
    now.steps = steps_;
    now.cpu_seconds = cpu_seconds();
    return now;
  }

  [[nodiscard]] Measured since(const Used& begin) {
    Measured measured;
    measured.seen = store_->take();
    const Used end = used();
    measured.steps = static_cast<double>(end.steps - begin.steps);
    measured.commits = static_cast<double>(end.write_transactions - begin.write_transactions);
    measured.resident_bytes = resident_bytes();
    measured.cpu_us = (end.cpu_seconds - begin.cpu_seconds) * 1e6;
    if (end.server_cpu_seconds) {
      measured.server_cpu_us = (*end.server_cpu_seconds - begin.server_cpu_seconds.value_or(0)) * 1e6;
    }
    if (end.round_trips) {
      measured.round_trips = static_cast<double>(*end.round_trips - begin.round_trips.value_or(0));
    }
    return measured;
  }

  [[nodiscard]] Measured measure(double seconds, const std::string& name) {
    (void)store_->take();
    const Used begin = used();
    Flown flown = fly(options_.in_flight, seconds, interrupt_.requested(), [&](std::size_t seat, std::size_t number) {
      fly_one(name + "-" + std::to_string(seat) + "-" + std::to_string(number));
    });
    interrupt_.throw_if_requested();
    Measured measured = since(begin);
    measured.flown = std::move(flown);
    return measured;
  }

  // A commit of as many bytes as a step has here; without activities, as a turn has.
  [[nodiscard]] Floor measure_floor(const Measured& warm) {
    constexpr std::size_t kMostBytes = std::size_t{64} << 20U;  // that the instances of the bare database weigh
    const MeasuringStore::Written& written = warm.seen.written;
    const double units = std::max(1.0, warm.steps > 0 ? warm.steps : static_cast<double>(written.turns));
    const auto per_unit = [units](std::uint64_t bytes) {
      return static_cast<std::size_t>(static_cast<double>(bytes) / units);
    };
    ceiling::Load load;
    load.shape = "fused";
    load.batch =
        std::clamp<std::size_t>(options_.in_flight * workload_.activities_at_once(options_), 1, kMostStepsOfACommit);
    load.events_bytes = per_unit(written.event_bytes + written.events * ceiling::kPackingBytes);
    load.message_bytes = per_unit(written.message_bytes);
    const std::size_t weight = std::max<std::size_t>(1, load.events_bytes + load.message_bytes);
    load.instances = std::max(load.batch, std::min(load.instances, kMostBytes / weight));
    load.seconds = std::min(kLongestBareRun, options_.seconds);
    load.stop = &interrupt_.requested();
    Floor floor;
    floor.batch = load.batch;
    floor.commit_p50_us = ::bench::percentile(place_.bare_commits(load), 0.5);
    floor.ceiling_steps_per_s = place_.bare_steps(load).steps_per_second();
    interrupt_.throw_if_requested();
    return floor;
  }

  void rest(std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>> until) const {
    constexpr std::chrono::duration<double> kLook(0.2);
    while (std::chrono::steady_clock::now() < until) {
      interrupt_.throw_if_requested();
      std::this_thread::sleep_until(std::min<decltype(until)>(until, std::chrono::steady_clock::now() + kLook));
    }
  }

  const Options& options_;
  const Workload& workload_;
  Place& place_;
  std::ostream& progress_;
  const Interrupt& interrupt_;
  std::atomic<std::uint64_t> steps_ = 0;
  EndBoard ends_;
  CountBoard turns_;  // idle: turns; signals: signals
  std::shared_ptr<MeasuringStore> store_;
  Client client_;
  Runtime runtime_;  // last: it uses everything above
};

}  // namespace

Figures run(const Options& options, const Context& context, const Interrupt& interrupt) {
  const std::unique_ptr<Place> place = make_place(options, context);
  Bench bench(options, *place, context.progress(), interrupt);
  return options.workload == "idle" ? bench.run_idle() : bench.run_load();
}

}  // namespace perdure::cli::bench
