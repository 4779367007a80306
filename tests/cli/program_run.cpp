#include "cli/program_run.h"

#include <chrono>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include <perdure/json.h>
#include <perdure/perdure.h>
#include "cli/program.h"
#include "support/eventually.h"

namespace perdure::test {

namespace {

using namespace std::chrono_literals;

Orchestration<std::string> order(OrchestrationContext ctx, int cents) {
  ctx.set_custom_status("charging");
  ctx.set_kv_value("stage", std::string("charging"));
  const std::string receipt = co_await ctx.schedule_activity<std::string>("Charge", cents);
  ctx.set_kv_value("stage", std::string("done"));
  ctx.set_kv_value("total", cents);
  ctx.set_custom_status("charged");
  co_return receipt;
}

Orchestration<std::string> approval(OrchestrationContext ctx) {
  ctx.set_custom_status("waiting for approval");
  const auto first = co_await select{ctx.schedule_wait<std::string>("approved"), ctx.schedule_timer(24h)};
  if (first.index() == 1) throw OrchestrationError("nobody approved");
  co_return "approved";
}

Orchestration<int> rounds(OrchestrationContext ctx, int left) {
  ctx.set_kv_value("left", left);
  if (left > 0) co_return ctx.continue_as_new(left - 1);
  co_return 0;
}

Orchestration<int> leaf(OrchestrationContext ctx) {
  const std::string receipt = co_await ctx.schedule_activity<std::string>("Charge", 1);
  co_return static_cast<int>(receipt.size());
}

Orchestration<int> branch(OrchestrationContext ctx) {
  SubOrchestrationOptions options;
  options.instance_id(ctx.instance_id() + "-1");
  co_return co_await ctx.schedule_sub_orchestration<int>("Leaf", options);
}

Orchestration<int> family(OrchestrationContext ctx) {
  SubOrchestrationOptions first;
  first.instance_id(ctx.instance_id() + "-a");
  SubOrchestrationOptions second;
  second.instance_id(ctx.instance_id() + "-b");
  auto a = ctx.schedule_sub_orchestration<int>("Leaf", first);
  auto b = ctx.schedule_sub_orchestration<int>("Branch", second);
  const int left = co_await a;
  const int right = co_await b;
  co_return left + right;
}

}  // namespace

nlohmann::json ProgramRun::json() const {
  auto document = nlohmann::json::parse(out, nullptr, false);
  if (document.is_discarded()) {
    ADD_FAILURE() << "not one JSON document: " << out << "\nerrors: " << err;
    return nullptr;
  }
  return document;
}

ProgramRun run_perdure(const std::vector<std::string>& arguments, bool terminal) {
  std::ostringstream out;
  std::ostringstream err;
  cli::Context context{.out = out, .err = err, .colour = terminal, .terminal = terminal};
  const int exit_code = cli::run_program(arguments, context);
  return {.exit_code = exit_code, .out = out.str(), .err = err.str()};
}

SqliteFile::SqliteFile()
    : argument_("sqlite:" + folder_.file("store.db")), provider_(SqliteProvider::open(folder_.file("store.db"))) {}

ProgramRun SqliteFile::run(std::vector<std::string> arguments, bool terminal) const {
  arguments.insert(arguments.end(), {"--store", argument_});
  return run_perdure(arguments, terminal);
}

Registry sample_registry() {
  Registry registry;
  registry.add_orchestration("Order", order)
      .add_orchestration("Approval", approval)
      .add_orchestration("Rounds", rounds)
      .add_orchestration("Leaf", leaf)
      .add_orchestration("Branch", branch)
      .add_orchestration("Family", family)
      .add_activity("Charge", [](ActivityContext&, int cents) {
        if (cents < 0) throw std::runtime_error("card declined");
        return "receipt for " + std::to_string(cents);
      });
  return registry;
}

void fill_with_samples(const std::shared_ptr<Provider>& store) {
  const Client client(store);
  RuntimeOptions options;
  options.worker_node_id = "sample-node";
  Runtime runtime(store, sample_registry(), options);
  client.start_orchestration("order-1", "Order", 4200);
  client.start_orchestration("order-2", "Order", -1);
  client.start_orchestration("rounds", "Rounds", 2);
  client.start_orchestration("family", "Family");
  for (const char* instance : {"waiting", "cancelled", "terminated"}) client.start_orchestration(instance, "Approval");
  for (const char* instance : {"waiting", "cancelled", "terminated"}) {
    (void)client.wait_for_status_change(instance, 0, kPatience);
  }
  client.cancel_instance("cancelled", "not needed any more");
  client.terminate_instance("terminated", "by an operator");
  for (const char* instance : {"order-1", "order-2", "rounds", "family", "cancelled", "terminated"}) {
    (void)client.wait_for_orchestration(instance, kPatience);
  }
  runtime.shutdown();
  client.start_orchestration("foreign", "Unknown");
}

const SqliteFile& sample_store() {
  static const SqliteFile kStore;
  static const bool kFilled = (fill_with_samples(kStore.provider()), true);
  EXPECT_TRUE(kFilled);
  return kStore;
}

}  // namespace perdure::test
