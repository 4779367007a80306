// Payloads as orchestrations use them: inputs, outputs, and types that nlohmann-json or a user's Codec converts.
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/json.h>
#include "support/harness.h"

namespace perdure::test {
namespace {

struct Order {
  std::string id;
  int amount = 0;
};
void to_json(nlohmann::json& json, const Order& order) {
  json = {{"id", order.id}, {"amount", order.amount}};
}
void from_json(const nlohmann::json& json, Order& order) {
  json.at("id").get_to(order.id);
  json.at("amount").get_to(order.amount);
}

struct Money {
  long cents = 0;
};

}  // namespace
}  // namespace perdure::test

template <>
struct perdure::Codec<perdure::test::Money> {
  static std::string encode(const perdure::test::Money& value) { return std::to_string(value.cents) + "c"; }
  static perdure::test::Money decode(std::string_view text) {
    if (!text.ends_with('c')) throw std::invalid_argument("money ends with a c");
    return {std::stol(std::string(text))};
  }
};

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CodecUse, TypesWithToJsonAndFromJsonGoInAndOut) {
  Harness harness([](OrchestrationContext ctx, Order order) -> Orchestration<Order> {
    order.amount += co_await ctx.schedule_activity<int>("Tax", order);
    co_return order;
  });
  harness.start(R"({"id":"o-1","amount":40})");
  EXPECT_EQ(std::get<events::ActivityScheduled>(harness.history[1].body).input, R"({"amount":40,"id":"o-1"})");
  EXPECT_EQ(harness.turn({completed(2, "2")}).output, R"({"amount":42,"id":"o-1"})");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(CodecUse, ContainersAndJsonItselfGoInAndOut) {
  Harness harness(
      [](OrchestrationContext ctx, std::vector<std::string> names) -> Orchestration<std::map<std::string, int>> {
        const nlohmann::json input = {{"names", names}};
        const auto counts = co_await ctx.schedule_activity<std::vector<int>>("Count", input);
        std::map<std::string, int> result;
        for (std::size_t i = 0; i < names.size(); ++i) result[names[i]] = counts.at(i);
        co_return result;
      });
  harness.start(R"(["b","a"])");
  EXPECT_EQ(std::get<events::ActivityScheduled>(harness.history[1].body).input, R"({"names":["b","a"]})");
  EXPECT_EQ(harness.turn({completed(2, "[1,2]")}).output, R"({"a":2,"b":1})");
}

TEST(CodecUse, AUsersCodecIsUsedEverywhere) {
  Harness harness([](OrchestrationContext ctx, Money money) -> Orchestration<Money> {
    ctx.set_kv_value("money", money);
    const Money paid = co_await ctx.schedule_activity<Money>("Pay", money);
    auto wrong = co_await ctx.schedule_activity<Money>("Pay", paid).as_result();
    if (wrong || wrong.error().source() != Error::Source::kCodec) throw std::runtime_error("no codec error");
    const Money sum{paid.cents + ctx.get_kv_value<Money>("money")->cents};
    co_return sum;
  });
  harness.start("5c");
  harness.turn({completed(3, "7c")});
  EXPECT_EQ(harness.turn({completed(5, "7")}).output, "12c");
}

TEST(CodecUse, StringsOfAllKindsAreJsonStrings) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    const std::string text = "quote \" and\nline";
    const std::string_view view = "view";
    const char* pointer = "pointer";
    auto a = ctx.schedule_activity<void>("A", text);
    auto b = ctx.schedule_activity<void>("A", view);
    auto c = ctx.schedule_activity<void>("A", pointer);
    auto d = ctx.schedule_activity<void>("A", "literal");
    co_await join{a, b, c, d};
  });
  harness.start();
  const auto input = [&](std::size_t i) { return std::get<events::ActivityScheduled>(harness.history[i].body).input; };
  EXPECT_EQ(input(1), R"("quote \" and\nline")");
  EXPECT_EQ(input(2), R"("view")");
  EXPECT_EQ(input(3), R"("pointer")");
  EXPECT_EQ(input(4), R"("literal")");
}

