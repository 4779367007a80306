#include "cli/hostile_store.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include <perdure/json.h>
#include <perdure/perdure.h>
#include "model/utf8.h"
#include "support/eventually.h"

namespace perdure::test {

namespace {

using namespace std::chrono_literals;

// As long as what replaces them in the file.
const std::string kAny(kHostile.size(), '@');
const std::string kJson(kHostileJson.size(), '%');

Orchestration<std::string> everything(OrchestrationContext ctx, std::string input) {
  ctx.set_custom_status("status-" + kAny);
  ctx.set_kv_value("key-" + kAny, "value-" + kAny);
  ctx.set_kv_value("plain-key", "value-" + kJson + input);
  SubOrchestrationOptions child;
  child.instance_id("child-" + kAny);
  const auto result = co_await ctx.schedule_sub_orchestration<std::string>("Child-" + kAny, "in-" + kAny, child);
  ctx.set_kv_value("other-key", result);
  ActivityOptions elsewhere;
  elsewhere.tag("tag-" + kAny).session("session-" + kAny);
  auto work = ctx.schedule_activity<std::string>("Work-" + kAny, "work-" + kJson, elsewhere);
  auto message = ctx.dequeue_event<std::string>("queue-" + kAny);
  ctx.set_custom_status("waits-" + kAny + kJson);
  const auto first =
      co_await select{std::move(work), ctx.schedule_wait<std::string>("event-" + kAny), std::move(message)};
  co_return std::to_string(first.index());
}

Orchestration<std::string> child(OrchestrationContext ctx, std::string input) {
  co_return co_await ctx.schedule_activity<std::string>("Echo-" + kAny, "echo-" + kJson + input);
}

Orchestration<std::string> failing(OrchestrationContext ctx, std::string input) {
  ctx.set_custom_status("status-" + kJson);
  co_return co_await ctx.schedule_activity<std::string>("Fail-" + kAny, input);
}

Registry hostile_registry() {
  Registry registry;
  registry.add_orchestration("Everything-" + kAny, everything)
      .add_orchestration("Child-" + kAny, child)
      .add_orchestration("Failing-" + kAny, failing)
      .add_activity("Echo-" + kAny, [](ActivityContext&, std::string text) { return "result-" + text; })
      .add_activity("Work-" + kAny, [](ActivityContext&, std::string text) { return text; })
      .add_activity("Fail-" + kAny, [](ActivityContext&, std::string text) -> std::string {
        throw std::runtime_error("error-" + kAny + text);
      });
  return registry;
}

void fill_with_placeholders(const std::string& path) {
  const std::shared_ptr<Provider> store = SqliteProvider::open(path);
  const Client client(store);
  RuntimeOptions options;
  options.worker_node_id = "node-" + kAny;
  options.worker_tag_filter = TagFilter::untagged_and({"served-" + kAny});
  Runtime runtime(store, hostile_registry(), options);
  client.start_orchestration("plain", "Everything-" + kAny, "input-" + kJson);
  client.start_orchestration("completed", "Child-" + kAny, "input-" + kAny);
  client.start_orchestration("failed", "Failing-" + kAny, "input-" + kAny);
  client.start_orchestration("zombie-" + kAny, "Failing-" + kAny, "input-" + kAny);
  (void)client.wait_for_status_change("plain", 1, kPatience);
  for (const std::string& id : {std::string("completed"), std::string("failed"), "zombie-" + kAny}) {
    (void)client.wait_for_orchestration(id, kPatience);
  }
  runtime.shutdown();
  client.start_orchestration("foreign-" + kAny, "Unknown-" + kAny);
  client.start_orchestration("pending", "Unknown-" + kAny, "input-" + kAny);
}

void replace_all(std::string& bytes, const std::string& from, std::string_view to) {
  for (std::size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + to.size())) {
    bytes.replace(at, from.size(), to);
  }
}

}  // namespace

std::string forbidden_in(std::string text, bool colours) {
  if (colours) {
    for (const char* code : {"\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[2m", "\x1b[1m", "\x1b[0m"}) {
      for (std::size_t at = text.find(code); at != std::string::npos; at = text.find(code)) {
        text.erase(at, std::string_view(code).size());
      }
    }
  }
  for (std::size_t at = 0; at < text.size();) {
    const detail::CodePoint point = detail::first_code_point(std::string_view(text).substr(at));
    const bool allowed = point.value == U'\n' || point.value == U'\t' || !detail::is_control(point.value);
    if (point.length == 0 || !allowed) {
      std::ostringstream found;
      found << "U+" << std::hex << static_cast<unsigned>(point.value) << " at byte " << std::dec << at << " in "
            << detail::printable(std::string_view(text).substr(at < 40 ? 0 : at - 40), 100);
      return found.str();
    }
    at += point.length;
  }
  return {};
}

HostileStore::HostileStore() {
  const std::string path = folder_.file("hostile.db");
  fill_with_placeholders(path);
  if (std::filesystem::exists(path + "-wal") && std::filesystem::file_size(path + "-wal") > 0) {
    throw std::logic_error("the store is not in its file alone");
  }
  std::ostringstream read;
  read << std::ifstream(path, std::ios::binary).rdbuf();
  std::string bytes = std::move(read).str();
  replace_all(bytes, kAny, kHostile);
  replace_all(bytes, kJson, kHostileJson);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  argument_ = "sqlite:" + path;
}

}  // namespace perdure::test
