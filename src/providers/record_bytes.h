// Bytes of the values that a call gives to a store, without names and numbers: they bound what shares a transaction.
#pragma once

#include <cstddef>
#include <span>

#include <perdure/provider.h>
#include "providers/instance_import.h"

namespace perdure {

[[nodiscard]] std::size_t bytes_of(const MessageRecord& message);
[[nodiscard]] std::size_t bytes_of(std::span<const EventRecord> events);
[[nodiscard]] std::size_t bytes_of(const TurnCommit& commit);
[[nodiscard]] std::size_t bytes_of(const WorkAck& ack);
[[nodiscard]] std::size_t bytes_of(const Heartbeat& heartbeat);
[[nodiscard]] std::size_t bytes_of(std::span<const InstanceCopy> instances);
// These carry no value.
[[nodiscard]] constexpr std::size_t bytes_of(const LockToken&) noexcept {
  return 0;
}
[[nodiscard]] constexpr std::size_t bytes_of(const Abandon&) noexcept {
  return 0;
}

}  // namespace perdure
