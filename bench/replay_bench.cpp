// What the replay engine costs: rebuilding from a stored history, one more turn of a kept instance, wide joins, memory.
//
// The bars are in docs/performance.md. Times on shared machines are noisy; the ratios between rows of one run are not.
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <perdure/perdure.h>
#include "model/event_codec.h"
#include "replay/live_instance.h"

namespace perdure {
namespace {

Orchestration<int> sequence_of_numbers(OrchestrationContext ctx) {
  int last = 0;
  for (;;) last = co_await ctx.schedule_activity<int>("Step", last);
}

Orchestration<std::string> sequence_of_texts(OrchestrationContext ctx) {
  std::string last = "an order with a longer name than fits into a small string";
  for (;;) last = co_await ctx.schedule_activity<std::string>("Step", last);
}

Orchestration<int> fan_out(OrchestrationContext ctx, int width) {
  std::vector<Future<int>> parts;
  parts.reserve(static_cast<std::size_t>(width));
  for (int i = 0; i < width; ++i) parts.push_back(ctx.schedule_activity<int>("Part", i));
  int sum = 0;
  for (const int part : co_await ctx.join(std::move(parts))) sum += part;
  co_return sum;
}

// An instance with the store that it would have: records go in, records come out.
class Workflow {
 public:
  template <class F>
  explicit Workflow(F orchestration, Payload input = std::nullopt) : handler_(detail::make_handler(orchestration)) {
    instance_ = make();
    turn(messages::StartOrchestration{"Bench", std::nullopt, std::move(input), std::nullopt});
  }

  void turn(MessageBody body) {
    TurnRequest request;
    request.now = Timestamp(Milliseconds(1'700'000'000'000));
    request.messages.push_back({"bench", kFirstExecutionId, std::nullopt, std::move(body)});
    last_ = instance_->run_turn(request);
    encoded_.clear();
    for (const Event& event : last_.events) encoded_.push_back(encode_event(event));
    benchmark::DoNotOptimize(encoded_.data());
  }
  // Completes the activity that the last turn scheduled.
  void step(const Payload& result) { turn(messages::ActivityCompleted{last_.events.back().id, result}); }
  void keep_records(std::vector<EventRecord>& records) const {
    records.insert(records.end(), encoded_.begin(), encoded_.end());
  }
  [[nodiscard]] EventId length() const { return instance_->facts().next_event_id() - 1; }
  [[nodiscard]] std::unique_ptr<LiveInstance> rebuild(const std::vector<EventRecord>& records) const {
    auto rebuilt = make();
    rebuilt->replay(decode_history(records));
    return rebuilt;
  }
  [[nodiscard]] const LiveInstance& instance() const { return *instance_; }

 private:
  [[nodiscard]] std::unique_ptr<LiveInstance> make() const {
    return std::make_unique<LiveInstance>(ExecutionIdentity{"bench", kFirstExecutionId, SemanticVersion{1, 0, 0}},
                                          handler_, KeyValueSnapshot(), Limits());
  }

  std::shared_ptr<const OrchestrationHandler> handler_;
  std::unique_ptr<LiveInstance> instance_;
  TurnOutcome last_;
  std::vector<EventRecord> encoded_;
};

template <class F>
void cold_rebuild(benchmark::State& state, F orchestration, const std::string& result) {
  Workflow workflow(orchestration);
  std::vector<EventRecord> records;
  workflow.keep_records(records);
  while (records.size() < static_cast<std::size_t>(state.range(0))) {
    workflow.step(result);
    workflow.keep_records(records);
  }
  for (auto _ : state) {
    const auto rebuilt = workflow.rebuild(records);
    if (rebuilt->failure()) state.SkipWithError("the history does not replay");
  }
  state.counters["events"] = static_cast<double>(records.size());
}

void cold_rebuild_numbers(benchmark::State& state) {
  cold_rebuild(state, sequence_of_numbers, "42");
}
void cold_rebuild_texts(benchmark::State& state) {
  cold_rebuild(state, sequence_of_texts, "\"an order with a longer name than fits into a small string\"");
}
BENCHMARK(cold_rebuild_numbers)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(cold_rebuild_texts)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMicrosecond);

// Deliver, resume, emit, encode. The argument is the length of the history before the first measured turn.
void one_more_turn(benchmark::State& state) {
  Workflow workflow(sequence_of_numbers);
  while (workflow.length() < static_cast<EventId>(state.range(0))) workflow.step("42");
  for (auto _ : state) workflow.step("42");
}
BENCHMARK(one_more_turn)
    ->Arg(10)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(20'000)
    ->Unit(benchmark::kNanosecond);

// Schedules all, then completes them one by one, a turn each. The parts per second must stay level.
void join_completed_one_by_one(benchmark::State& state) {
  const auto width = static_cast<EventId>(state.range(0));
  for (auto _ : state) {
    Workflow workflow(fan_out, std::to_string(width));
    for (EventId id = width + 1; id >= 2; --id) workflow.turn(messages::ActivityCompleted{id, "1"});
    if (!workflow.instance().facts().terminal()) state.SkipWithError("the join did not complete");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(join_completed_one_by_one)->Arg(100)->Arg(1'000)->Arg(10'000)->Arg(50'000)->Unit(benchmark::kMillisecond);

// What the allocator hands out for an instance that waits for its first activity.
void suspended_instance(benchmark::State& state) {
  constexpr int kCount = 10'000;
  for (auto _ : state) {
    const auto before = mallinfo2().uordblks;
    std::vector<std::unique_ptr<LiveInstance>> instances;
    instances.reserve(kCount);
    const auto handler = detail::make_handler(sequence_of_texts);
    TurnRequest request;
    request.messages.push_back({"bench", kFirstExecutionId, std::nullopt,
                                messages::StartOrchestration{"Bench", std::nullopt, std::nullopt, std::nullopt}});
    for (int i = 0; i < kCount; ++i) {
      instances.push_back(std::make_unique<LiveInstance>(
          ExecutionIdentity{"bench-" + std::to_string(i), kFirstExecutionId, SemanticVersion{1, 0, 0}}, handler,
          KeyValueSnapshot(), Limits()));
      benchmark::DoNotOptimize(instances.back()->run_turn(request));
    }
    state.counters["bytes"] = static_cast<double>(mallinfo2().uordblks - before) / kCount;
    state.counters["estimated_bytes"] = static_cast<double>(instances.front()->memory_bytes());
  }
}
BENCHMARK(suspended_instance)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace perdure
