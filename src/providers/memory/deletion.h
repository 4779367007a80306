// Deleting instances with everything that is theirs, and finding what belongs together.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <perdure/provider_admin.h>
#include <perdure/provider_error.h>
#include "providers/memory/store.h"

namespace perdure::memory {

// The row and the instances below it, level by level, siblings by age.
[[nodiscard]] std::vector<const KeyRow*> tree_of(const Store& store, const KeyRow& root);

// Messages that a deletion does not remove: starts of children whose parents still exist, and the messages that these
// parents sent after them. The id is free after the deletion, so the child gets it.
using LeftMessages = std::vector<MessageRecord>;

struct Deletion {
  DeleteResult result;
  LeftMessages left;  // the caller queues them again
};
// Deletes the tree of an ended instance, or of any instance with force.
[[nodiscard]] ProviderResult<Deletion> delete_tree(Store& store, const std::string& instance, bool force);

[[nodiscard]] ProviderResult<DeleteResult> delete_instance(Store& store, const std::string& instance, bool force,
                                                           Timestamp now);
[[nodiscard]] ProviderResult<DeleteResult> delete_instances(Store& store, std::span<const std::string> instances,
                                                            bool force, Timestamp now);
[[nodiscard]] DeleteResult delete_matching(Store& store, const InstanceFilter& filter, std::size_t limit,
                                           Timestamp now);

}  // namespace perdure::memory
