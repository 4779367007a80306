// Ended instances from another store, with everything that can be read of them. For tools that move histories: no
// worker ever sees half of one, and every time stays what it was, which no sequence of commits could do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/provider.h>
#include <perdure/provider_admin.h>
#include <perdure/provider_error.h>
#include <perdure/records.h>

namespace perdure {

struct ExecutionCopy {
  ExecutionInfo info;
  std::uint64_t carried_forward = 0;
  std::vector<EventRecord> history;  // all of it
  bool operator==(const ExecutionCopy&) const = default;
};

struct InstanceCopy {
  InstanceInfo info;
  CustomStatus custom_status;             // version 0: never set
  std::vector<KeyValue> key_values;       // by key
  std::vector<ExecutionCopy> executions;  // ascending, the current one last; those that were pruned are missing
  bool operator==(const InstanceCopy&) const = default;
};

class InstanceImport {
 public:
  // All or none, in one transaction. kAlreadyExists if one of the ids has an instance or a queued start;
  // kInvalidArgument as check_import() says. Messages that wait for one of the ids are discarded: a copy has ended, so
  // nothing would read them.
  [[nodiscard]] virtual ProviderResult<void> import_instances(std::span<const InstanceCopy> instances) = 0;

 protected:
  ~InstanceImport() = default;
};

// What a copy must be: ended, with executions in order and events without a gap, and its info that of its last
// execution.
[[nodiscard]] std::optional<ProviderError> check_import(std::span<const InstanceCopy> instances);

// The events of one turn, as one commit would have stored them: how many from `first` on.
[[nodiscard]] std::size_t turn_length(std::span<const EventRecord> history, std::size_t first) noexcept;

}  // namespace perdure
