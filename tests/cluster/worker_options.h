// What a worker process is told on its command line: words of the form name=value.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <perdure/postgres_provider.h>
#include <perdure/sqlite_provider.h>
#include <perdure/types.h>

namespace perdure::test {

// "sqlite:<path>", or what libpq takes and a schema.
struct StoreAddress {
  std::string url;
  std::string schema;
};

inline std::shared_ptr<Provider> open_store(const StoreAddress& address, const Logger& logger = {}) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (address.url.starts_with(kSqlite)) {
    SqliteOptions options;
    options.logger = logger;
    return SqliteProvider::open(address.url.substr(kSqlite.size()), options);
  }
  PostgresOptions options;
  options.schema = address.schema;
  options.connections = 4;
  options.logger = logger;
  return PostgresProvider::connect(address.url, options);
}

struct WorkerOptions {
  StoreAddress store;
  std::string ledger;  // its path
  std::string node;    // its name, which no other process of the test has
  // Of turns and of activities. Long enough for a busy machine, short enough to wait for.
  Milliseconds lock_timeout{3'000};
  std::uint32_t max_attempts = 1'000;  // deaths count as attempts, and nothing here is to blame for them
  bool fast_path = true;
  std::string replay_up_to;  // engine versions that it fetches, against its better knowledge; empty: up to its own
  // The process stops itself by SIGSTOP before it hands this to the store, once: "turn" for a commit of turns, "fused"
  // for one that completes an activity as well, "work" for the outcome of an activity. Empty: never.
  std::string stop_before;

  [[nodiscard]] std::vector<std::string> to_arguments() const {
    return {"url=" + store.url,
            "schema=" + store.schema,
            "ledger=" + ledger,
            "node=" + node,
            "lock_ms=" + std::to_string(lock_timeout.count()),
            "max_attempts=" + std::to_string(max_attempts),
            "fast_path=" + std::to_string(static_cast<int>(fast_path)),
            "replay_up_to=" + replay_up_to,
            "stop_before=" + stop_before};
  }
  // Throws std::invalid_argument.
  [[nodiscard]] static WorkerOptions parse(const std::vector<std::string>& arguments) {
    WorkerOptions options;
    const auto number = [](const std::string& text) { return static_cast<std::uint32_t>(std::stoul(text)); };
    const std::map<std::string, std::function<void(const std::string&)>, std::less<>> readers{
        {"url", [&](const std::string& value) { options.store.url = value; }},
        {"schema", [&](const std::string& value) { options.store.schema = value; }},
        {"ledger", [&](const std::string& value) { options.ledger = value; }},
        {"node", [&](const std::string& value) { options.node = value; }},
        {"lock_ms", [&](const std::string& value) { options.lock_timeout = Milliseconds(number(value)); }},
        {"max_attempts", [&](const std::string& value) { options.max_attempts = number(value); }},
        {"fast_path", [&](const std::string& value) { options.fast_path = number(value) != 0; }},
        {"replay_up_to", [&](const std::string& value) { options.replay_up_to = value; }},
        {"stop_before", [&](const std::string& value) { options.stop_before = value; }},
    };
    for (const std::string& argument : arguments) {
      const std::size_t equals = argument.find('=');
      const auto reader = readers.find(argument.substr(0, equals));
      if (equals == std::string::npos || reader == readers.end()) {
        throw std::invalid_argument("a worker does not know '" + argument + "'");
      }
      reader->second(argument.substr(equals + 1));
    }
    return options;
  }
};

}  // namespace perdure::test
