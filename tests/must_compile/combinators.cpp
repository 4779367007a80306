// Every form of join and select: owned, borrowed, as_result, nested, of tasks and of vectors, named and on the spot.
#include <chrono>
#include <utility>
#include <vector>

#include <perdure/perdure.h>

namespace user {  // in the global one there is select(2)

using namespace std::chrono_literals;
using perdure::Future;
using perdure::join;
using perdure::select;
using perdure::Task;

Task<int> helper(perdure::OrchestrationContext ctx) {
  co_return co_await ctx.schedule_activity<int>("A");
}

perdure::Orchestration<void> orchestration(perdure::OrchestrationContext ctx) {
  auto future = ctx.schedule_activity<int>("A");
  auto task = helper(ctx);
  co_await select{future, ctx.schedule_timer(1s)};
  co_await select{future, future};
  co_await select{task, helper(ctx), ctx.schedule_wait<int>("e"), ctx.dequeue_event<int>("q")};
  co_await select{future.as_result(), helper(ctx).as_result(), ctx.schedule_activity<void>("A").as_result()};
  co_await join{future, task, ctx.schedule_timer(1s)};
  co_await join{future, helper(ctx)}.as_result();
  co_await join{future.as_result(), helper(ctx).as_result()};
  co_await join{};
  co_await select{join{future, helper(ctx)}, select{future, helper(ctx)}, join{helper(ctx)}.as_result()};
  co_await join{select{future, ctx.schedule_timer(1s)}, join{future}};

  auto named_select = select{future, ctx.schedule_timer(1s)};
  co_await named_select;
  auto named_join = join{future, ctx.schedule_timer(1s)};
  co_await named_join;
  co_await select{named_join, ctx.schedule_timer(1s)};

  std::vector<Future<int>> futures;
  std::vector<Task<int>> tasks;
  co_await ctx.select(futures);
  co_await ctx.select(tasks);
  co_await ctx.select(std::move(tasks));
  co_await select{ctx.join(std::vector<Future<void>>()), ctx.select(futures), ctx.schedule_timer(1s)};
  auto results = co_await ctx.join(std::vector<Task<int>>()).as_result();
  const std::vector<int> values = co_await ctx.join(std::move(futures));
}

}  // namespace user
