// What the client and the check of histories refuse before they ask a store, with the same words at every entry point.
#pragma once

#include <string>

#include <perdure/client_error.h>
#include <perdure/limits.h>
#include <perdure/provider_admin.h>
#include "model/name_rule.h"

namespace perdure {

// Throws ClientError if the name is invalid or too long. `what` begins the text of the error: "an instance id".
inline void check_name(const char* what, const std::string& name, const Limits& limits) {
  if (const auto problem = problem_with_name(what, name)) throw ClientError(ClientErrorKind::kInvalidInput, *problem);
  if (name.size() <= limits.max_name_bytes) return;
  throw ClientError(ClientErrorKind::kInvalidInput, std::string(what) + " has " + std::to_string(name.size()) +
                                                        " bytes; the limit is " +
                                                        std::to_string(limits.max_name_bytes) + " (max_name_bytes)");
}

inline void check_filter(const InstanceFilter& filter, const Limits& limits) {
  if (filter.name) check_name("an orchestration's name", *filter.name, limits);
  if (!filter.ids) return;
  for (const std::string& id : *filter.ids) check_name("an instance id", id, limits);
}

}  // namespace perdure
