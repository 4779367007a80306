// Runtime: a node that runs orchestrations and activities from a store.
//
//   perdure::Registry registry;
//   registry.add_orchestration("ProcessOrder", process_order);
//   registry.add_activity("ChargeCard", charge_card);
//   perdure::Runtime runtime(perdure::SqliteProvider::open("orders.db"), registry);
//
// It works from construction to shutdown(), on threads of its own. Several runtimes on one store, in one process or in
// many, are so many nodes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <perdure/provider.h>
#include <perdure/registry.h>
#include <perdure/runtime_options.h>
#include <perdure/types.h>

namespace perdure {

class Runtime {
 public:
  // Throws std::invalid_argument if the registry or the options are not valid, with everything that is wrong with them,
  // and ProviderFailure if the store does not take the node.
  Runtime(std::shared_ptr<Provider> store, Registry registry, RuntimeOptions options = {});
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  // shutdown(), if that has not been called. Never hangs, whatever user code does.
  ~Runtime();

  // Takes no new work, finishes what has begun, and returns as soon as that is done: turns are committed, and
  // activities have `timeout` to end. What runs on is told to stop and given back without counting as an attempt; a
  // function that ignores even that is left to its thread and named in the log. The same call again does nothing.
  void shutdown(Milliseconds timeout);
  void shutdown();

  // Which version starts without a version get from now on, on this node.
  void set_version_policy(std::string_view orchestration, VersionPolicy policy);

  // Who this node is to the store.
  [[nodiscard]] const std::string& node_id() const noexcept;
  // Nothing is locked and nothing runs here, at this moment.
  [[nodiscard]] bool idle() const;

 private:
  class Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace perdure
