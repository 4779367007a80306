// What a worker process is told on its command line: words of the form name=value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <perdure/types.h>

namespace perdure::testing::cluster {

// "sqlite:<path>", or what libpq takes and a schema.
struct StoreAddress {
  std::string url;
  std::string schema;
};

struct WorkerOptions {
  StoreAddress store;  // empty, if the program is told otherwise
  std::string ledger;  // its path
  std::string node;    // its name, which no other process of the cluster has
  // Of turns and of activities. Long enough for a busy machine, short enough to wait for.
  Milliseconds lock_timeout{3'000};
  std::uint32_t max_attempts = 1'000;  // deaths count as attempts, and nothing here is to blame for them
  bool fast_path = true;
  std::string replay_up_to;  // engine versions that it fetches, against its better knowledge; empty: up to its own
  // The process stops itself by SIGSTOP before it hands this to the store, once: "turn" for a commit of turns, "fused"
  // for one that completes an activity as well, "work" for the outcome of an activity. Empty: never.
  std::string stop_before;
  std::string planted;  // what it does wrong: see workflows.h

  [[nodiscard]] std::vector<std::string> to_arguments() const;
  // Throws std::invalid_argument.
  [[nodiscard]] static WorkerOptions parse(const std::vector<std::string>& arguments);
};

}  // namespace perdure::testing::cluster
