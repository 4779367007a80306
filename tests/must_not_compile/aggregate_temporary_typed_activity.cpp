// expect: give the input a name first
// only: GNU<13
#include <string>

#include <perdure/json.h>
#include <perdure/perdure.h>

struct Order {
  std::string id;
};
void to_json(nlohmann::json& json, const Order& order) {
  json = order.id;
}
void from_json(const nlohmann::json& json, Order& order) {
  order.id = json.get<std::string>();
}

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext ctx) {
  const perdure::Activity<int(Order)> activity{"A"};
  co_return co_await ctx.schedule_activity(activity, Order{"o-1"});
}
