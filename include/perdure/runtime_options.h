// RuntimeOptions: how a node works, with defaults that suit one process on a local store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <perdure/clock.h>
#include <perdure/fetch.h>
#include <perdure/limits.h>
#include <perdure/log.h>
#include <perdure/metrics.h>
#include <perdure/types.h>
#include <perdure/version.h>

namespace perdure {

// Backoff for items this node has no code for, so that another node or a later deployment can process them.
struct UnregisteredBackoff {
  Milliseconds base{1'000};
  Milliseconds max{60'000};

  // min(base * 2^min(attempt - 1, 6), max); attempts count from 1.
  [[nodiscard]] Milliseconds after(std::uint32_t attempt) const noexcept;
};

struct RuntimeOptions {
  // ---- How much at once ----

  std::size_t orchestration_concurrency = 2;  // turns that run at the same time, each of another instance
  std::size_t worker_concurrency = 2;         // activities that occupy a thread
  std::size_t max_async_activities = 1'000;   // activities that have returned and will be completed later
  // Instances that are locked here at the same time: running, waiting for their turn, or being committed.
  std::size_t max_locked_instances = 128;

  // Executions that are kept in memory between their turns. Either 0: each turn rebuilds its execution from history.
  std::size_t cached_executions = 10'000;
  std::size_t cached_bytes = std::size_t{256} << 20;

  // The fast path, on stores that have it (Capabilities::fast_path) and with executions kept in memory: a commit claims
  // the activities that it schedules for this node, as far as they fit here and nothing else waits, and keeps the
  // instance locked while they run; an activity that ends in time is completed by the commit of the next turn. So a
  // step costs one write instead of four.
  bool fast_path = true;

  // ---- Locks. A lock is renewed when half of its time is gone ----

  Milliseconds orchestrator_lock_timeout{5'000};
  Milliseconds worker_lock_timeout{30'000};
  Milliseconds session_lock_timeout{30'000};

  // ---- Waiting for work ----

  // A store with wake-ups is asked again after this time, for safety's sake.
  Milliseconds long_poll_timeout{30'000};
  // A store without wake-ups is asked this often.
  Milliseconds min_poll_interval{100};

  // ---- When something goes wrong ----

  // An item that was fetched more often than this without success ends as poison.
  std::uint32_t max_attempts = 10;
  UnregisteredBackoff unregistered_backoff;
  Limits limits;

  // ---- Activities ----

  // The details that an activity gives its heartbeats are written at most this often.
  Milliseconds heartbeat_interval{1'000};
  // Grace period of a cancelled activity before its slot is reused.
  Milliseconds activity_cancellation_grace_period{10'000};
  TagFilter worker_tag_filter;
  // The node id. A stable id lets a restarted process reclaim its sessions; only one process may use it at a time. If
  // empty, a random id is generated.
  std::string worker_node_id;
  // Sessions that this node holds at the same time, in use or not. One that is not used goes after its idle timeout.
  std::size_t max_sessions_per_runtime = 10;
  Milliseconds session_idle_timeout{300'000};
  Milliseconds session_cleanup_interval{300'000};

  // ---- What this node takes ----

  // Engine versions whose executions it replays. Empty: everything up to its own.
  std::vector<VersionRange> supported_replay_versions;
  // Take only instances and activities that are registered here, instead of putting others back with a delay.
  bool fetch_only_registered = false;
  // For tests of upgrades: stands in for the version of the engine.
  std::optional<SemanticVersion> engine_version;

  // ---- Its end ----

  // What the destructor, and shutdown() without an argument, give running activities to finish.
  Milliseconds shutdown_timeout{1'000};
  // An activity that ignores its stop token even then: end the process, instead of leaving its thread behind.
  bool abort_if_stuck = false;

  // ---- Being watched ----

  Logger logger;
  Metrics metrics;
  // How often the gauges are read from the store; never without a metrics sink.
  Milliseconds gauge_poll_interval{60'000};
  std::shared_ptr<Clock> clock;  // for waiting; null: the machine's. Tests pass the one of their store

  // Throws std::invalid_argument with a sentence for each option that makes no sense.
  void check() const;
};

}  // namespace perdure
