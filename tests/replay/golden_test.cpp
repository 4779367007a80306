// Recorded histories, replayed for ever: what one build wrote, every later build must accept and continue in the same
// way.
//
// PERDURE_WRITE_GOLDEN=1 writes the files that do not exist yet. A file that exists is never written again.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../../examples/order_workflow.h"
#include "model/history_text.h"
#include "replay/golden_orchestrations.h"
#include "support/harness.h"

namespace perdure::test {
namespace {

using Turns = std::vector<std::vector<MessageBody>>;

struct Golden {
  std::string file;
  std::function<Harness()> make;
  Turns turns;  // how it was recorded
  ExecutionId execution = kFirstExecutionId;
  std::vector<Timestamp> times;  // of the turns; empty: the harness's own

  friend void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.file; }
};

MessageBody start(Payload input = std::nullopt) {
  return messages::StartOrchestration{"Test", std::nullopt, std::move(input), ParentLink{"parent", 2, 7}};
}

template <class F>
Golden recorded(const std::string& name, F orchestration, Turns turns) {
  return {"golden/" + name + ".history",
          [orchestration] { return Harness(orchestration); },
          std::move(turns),
          kFirstExecutionId,
          {}};
}

Golden second_execution() {
  Golden golden = recorded("carry_forward_second", golden::carry_forward,
                           {{messages::ContinueAsNew{"Test",
                                                     std::nullopt,
                                                     "1",
                                                     ParentLink{"parent", 2, 7},
                                                     {{"other", "\"x\""}, {"inbox", "\"b\""}, {"inbox", "\"c\""}},
                                                     "read a"}}});
  golden.execution = 2;
  return golden;
}

std::vector<Golden> steps_and_races() {
  return {
      recorded("sequence", golden::sequence, {{start("4")}, {completed(2, "5")}, {completed(4, "6")}, {fired(6)}}),
      recorded("race_won_by_the_activity", golden::race,
               {{start()}, {raised("unrelated"), completed(2, "\"fast\""), fired(3)}}),
      recorded("race_won_by_the_timer", golden::race, {{start()}, {fired(3), completed(2, "\"slow\"")}}),
      recorded("race_won_by_the_event", golden::race, {{start(), raised("unrelated")}, {raised("hurry", "\"now\"")}}),
      recorded("fan_out", golden::fan_out,
               {{start("5")},
                {completed(4, "40"), completed(2, "20")},
                {failed(3, "no"), completed(6, "60"), completed(4, "1")},
                {completed(5, "50")}}),
      recorded("retries", golden::retries,
               {{start()},
                {failed(2, "once")},
                {fired(5)},
                {failed(7, "twice")},
                {fired(9)},
                {completed(11, "\"ok\"")},
                {failed(13, "for good", false)}}),
      recorded("nested_tasks", golden::nested_tasks,
               {{start()},
                {completed(2, "1"), completed(4, "3")},
                {completed(5, "4")},
                {completed(9, "-1"), completed(10, "7")}}),
  };
}

std::vector<Golden> channels() {
  return {
      recorded("queues", golden::queues,
               {{start(), queued("inbox", "\"a\"")},
                {fired(5)},
                {queued("inbox", "\"b\""), queued("other", "\"o\"")},
                {queued("inbox", "\"c\""), queued("inbox", "\"unread\"")}}),
      recorded("carry_forward_first", golden::carry_forward,
               {{start("2")}, {queued("inbox", "\"a\""), queued("other", "\"x\""), queued("inbox", "\"b\"")}}),
      second_execution(),
      recorded("drops", golden::drops,
               {{start()}, {completed(7), raised("news", "\"n\"")}, {queued("inbox", "\"m\"")}}),
  };
}

std::vector<Golden> ends_and_state() {
  const ErrorDetails child_error = application_error(ApplicationErrorKind::kOrchestrationFailed, "bad child");
  return {
      recorded("children", golden::children, {{start()}, {child_completed(2, "10")}, {child_failed(3, child_error)}}),
      recorded("cancelled", golden::cancelled,
               {{start()}, {completed(6), cancel("enough"), queued("inbox", "\"late\"")}}),
      recorded("continued_as_new", golden::continued, {{start("1")}, {completed(4, "2")}}),
      recorded("keys", golden::keys, {{start()}, {completed(4)}, {completed(10, "5")}}),
      recorded("status", golden::status, {{start()}, {raised("go")}}),
      recorded("recorded_values", golden::recorded_values, {{start()}, {completed(5)}, {fired(7)}}),
      recorded("saga", golden::saga,
               {{start()},
                {completed(2, "\"room 7\"")},
                {failed(4, "full")},
                {fired(6)},
                {completed(8)},
                {failed(10, "closed")}}),
  };
}

// The one that examples/order_timeline.cpp shows.
Golden order() {
  constexpr Timestamp kNewYear{Milliseconds(1'767'225'600'000)};  // 2026
  return {"../../examples/data/order.history",
          [] { return Harness(process_order); },
          {{messages::StartOrchestration{
               "ProcessOrder", std::nullopt, R"({"card":"4111","cents":4200,"id":"order-1001"})", {}}},
           {completed(2, R"({"cents":4200,"transaction":"tx-1"})")},
           {raised("approved", R"({"by":"Ada"})")},
           {completed(7, R"({"tracking":"PD-77"})")}},
          kFirstExecutionId,
          {kNewYear, kNewYear + std::chrono::milliseconds(1'840), kNewYear + std::chrono::minutes(197),
           kNewYear + std::chrono::minutes(198)}};
}

std::vector<Golden> all_goldens() {
  std::vector<Golden> all = steps_and_races();
  for (auto& each : channels()) all.push_back(std::move(each));
  for (auto& each : ends_and_state()) all.push_back(std::move(each));
  all.push_back(order());
  return all;
}

// ---- files --------------------------------------------------------------------------------------------------------

std::filesystem::path path_of(const Golden& golden) {
  return std::filesystem::path(PERDURE_TEST_DATA_DIR) / golden.file;
}

void write_if_missing(const Golden& golden) {
  if (std::filesystem::exists(path_of(golden))) return;
  Harness harness = golden.make();
  harness.execution = golden.execution;
  for (std::size_t i = 0; i < golden.turns.size(); ++i) {
    if (!golden.times.empty()) harness.now = golden.times.at(i);
    static_cast<void>(harness.turn(golden.turns[i]));
  }
  std::ofstream(path_of(golden), std::ios::binary) << write_history_text(harness.history);
}

std::vector<Event> read_file(const Golden& golden) {
  std::ifstream file(path_of(golden), std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path_of(golden) << " is missing; PERDURE_WRITE_GOLDEN=1 writes it";
  std::ostringstream text;
  text << file.rdbuf();
  return file.is_open() ? read_history_text(text.str()) : std::vector<Event>();
}

// ---- the messages that a recorded turn was made of ----------------------------------------------------------------

MessageBody start_of(const events::OrchestrationStarted& start, ExecutionId execution) {
  if (execution == kFirstExecutionId) {
    return messages::StartOrchestration{start.name, std::nullopt, start.input, start.parent};
  }
  return messages::ContinueAsNew{start.name,   std::nullopt,        start.input,
                                 start.parent, start.carry_forward, start.initial_custom_status};
}

std::vector<MessageBody> messages_of(const std::vector<Event>& turn, ExecutionId execution) {
  std::vector<MessageBody> bodies;
  std::size_t carried = 0;
  for (const Event& event : turn) {
    if (const auto* e = std::get_if<events::OrchestrationStarted>(&event.body)) {
      bodies.push_back(start_of(*e, execution));
      carried = e->carry_forward.size();
    } else if (const auto* result = std::get_if<events::ActivityCompleted>(&event.body)) {
      bodies.push_back(completed(result->source, result->result));
    } else if (const auto* failure = std::get_if<events::ActivityFailed>(&event.body)) {
      bodies.push_back(failed_with(failure->source, failure->error));
    } else if (const auto* timer = std::get_if<events::TimerFired>(&event.body)) {
      bodies.push_back(messages::TimerFired{timer->source, timer->fire_at});
    } else if (const auto* child = std::get_if<events::SubOrchestrationCompleted>(&event.body)) {
      bodies.push_back(child_completed(child->source, child->result));
    } else if (const auto* child_error = std::get_if<events::SubOrchestrationFailed>(&event.body)) {
      bodies.push_back(child_failed(child_error->source, child_error->error));
    } else if (const auto* external = std::get_if<events::ExternalEvent>(&event.body)) {
      bodies.push_back(raised(external->name, external->data));
    } else if (const auto* message = std::get_if<events::QueueEventDelivered>(&event.body)) {
      if (carried > 0) {
        --carried;
      } else {
        bodies.push_back(queued(message->queue, message->data));
      }
    } else if (const auto* request = std::get_if<events::OrchestrationCancelRequested>(&event.body)) {
      bodies.push_back(cancel(request->reason));
    }
  }
  return bodies;
}

// ---- the tests ----------------------------------------------------------------------------------------------------

class RecordedHistories : public ::testing::TestWithParam<Golden> {
 protected:
  static void SetUpTestSuite() {
    if (!std::getenv("PERDURE_WRITE_GOLDEN")) return;
    for (const Golden& golden : all_goldens()) write_if_missing(golden);
  }
};

TEST_P(RecordedHistories, AreReplayedWithoutComplaint) {
  Harness harness = GetParam().make();
  harness.execution = GetParam().execution;
  harness.history = read_file(GetParam());
  ASSERT_FALSE(harness.history.empty());
  const auto failure = harness.replay_failure();
  EXPECT_FALSE(failure) << describe(*failure);
}

TEST_P(RecordedHistories, ContinueFromEveryCommitAsTheyDidThen) {
  const std::vector<Event> history = read_file(GetParam());
  ASSERT_FALSE(history.empty());
  for (TurnNumber turn = kFirstTurn; turn <= history.back().turn; ++turn) {
    Harness harness = GetParam().make();
    harness.execution = GetParam().execution;
    std::vector<Event> next;
    for (const Event& event : history) {
      if (event.turn < turn) harness.history.push_back(event);
      if (event.turn == turn) next.push_back(event);
    }
    ASSERT_FALSE(next.empty()) << "turn " << turn;
    harness.now = next.front().time;
    const TurnOutcome outcome = harness.turn(messages_of(next, GetParam().execution));
    ASSERT_EQ(lines_of(outcome.events), lines_of(next)) << "turn " << turn;
    for (std::size_t i = 0; i < next.size(); ++i) {
      // Everything but the version of the engine that writes it.
      EXPECT_TRUE(outcome.events[i].body == next[i].body && outcome.events[i].time == next[i].time) << "turn " << turn;
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<Golden>& golden) {
  return std::filesystem::path(golden.param.file).stem().string();
}

INSTANTIATE_TEST_SUITE_P(Golden, RecordedHistories, ::testing::ValuesIn(all_goldens()), name_of);

}  // namespace
}  // namespace perdure::test
