// perdure_ceiling: what a bare database does with the rows, indexes, fences and batches of the provider, and what one
// durable commit costs it. `make ceiling` and `perdure bench` measure themselves against it. Everything throws
// std::runtime_error with the database's words, and leaves nothing behind.
#pragma once

#include <string>
#include <vector>

#include "ceiling/load.h"

namespace ceiling {

// Steps until the time is over.
[[nodiscard]] Reached run_sqlite(const Load& load);
[[nodiscard]] Reached run_postgres(const Load& load);

// How long each commit took, in microseconds, one after the other until the time is over: `events_bytes` are added to
// one table, `message_bytes` replace a row of another. The shape, the batch and the instances do not matter. At least
// one commit is made.
[[nodiscard]] std::vector<double> sqlite_commits(const Load& load);
[[nodiscard]] std::vector<double> postgres_commits(const Load& load);

// What they execute, for readers.
[[nodiscard]] std::vector<std::string> sqlite_sql();
[[nodiscard]] std::vector<std::string> postgres_sql();

}  // namespace ceiling
