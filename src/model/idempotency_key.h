// The idempotency key of an activity: a name for one effect, the same in every attempt on every node.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <perdure/types.h>

namespace perdure {

// The properties that all attempts at one activity share, and no other activity has.
struct EffectIdentity {
  std::string_view instance;
  std::uint64_t incarnation = 0;  // so that an id can be used again after a deletion
  ExecutionId execution = kFirstExecutionId;
  EventId first_attempt = 0;  // the schedule id; with a RetryPolicy, that of the policy's first attempt
};

// 32 hexadecimal digits: services limit their keys, some to 36 characters. A contract: an activity that is attempted
// again after an upgrade of the engine must find the same key.
[[nodiscard]] std::string idempotency_key(const EffectIdentity& effect);

}  // namespace perdure
