// Every form of helper that is right: free and member functions, static ones, templates, captureless lambdas.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <perdure/perdure.h>

using perdure::OrchestrationContext;
using perdure::Task;

Task<int> by_value(OrchestrationContext ctx, std::string text, std::vector<int> numbers, std::unique_ptr<int> box) {
  co_return co_await ctx.schedule_activity<int>(text, numbers.at(0) + *box);
}
Task<void> without_context() {
  co_return;
}
Task<int> pointer(OrchestrationContext, perdure::Future<int>* shared) {
  co_return co_await *shared;
}
template <class T>
Task<T> generic(OrchestrationContext, T value) {
  co_return value;
}

class Shop {
 public:
  Task<int> buy(OrchestrationContext ctx, std::string what) {
    co_return co_await ctx.schedule_activity<int>(prefix_ + what);
  }
  Task<int> look(OrchestrationContext ctx) const { co_return co_await ctx.schedule_activity<int>(prefix_); }
  static Task<int> open(OrchestrationContext ctx) { co_return co_await ctx.schedule_activity<int>("Open"); }

 private:
  std::string prefix_ = "Shop";
};

perdure::Orchestration<int> orchestration(OrchestrationContext ctx) {
  int sum = co_await by_value(ctx, "A", std::vector<int>(3), std::make_unique<int>(1));
  co_await without_context();
  auto shared = ctx.schedule_activity<int>("Shared");
  sum += co_await pointer(ctx, &shared);
  sum += co_await generic(ctx, 5);
  Shop shop;
  sum += co_await shop.buy(ctx, "Milk");
  sum += co_await shop.look(ctx);
  sum += co_await Shop::open(ctx);
  auto named = shop.look(ctx);
  auto failed = co_await std::move(named).as_result();
  co_return failed ? sum : 0;
}
