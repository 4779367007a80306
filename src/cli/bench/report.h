// What a run has measured, and the figures that follow from it.
#pragma once

#include <optional>
#include <string>

#include "cli/bench/figures.h"
#include "cli/bench/flight.h"
#include "cli/bench/measuring_store.h"
#include "cli/bench/options.h"

namespace perdure::cli::bench {

struct Measured {
  Flown flown;
  MeasuringStore::Seen seen;
  double steps = 0;    // activities completed
  double commits = 0;  // write transactions
  double cpu_us = 0;
  double resident_bytes = 0;  // in the end
  // Of a database server:
  std::optional<double> server_cpu_us;
  std::optional<double> round_trips;
};

// What the bare database does.
struct Floor {
  std::optional<double> commit_p50_us;
  std::optional<double> ceiling_steps_per_s;
  std::size_t batch = 1;  // steps of a commit of these
};

// What was run.
struct About {
  const Options& options;
  std::string store;
  bool observed_by_client = true;
};

[[nodiscard]] Figures load_figures(const About& about, const Measured& measured, const Floor& floor);
// `instance_bytes`: what each waiting instance has added to the memory of the process.
[[nodiscard]] Figures idle_figures(const About& about, const Measured& measured, double instance_bytes);

}  // namespace perdure::cli::bench