TEST(CodecUse, AStringAndANumberAreDifferent) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto number_as_text = co_await ctx.schedule_activity<std::string>("A").as_result();
    auto text_as_number = co_await ctx.schedule_activity<int>("A").as_result();
    co_return (number_as_text ? "taken" : "refused") + std::string(text_as_number ? "taken" : "refused");
  });
  harness.start();
  harness.turn({completed(2, "42")});
  EXPECT_EQ(harness.turn({completed(4, "\"42\"")}).output, "\"refusedrefused\"");
}

TEST(CodecUse, NumbersThatDoNotFitAreRefused) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto small = co_await ctx.schedule_activity<std::int8_t>("A").as_result();
    auto negative = co_await ctx.schedule_activity<unsigned>("A").as_result();
    auto fraction = co_await ctx.schedule_activity<int>("A").as_result();
    co_return std::string(small ? "1" : "0") + (negative ? "1" : "0") + (fraction ? "1" : "0");
  });
  harness.start();
  harness.turn({completed(2, "128")});
  harness.turn({completed(4, "-1")});
  EXPECT_EQ(harness.turn({completed(6, "1.5")}).output, "\"000\"");
}

TEST(CodecUse, RawPassesThroughUntouched) {
  Harness harness([](OrchestrationContext ctx, Raw input) -> Orchestration<Raw> {
    const Raw result = co_await ctx.schedule_activity<Raw>("A", input);
    co_return result;
  });
  const std::string bytes("\x00\xff not json", 11);
  harness.start(bytes);
  EXPECT_EQ(std::get<events::ActivityScheduled>(harness.history[1].body).input, bytes);
  EXPECT_EQ(harness.turn({completed(2, "")}).output, "");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(CodecUse, OptionalsTakeNullAndAbsent) {
  Harness harness([](OrchestrationContext ctx, std::optional<int> input) -> Orchestration<std::optional<std::string>> {
    auto result = co_await ctx.schedule_activity<std::optional<std::string>>("A", input);
    co_return result;
  });
  harness.start();
  EXPECT_EQ(std::get<events::ActivityScheduled>(harness.history[1].body).input, "null");
  EXPECT_EQ(harness.turn({completed(2, "null")}).output, "null");
}

TEST(CodecUse, AnInputOfTheWrongTypeFailsTheOrchestrationBeforeItsCodeRuns) {
  Harness harness([](OrchestrationContext ctx, int input) -> Orchestration<int> {
    ctx.set_custom_status("must not be");
    co_return input;
  });
  const auto last = harness.start("\"seven\"");
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_THAT(describe(*last.error), HasSubstr("the input of orchestration 'Test' cannot be used"));
  EXPECT_THAT(describe(*last.error), HasSubstr("got a string of 7 bytes"));
  EXPECT_THAT(describe(*last.error), Not(HasSubstr("seven"))) << "payloads stay out of errors";
  EXPECT_EQ(harness.history.size(), 2u);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(CodecUse, AMissingInputIsAFailureUnlessTheTypeAllowsIt) {
  Harness needs([](OrchestrationContext, int input) -> Orchestration<int> { co_return input; });
  EXPECT_EQ(needs.start().status, ExecutionStatus::kFailed);
  Harness takes_none([](OrchestrationContext) -> Orchestration<int> { co_return 1; });
  EXPECT_EQ(takes_none.start("whatever").output, "1");
}

TEST(CodecUse, AnInputThatCannotBeEncodedThrowsWhereItIsScheduled) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::string seen;
    try {
      const std::string no_utf8 = "\xff";
      auto activity = ctx.schedule_activity<void>("A", no_utf8);
    } catch (const std::exception&) {
      seen = "refused";
    }
    co_return seen;
  });
  EXPECT_EQ(harness.start().output, "\"refused\"");
  EXPECT_EQ(harness.history.size(), 2u);
}

TEST(CodecUse, AnOutputThatCannotBeEncodedFailsTheOrchestration) {
  Harness harness([](OrchestrationContext) -> Orchestration<std::string> { co_return "\xff"; });
  EXPECT_EQ(harness.start().status, ExecutionStatus::kFailed);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(CodecUse, AVoidOrchestrationHasNoOutput) {
  Harness harness([](OrchestrationContext) -> Orchestration<void> { co_return; });
  const auto last = harness.start();
  EXPECT_EQ(last.status, ExecutionStatus::kCompleted);
  EXPECT_EQ(last.output, std::nullopt);
}

}  // namespace
}  // namespace perdure::test
