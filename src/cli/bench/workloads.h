// What `perdure bench` can run: the code of each workload, and how one of its workflows is started.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <perdure/client.h>
#include <perdure/registry.h>
#include "cli/bench/options.h"

namespace perdure::cli::bench {

struct Workload {
  std::string_view name;
  std::string_view about;
  std::string_view operation;  // what is counted beside steps
  std::size_t in_flight;       // unless another number is asked for
  std::size_t width;
  std::size_t delay_ms;
  std::size_t (*activities_at_once)(const Options&);  // of one workflow

  [[nodiscard]] bool is(std::string_view other) const noexcept { return name == other; }
};

[[nodiscard]] std::span<const Workload> workloads() noexcept;
// Throws std::invalid_argument that lists them.
[[nodiscard]] const Workload& workload_named(std::string_view name);

// The orchestrations and activities of all workloads. Each activity that has run adds one to `steps`, which must live
// as long as the registry.
[[nodiscard]] Registry make_registry(const Options& options, std::atomic<std::uint64_t>& steps);

// Starts one workflow of the workload.
void start_workflow(const Client& client, const Options& options, const std::string& instance);

// `signals`: the one instance, and one signal for it.
inline constexpr const char* kReceiver = "receiver";
void send_signal(const Client& client);

}  // namespace perdure::cli::bench
