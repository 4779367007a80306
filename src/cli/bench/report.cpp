#include "cli/bench/report.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "cli/bench/workloads.h"
#include "percentile.h"

namespace perdure::cli::bench {

namespace {

constexpr double kKilobyte = 1'024;
constexpr double kMegabyte = 1'024 * kKilobyte;

// Nothing of nothing.
std::optional<double> percentile_of(const std::vector<double>& values, double which) {
  if (values.empty()) return std::nullopt;
  return ::bench::percentile(values, which);
}

std::optional<double> share(std::optional<double> part, double whole) {
  if (!part || whole <= 0) return std::nullopt;
  return *part / whole;
}

// An argument of the run, if the workload looks at it.
Figure::Value argument(const Options& options, std::initializer_list<std::string_view> workloads, std::size_t value) {
  const bool applies = std::find(workloads.begin(), workloads.end(), options.workload) != workloads.end();
  return applies ? Figure::Value(std::uint64_t{value}) : Figure::Value();
}

double operations(const Options& options, const Measured& measured) {
  const std::string_view operation = workload_named(options.workload).operation;
  const auto flown = static_cast<double>(measured.flown.durations_us.size());
  if (operation == "activity") return measured.steps;
  if (operation == "timer") return static_cast<double>(measured.seen.timers);
  if (operation == "child") return flown * static_cast<double>(*options.width);
  return flown;
}

Figures head(const About& about, const Measured& measured) {
  const Options& options = about.options;
  Figures figures;
  figures.add("workload", options.workload, std::string(workload_named(options.workload).about));
  figures.add("store", about.store, "");
  figures.add("sync", std::string(options.synced ? "full" : "normal"), "");
  figures.add("fast_path", options.fast_path, "");
  figures.add("in_flight", options.in_flight, "concurrently");
  figures.add("workers", options.workers, "activities that run concurrently");
  figures.add("turns", options.turns, "turns that run concurrently");
  figures.add("steps_per_workflow", argument(options, {"seq", "timers"}, options.steps), "one after the other");
  figures.add("width", argument(options, {"fan", "children", "stress"}, *options.width), "of a workflow, at once");
  figures.add("bytes", argument(options, {"payload"}, options.bytes), "of input and result");
  figures.add("instances", argument(options, {"idle"}, options.instances), "waiting");
  figures.add("delay_ms", argument(options, {"timers", "stress"}, *options.delay_ms), "of a timer or an activity");
  figures.add("seconds", measured.flown.seconds, "measured, until the last one ended");
  return figures;
}

void add_rates(Figures& figures, const About& about, const Measured& measured) {
  const double seconds = measured.flown.seconds;
  const bool one_instance = about.options.workload == "signals";
  const std::uint64_t flown = measured.flown.durations_us.size();
  const double done = operations(about.options, measured);
  figures.add("observed_by", std::string(about.observed_by_client ? "client" : "store"),
              "component that observed the end of each");
  figures.add("operation", std::string(workload_named(about.options.workload).operation), "unit of the operations");
  figures.add("workflows", one_instance ? Figure::Value() : Figure::Value(flown), "completed");
  figures.add("steps", static_cast<std::uint64_t>(measured.steps), "activities completed");
  figures.add("operations", static_cast<std::uint64_t>(done), "completed");
  figures.add_if("workflows_per_s", one_instance ? std::nullopt : share(static_cast<double>(flown), seconds), "");
  figures.add("steps_per_s", measured.steps / seconds, "");
  figures.add("operations_per_s", done / seconds, "");
}

void add_times(Figures& figures, const Measured& measured) {
  const auto add = [&figures](const char* name, const std::vector<double>& values, double which, const char* about) {
    figures.add_if(name, percentile_of(values, which), about);
  };
  add("p50_us", measured.flown.durations_us, 0.5, "of a workflow, from the call that starts it to its end");
  add("p99_us", measured.flown.durations_us, 0.99, "");
  add("step_p50_us", measured.seen.turn_gaps_us, 0.5, "between the commits of a workflow's consecutive turns");
  add("step_p99_us", measured.seen.turn_gaps_us, 0.99, "");
  add("lateness_p50_us", measured.seen.timer_lateness_us, 0.5, "of a timer");
  add("lateness_p99_us", measured.seen.timer_lateness_us, 0.99, "");
}

void add_costs(Figures& figures, const About& about, const Measured& measured) {
  const double steps = measured.steps;
  const double done = operations(about.options, measured);
  const auto bytes = static_cast<double>(measured.seen.written.bytes());
  figures.add_if("cpu_us_per_step", share(measured.cpu_us, steps), "of this process, all threads");
  figures.add_if("cpu_us_per_operation", share(measured.cpu_us, done), "");
  figures.add_if("server_cpu_us_per_step", share(measured.server_cpu_us, steps), "of the database server");
  figures.add_if("commits_per_step", share(measured.commits, steps), "write transactions, synced or not");
  figures.add_if("commits_per_operation", share(measured.commits, done), "");
  figures.add_if("round_trips_per_step", share(measured.round_trips, steps), "to the database server");
  figures.add_if("bytes_per_step", share(bytes, steps), "bodies of events, activities and messages");
  figures.add_if("bytes_per_operation", share(bytes, done), "");
  figures.add("rss_mb", measured.resident_bytes / kMegabyte, "memory of this process at the end");
}

}  // namespace

Figures load_figures(const About& about, const Measured& measured, const Floor& floor) {
  Figures figures = head(about, measured);
  add_rates(figures, about, measured);
  add_times(figures, measured);
  add_costs(figures, about, measured);
  figures.add_if("floor_commit_p50_us", floor.commit_p50_us, "one commit of the raw database with as many bytes");
  figures.add_if("ceiling_steps_per_s", floor.ceiling_steps_per_s, "of the raw database, ceiling_batch in a commit");
  figures.add("ceiling_batch", floor.batch, "activities in flight");
  std::optional<double> step;
  std::optional<double> rate;
  if (measured.steps > 0) {
    step = percentile_of(measured.seen.turn_gaps_us, 0.5);
    rate = measured.steps / measured.flown.seconds;
  }
  figures.add_if("ratio_to_floor", share(step, floor.commit_p50_us.value_or(0)), "step_p50_us / floor_commit_p50_us");
  figures.add_if("ratio_to_ceiling", share(rate, floor.ceiling_steps_per_s.value_or(0)),
                 "steps_per_s / ceiling_steps_per_s");
  return figures;
}

Figures idle_figures(const About& about, const Measured& measured, double instance_bytes) {
  Figures figures = head(about, measured);
  const double seconds = measured.flown.seconds;
  figures.add("steps", static_cast<std::uint64_t>(measured.steps), "activities completed");
  for (const char* name :
       {"workflows_per_s", "steps_per_s", "p50_us", "p99_us", "step_p50_us", "cpu_us_per_step", "commits_per_step",
        "bytes_per_step", "floor_commit_p50_us", "ceiling_steps_per_s", "ratio_to_floor", "ratio_to_ceiling"}) {
    figures.add(name, Figure::Value(), "");  // nothing happens
  }
  constexpr double kMicrosecondsOfAPercent = 1e4;  // of a second
  figures.add("idle_cpu_percent", measured.cpu_us / seconds / kMicrosecondsOfAPercent, "of one core");
  figures.add("store_calls_per_s", static_cast<double>(measured.seen.calls) / seconds, "by the engine");
  figures.add("commits_per_s", measured.commits / seconds, "write transactions, synced or not");
  figures.add_if("round_trips_per_s", share(measured.round_trips, seconds), "to the database server");
  figures.add("rss_mb", measured.resident_bytes / kMegabyte, "memory of this process");
  figures.add("rss_kb_per_instance", instance_bytes / kKilobyte, "added by each instance");
  return figures;
}

}  // namespace perdure::cli::bench
