// A shared object of a user, with the library in it.
#include <perdure/perdure.h>
#include <perdure/sqlite_provider.h>

namespace {

perdure::Orchestration<int> flow(perdure::OrchestrationContext) {
  co_return 1;
}

}  // namespace

extern "C" int perdure_plugin_run(const char* path) {
  perdure::Registry registry;
  registry.add_orchestration("Flow", flow);
  const perdure::Runtime runtime(perdure::SqliteProvider::open(path), registry);
  return runtime.idle() ? 1 : 0;
}
