// `perdure history --follow`: prints events as they come, until the instance has ended.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <perdure/event.h>
#include <perdure/provider.h>
#include "cli/context.h"
#include "cli/text.h"

namespace perdure::cli {

struct FollowArguments {
  std::string instance;
  ExecutionId execution = kFirstExecutionId;  // the first one that is printed
  bool json = false;
  std::size_t longest = std::string::npos;  // values are cut to so many bytes
  std::string timeout;                      // as 30s or 5m; empty: without end
};

// Returns when the instance has ended. Throws ClientError, also at the end of the timeout.
void follow_history(const Context& context, const std::shared_ptr<Provider>& store, const FollowArguments& arguments);

[[nodiscard]] Colour event_colour(const Event& event);

}  // namespace perdure::cli
