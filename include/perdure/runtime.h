// Runtime: a node that runs orchestrations and activities from a store.
//
//   perdure::Registry registry;
//   registry.add_orchestration("ProcessOrder", process_order);
//   registry.add_activity("ChargeCard", charge_card);
//   perdure::Runtime runtime(perdure::SqliteProvider::open("orders.db"), registry);
//
// It works from construction to shutdown(), on threads of its own. Several runtimes on one store, in one process or in
// many, are so many nodes. A child process of fork() cannot use it: every call throws std::logic_error there, and the
// destructor does nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <perdure/provider.h>
#include <perdure/provider_error.h>
#include <perdure/registry.h>
#include <perdure/runtime_options.h>
#include <perdure/types.h>

namespace perdure {

// Whether the store serves a node.
struct RuntimeHealth {
  // If false, calls of this node to the store fail, and not because of their data. The node repeats them, counts no
  // attempt, and resumes by itself.
  bool store_available = true;
  std::optional<Timestamp> since;           // time of the last change, by the store's clock; absent: none
  std::optional<ProviderError> last_error;  // the latest failure of the store, whether or not it has recovered
  bool operator==(const RuntimeHealth&) const = default;
};

class Runtime {
 public:
  // Throws std::invalid_argument if the registry or the options are not valid, with everything that is wrong with them,
  // ProviderFailure if the store does not take the node, and std::system_error if a thread cannot be made. A
  // constructor that throws leaves nothing behind: neither threads nor the node in the store.
  Runtime(std::shared_ptr<Provider> store, Registry registry, RuntimeOptions options = {});
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  // shutdown(), if that has not been called. Ends even if activities and orchestrations do not return. It waits for a
  // log or metrics sink that blocks (docs/logging.md).
  ~Runtime();

  // Takes no new work, finishes what has begun, and returns as soon as that is done: turns are committed, and
  // activities have `timeout` to end. Activities still running then are cancelled and abandoned without counting an
  // attempt. An activity that ignores its stop token keeps its thread and is named in the log. The same call again does
  // nothing.
  void shutdown(Milliseconds timeout);
  void shutdown();

  // Which version starts without a version get from now on, on this node. Throws std::invalid_argument if this
  // orchestration or version is not registered here.
  void set_version_policy(std::string_view orchestration, VersionPolicy policy);

  // Who this node is to the store.
  [[nodiscard]] const std::string& node_id() const noexcept;
  // For health checks of a service; never calls the store.
  [[nodiscard]] RuntimeHealth health() const;
  // Nothing is locked and nothing runs here, at this moment.
  [[nodiscard]] bool idle() const;

 private:
  class Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace perdure
