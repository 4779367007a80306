// What clients read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <perdure/provider.h>
#include "providers/memory/store.h"

namespace perdure::memory {

[[nodiscard]] std::optional<InstanceStatus> read_status(const Store& store, const std::string& instance);
[[nodiscard]] std::optional<CustomStatus> read_custom_status(const Store& store, const std::string& instance,
                                                             std::uint64_t last_seen_version);
[[nodiscard]] std::optional<std::string> read_key_value(const Store& store, const std::string& instance,
                                                        const std::string& key);
[[nodiscard]] std::vector<KeyValue> read_key_values(const Store& store, const std::string& instance);
[[nodiscard]] std::optional<InstanceStats> read_stats(const Store& store, const std::string& instance);
// One of the things that a client waits for is there.
[[nodiscard]] bool has_changed(const Store& store, const std::string& instance, const InstanceChange& change);

}  // namespace perdure::memory
