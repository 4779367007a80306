// Place: where a run keeps its store, and what the database itself says about it. The run makes it and removes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <perdure/provider.h>
#include "ceiling/load.h"
#include "cli/bench/options.h"
#include "cli/context.h"

namespace perdure::cli::bench {

class Place {
 public:
  Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  // Everything that was made is gone then; the store must not be used any more.
  virtual ~Place() = default;

  [[nodiscard]] virtual std::shared_ptr<Provider> open() = 0;
  [[nodiscard]] virtual std::string description() const = 0;

  // Transactions that have changed something, since any time.
  [[nodiscard]] virtual std::uint64_t write_transactions() = 0;
  // Of a server, since any time; nothing if there is none, or if it is on another machine.
  [[nodiscard]] virtual std::optional<double> server_cpu_seconds() { return std::nullopt; }
  [[nodiscard]] virtual std::optional<std::uint64_t> round_trips() { return std::nullopt; }

  // The bare database, beside the store: how long each commit took, in microseconds, and what it reached with steps.
  // Their path, schema and durability are the place's.
  [[nodiscard]] virtual std::vector<double> bare_commits(ceiling::Load load) = 0;
  [[nodiscard]] virtual ceiling::Reached bare_steps(ceiling::Load load) = 0;
};

// Of options.store. Throws std::invalid_argument for a store that is there already, and ProviderFailure. A warning
// names what cannot be removed; `context` must outlive the place.
[[nodiscard]] std::unique_ptr<Place> make_place(const Options& options, const Context& context);

// In a program without PostgreSQL it throws std::invalid_argument.
[[nodiscard]] std::unique_ptr<Place> make_postgres_place(const Options& options, const Context& context);

}  // namespace perdure::cli::bench
