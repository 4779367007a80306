// A user's program in another dialect than the library: with assertions of the standard library, optimised at link
// time, and with hidden symbols. Exceptions of the library must still be caught, and a workflow must complete.
#include <cstdio>

#include <perdure/json.h>
#include <perdure/memory_provider.h>
#include <perdure/perdure.h>
#include <perdure/sqlite_provider.h>

namespace {

perdure::Orchestration<int> flow(perdure::OrchestrationContext ctx, int wanted) {
  int caught = 0;
  try {
    co_await ctx.schedule_activity<int>("Fails");
  } catch (const perdure::ActivityError&) {
    caught = 1;
  }
  auto both = co_await perdure::join{ctx.schedule_activity<int>("Echo", wanted), ctx.schedule_activity<int>("Echo", 1)};
  co_return caught*(std::get<0>(both) + std::get<1>(both));
}

}  // namespace

int main() {
  perdure::Registry registry;
  registry.add_activity("Echo", [](perdure::ActivityContext&, int value) { return value; });
  registry.add_activity("Fails",
                        [](perdure::ActivityContext&) -> int { throw perdure::NonRetryableError("expected"); });
  registry.add_orchestration("Flow", flow);
  const auto store = perdure::make_memory_provider();
  const perdure::Client client(store);
  try {
    client.start_orchestration("", "Flow", 1);
    return 1;
  } catch (const perdure::ClientError&) {
  }
  const perdure::Runtime runtime(store, registry);
  client.start_orchestration("i", "Flow", 41);
  const auto status = client.wait_for_orchestration("i", std::chrono::seconds(60));
  std::printf("toolchain: %s\n",
              status.completed() && status.result<int>() == 42 ? "works" : status.error_text().c_str());
  return 0;
}
