// What may stand in one expression with co_await: option builders, literals, typed names, trivial aggregates.
#include <chrono>
#include <optional>
#include <string>

#include <perdure/json.h>
#include <perdure/perdure.h>

using namespace std::chrono_literals;
using perdure::ActivityOptions;
using perdure::Backoff;
using perdure::RetryPolicy;
using perdure::StartOptions;
using perdure::SubOrchestrationOptions;

struct Point {
  int x = 0;
  int y = 0;
};
void to_json(nlohmann::json& json, const Point& point) {
  json = point.x + point.y;
}
void from_json(const nlohmann::json& json, Point& point) {
  point.x = json.get<int>();
}

struct Order {
  std::string id;
};
void to_json(nlohmann::json& json, const Order& order) {
  json = order.id;
}
void from_json(const nlohmann::json& json, Order& order) {
  order.id = json.get<std::string>();
}

inline const perdure::Activity<Order(std::string)> kFind{"Find"};
inline const perdure::Activity<int()> kCount{"Count"};

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext ctx, std::optional<Order> input) {
  int sum = co_await ctx.schedule_activity<int>("A", "literal", ActivityOptions().session("s").tag("gpu").timeout(30s));
  sum += co_await ctx.schedule_activity<int>(
      "A", 5, ActivityOptions().retry(RetryPolicy(5).backoff(Backoff::fixed(1s)).total_timeout(1min)));
  sum +=
      co_await ctx.schedule_activity<int>("A", ActivityOptions().heartbeat_timeout(1s).schedule_to_start_timeout(1h));
  sum += co_await ctx.schedule_activity<int>("A", Point{1, 2});  // trivially destructible: safe on g++ 12
  sum += co_await ctx.schedule_activity<int>("A", std::string("text"));
  sum += co_await ctx.schedule_activity<int>("A", perdure::Raw(std::string("bytes")));
  sum += co_await ctx.schedule_activity<int>("A", input);
  const Order named = co_await ctx.schedule_activity(kFind, "o-1");
  sum += co_await ctx.schedule_activity<int>("A", named);
  sum += co_await ctx.schedule_activity(kCount);
  sum += co_await ctx.schedule_activity(kCount, ActivityOptions().tag("t"));
  sum += co_await ctx.schedule_sub_orchestration<int>("C", named,
                                                      SubOrchestrationOptions().instance_id("c").version("1.2.3"));
  sum += co_await ctx.schedule_sub_orchestration<int>("C", SubOrchestrationOptions().instance_id("c"));
  ctx.schedule_orchestration("D", "d-1", named, StartOptions().version("1.0.0"));
  ctx.schedule_orchestration("D", "d-2");
  ctx.schedule_activity<void>("Detached").detach();
  ctx.set_kv_value("key", "literal");
  ctx.set_kv_value("order", named);
  auto result = co_await ctx.schedule_activity<Order>("A").as_result();
  if (!result) co_return ctx.continue_as_new(named, StartOptions().version("2.0.0"));
  if (sum == 0) co_await ctx.continue_as_new();
  co_return sum;
}
