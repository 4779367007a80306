// Node: the parts of a runtime that neither wait nor start threads, put together the same way for threads and for a
// simulator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <perdure/provider.h>
#include <perdure/runtime_options.h>
#include "runtime/node_code.h"
#include "runtime/orchestration_dispatcher.h"
#include "runtime/turn_processor.h"
#include "runtime/worker_dispatcher.h"

namespace perdure::runtime {

struct Node {
  std::string id;
  NodeInfo info;  // as the store is told
  std::shared_ptr<NodeCode> code;
  std::shared_ptr<TurnProcessor> turns;
  std::shared_ptr<StoreHealth> health;  // both dispatchers share it
  OrchestrationDispatcher orchestrations;
  WorkerDispatcher activities;
};

// Lets the dispatchers of a node tell each other what there is to tell, until there is nothing left. For one thread;
// Handover is for several. Answers what is to be destroyed.
std::vector<KeptExecution> exchange_news(OrchestrationDispatcher& orchestrations, WorkerDispatcher& activities,
                                         Timestamp now);

// Throws std::invalid_argument for options or a registry that make no sense.
[[nodiscard]] Node make_node(const RuntimeOptions& options, const Capabilities& store, Registry registry,
                             RandomIds ids);

}  // namespace perdure::runtime
