// An upgrade while orders are under way: those keep the code that they began with, new ones get the new code.
//
// The first release has version 1.0.0 of the workflow. The second one adds a step in the middle, which would not fit
// the history of an order that has already begun, so it is a new version beside the old one: an execution stays with
// the version of its first turn. Version 1.0.0 may go when no order of it is left.
//
// It prints:
//   release 1: order-1 waits for its parcel
//   release 2: order-2 waits for its parcel
//   order-1, version 1.0.0: paid, sent
//   order-2, version 2.0.0: paid, insured, sent
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <perdure/perdure.h>

namespace {

using namespace std::chrono_literals;

perdure::Orchestration<std::string> order_v1(perdure::OrchestrationContext ctx) {
  const auto paid = co_await ctx.schedule_activity<std::string>("Pay");
  ctx.set_custom_status("waits for its parcel");
  co_await ctx.dequeue_event<void>("parcel");
  const auto sent = co_await ctx.schedule_activity<std::string>("Send");
  co_return paid + ", " + sent;
}

perdure::Orchestration<std::string> order_v2(perdure::OrchestrationContext ctx) {
  const auto paid = co_await ctx.schedule_activity<std::string>("Pay");
  const auto insured = co_await ctx.schedule_activity<std::string>("Insure");
  ctx.set_custom_status("waits for its parcel");
  co_await ctx.dequeue_event<void>("parcel");
  const auto sent = co_await ctx.schedule_activity<std::string>("Send");
  co_return paid + ", " + insured + ", " + sent;
}

perdure::Registry release_1() {
  perdure::Registry registry;
  registry.add_orchestration("Order", "1.0.0", order_v1);
  registry.add_activity("Pay", [](perdure::ActivityContext&) -> std::string { return "paid"; });
  registry.add_activity("Send", [](perdure::ActivityContext&) -> std::string { return "sent"; });
  return registry;
}

perdure::Registry release_2() {
  perdure::Registry registry = release_1();                // what is under way needs its code
  registry.add_orchestration("Order", "2.0.0", order_v2);  // the latest version is for what begins now
  registry.add_activity("Insure", [](perdure::ActivityContext&) -> std::string { return "insured"; });
  return registry;
}

void begin(const perdure::Client& client, const std::string& release, const std::string& order) {
  client.start_orchestration(order, "Order");
  const auto status = client.wait_for_status_change(order, 0, 30s);
  std::printf("%s: %s %s\n", release.c_str(), order.c_str(), status.custom_status.value_or("has ended").c_str());
}

void finish(const perdure::Client& client, const std::string& order, const std::string& wanted) {
  client.enqueue_event(order, "parcel");
  const auto status = client.wait_for_orchestration(order, 30s);
  const std::string got = "version " + status.version.value().to_string() + ": " + status.result<std::string>();
  std::printf("%s, %s\n", order.c_str(), got.c_str());
  if (got != wanted) throw std::runtime_error(order + " should be: " + wanted);
}

int run(const std::string& file) {
  {
    const auto store = perdure::SqliteProvider::open(file);
    const perdure::Runtime runtime(store, release_1());
    begin(perdure::Client(store), "release 1", "order-1");
  }
  const auto store = perdure::SqliteProvider::open(file);
  const perdure::Runtime runtime(store, release_2());
  const perdure::Client client(store);
  begin(client, "release 2", "order-2");
  finish(client, "order-1", "version 1.0.0: paid, sent");
  finish(client, "order-2", "version 2.0.0: paid, insured, sent");
  return 0;
}

// Where the store is kept: a folder that goes with the program.
struct TemporaryFolder {
  std::string path = (std::filesystem::temp_directory_path() / "perdure-upgrade-XXXXXX").string();
  TemporaryFolder() {
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make the temporary folder " + path);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

int main() {
  try {
    const TemporaryFolder folder;
    return run(folder.path + "/orders.db");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "versioned_upgrade: %s\n", error.what());
    return 1;
  }
}
