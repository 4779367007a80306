// Activities in the registry, and what a runtime does with a registry that has mistakes.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/perdure.h>

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Orchestration<void> nothing(OrchestrationContext) {
  co_return;
}

int one(ActivityContext&) {
  return 1;
}

detail::ActivityCall::Reports reports_to(std::optional<ActivityOutcome>& ended) {
  return {.ended = [&ended](ActivityOutcome outcome) { ended.emplace(std::move(outcome)); }, .heartbeat = {}};
}

// Runs a registered activity here, and gives what it came to.
ActivityOutcome run(const Registry& registry, std::string_view name, Payload input = std::nullopt) {
  const auto handler = registry.resolve_activity(name);
  if (!handler) throw std::logic_error("not registered");
  std::optional<ActivityOutcome> ended;
  detail::ActivityCall::About about;
  about.activity_name = name;
  about.instance_id = "i";
  const auto call = std::make_shared<detail::ActivityCall>(about, nullptr, Logger(), reports_to(ended));
  (*handler)(call, input);
  if (!ended) throw std::logic_error("it has not ended");
  return *ended;
}

TEST(RegistryActivities, AreResolvedByName) {
  Registry registry;
  registry.add_activity("One", one).add_activity("Two", [](ActivityContext&) { return 2; });
  EXPECT_TRUE(registry.has_activity("One"));
  EXPECT_FALSE(registry.has_activity("one"));
  EXPECT_FALSE(registry.has("One")) << "an activity is no orchestration";
  EXPECT_EQ(registry.resolve_activity("Three"), nullptr);
  EXPECT_THAT(registry.activity_names(), ElementsAre("One", "Two"));
  EXPECT_EQ(*run(registry, "One"), "1");
  EXPECT_EQ(*run(registry, "Two"), "2");
  EXPECT_NO_THROW(registry.check());
}

TEST(RegistryActivities, AnActivityAndAnOrchestrationMayShareAName) {
  Registry registry;
  registry.add_activity("Same", one).add_orchestration("Same", nothing);
  EXPECT_THAT(registry.errors(), IsEmpty());
}

TEST(RegistryActivities, TakeTheirContextByReferenceOrByValue) {
  Registry registry;
  registry.add_activity("Reference", [](ActivityContext& ctx) { return ctx.instance_id(); });
  registry.add_activity("Constant", [](const ActivityContext& ctx) { return ctx.instance_id(); });
  registry.add_activity("Value", [](ActivityContext ctx, int n) { return ctx.instance_id() + std::to_string(n); });
  EXPECT_EQ(*run(registry, "Reference"), "\"i\"");
  EXPECT_EQ(*run(registry, "Constant"), "\"i\"");
  EXPECT_EQ(*run(registry, "Value", "7"), "\"i7\"");
}

TEST(RegistryActivities, TakeWhatTheyCaptureWithThem) {
  auto owned = std::make_unique<int>(5);
  Registry registry;
  registry.add_activity("Owner", [mine = std::move(owned)](ActivityContext&) mutable { return ++*mine; });
  const Registry copy = registry;
  EXPECT_EQ(*run(registry, "Owner"), "6");
  EXPECT_EQ(*run(copy, "Owner"), "7") << "copies of a registry run the same function";
}

TEST(RegistryActivities, WithoutAResultTheOutcomeIsAbsent) {
  bool ran = false;
  Registry registry;
  registry.add_activity("Do", [&](ActivityContext&, const std::string& what) { ran = what == "it"; });
  EXPECT_EQ(*run(registry, "Do", "\"it\""), std::nullopt);
  EXPECT_TRUE(ran);
}

TEST(RegistryActivities, RawPassesBytesThrough) {
  Registry registry;
  registry.add_activity("Raw", [](ActivityContext&, Raw input) { return Raw(input.text() + "!"); });
  EXPECT_EQ(*run(registry, "Raw", "\x01{"), "\x01{!");
}

TEST(RegistryActivities, TypedNamesAreRegisteredUnderTheirName) {
  const Activity<int(std::string)> length{"Length"};
  const Activity<int()> answer{"Answer"};
  Registry registry;
  registry.add_activity(length,
                        [](ActivityContext&, const std::string& text) { return static_cast<int>(text.size()); });
  registry.add_activity(answer, [](ActivityContext&) { return 42; });
  EXPECT_EQ(*run(registry, "Length", "\"four\""), "4");
  EXPECT_EQ(*run(registry, "Answer"), "42");
}

TEST(RegistryActivities, AsynchronousOnesEndWhenTheyAreCompleted) {
  std::optional<ActivityCompletion<int>> later;
  std::optional<ActivityOutcome> ended;
  Registry registry;
  registry.add_async_activity("Later", [&](ActivityContext, int n, ActivityCompletion<int> done) {
    EXPECT_EQ(n, 3);
    later.emplace(std::move(done));
  });
  const auto call =
      std::make_shared<detail::ActivityCall>(detail::ActivityCall::About{}, nullptr, Logger(), reports_to(ended));
  (*registry.resolve_activity("Later"))(call, "3");
  EXPECT_FALSE(ended);
  EXPECT_TRUE(later->complete(4));
  ASSERT_TRUE(ended);
  EXPECT_EQ(**ended, "4");
  EXPECT_FALSE(later->complete(5)) << "the first outcome counts";
  EXPECT_FALSE(later->fail("no"));
  EXPECT_EQ(**ended, "4");
}

TEST(RegistryActivities, AnAsynchronousOneWhoseHandleIsDroppedFails) {
  Registry registry;
  registry.add_async_activity("Lost", [](ActivityContext, ActivityCompletion<void>) {});
  const auto outcome = run(registry, "Lost");
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("dropped"));
}

// What it throws is the reason, not that its handle went with the exception.
TEST(RegistryActivities, AnAsynchronousOneThatThrowsFailsWithWhatItThrew) {
  Registry registry;
  registry.add_async_activity(
      "Throws", [](ActivityContext, ActivityCompletion<int>) { throw NonRetryableError("no such account"); });
  registry.add_async_activity(
      "ThrowsToo", [](ActivityContext, int, ActivityCompletion<int>) { throw std::runtime_error("out of sockets"); });
  const auto outcome = run(registry, "Throws");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "no such account");
  EXPECT_FALSE(outcome.error().retryable);
  const auto other = run(registry, "ThrowsToo", "1");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "out of sockets");
}

TEST(RegistryActivities, ExceptionsBecomeFailures) {
  Registry registry;
  registry.add_activity("Throws", [](ActivityContext&) -> int { throw std::runtime_error("card declined"); });
  registry.add_activity("Final", [](ActivityContext&) -> int { throw NonRetryableError("no such account"); });
  registry.add_activity("Odd", [](ActivityContext&) -> int { throw 42; });  // NOLINT: what users may do
  const auto thrown = run(registry, "Throws");
  EXPECT_EQ(thrown.error(), (ApplicationError{ApplicationErrorKind::kActivityFailed, "card declined", true}));
  const auto final_error = run(registry, "Final");
  EXPECT_EQ(final_error.error(), (ApplicationError{ApplicationErrorKind::kActivityFailed, "no such account", false}));
  const auto odd = run(registry, "Odd");
  EXPECT_EQ(odd.error().kind, ApplicationErrorKind::kActivityFailed);
  EXPECT_NE(odd.error().message, "");
}

TEST(RegistryActivities, AnInputOfAnotherTypeFailsWithoutRunning) {
  bool ran = false;
  Registry registry;
  registry.add_activity("Number", [&](ActivityContext&, int) { ran = true; });
  for (const Payload& input : {Payload("\"text\""), Payload("{"), Payload("99999999999999"), Payload()}) {
    const auto outcome = run(registry, "Number", input);
    ASSERT_FALSE(outcome) << input.value_or("absent");
    EXPECT_THAT(outcome.error().message, HasSubstr("'Number'")) << "it names the activity";
    EXPECT_FALSE(outcome.error().retryable) << "it will not become another type";
  }
  EXPECT_FALSE(ran);
}

// ---- mistakes ----

TEST(RegistryActivities, MistakesAreCollected) {
  Registry registry;
  registry.add_activity("Twice", one)
      .add_activity("Twice", one)
      .add_activity("", one)
      .add_activity("__perdure:mine", one)
      .add_async_activity("Twice", [](ActivityContext, ActivityCompletion<int>) {});
  ASSERT_EQ(registry.errors().size(), 4U);
  EXPECT_THAT(registry.errors()[0], HasSubstr("'Twice'"));
  EXPECT_THAT(registry.errors()[1], HasSubstr("name must not be empty"));
  EXPECT_THAT(registry.errors()[2], HasSubstr("__perdure:"));
  EXPECT_THAT(registry.errors()[3], HasSubstr("'Twice'"));
  EXPECT_FALSE(registry.has_activity("__perdure:mine"));
  try {
    registry.check();
    FAIL() << "there are mistakes";
  } catch (const std::invalid_argument& error) {
    for (const std::string& each : registry.errors()) EXPECT_THAT(error.what(), HasSubstr(each));
  }
}

TEST(RegistryActivities, AreMerged) {
  Registry first;
  first.add_activity("One", one).add_activity("Both", [](ActivityContext&) { return 1; });
  Registry second;
  second.add_activity("Two", one).add_activity("Both", [](ActivityContext&) { return 2; }).add_activity("", one);
  first.merge(second);
  EXPECT_THAT(first.activity_names(), ElementsAre("Both", "One", "Two"));
  EXPECT_EQ(*run(first, "Both"), "1") << "the first stays";
  ASSERT_EQ(first.errors().size(), 2U) << "the duplicate, and the other's own mistake";
  EXPECT_THAT(first.errors()[0], HasSubstr("'Both'"));
}

TEST(RegistryActivities, MergingARegistryWithItselfChangesNothing) {
  Registry registry;
  registry.add_activity("One", one);
  registry.merge(registry);
  EXPECT_THAT(registry.errors(), IsEmpty());
  EXPECT_THAT(registry.activity_names(), ElementsAre("One"));
}

std::string refusal_of_runtime(const std::shared_ptr<Provider>& store, Registry registry, RuntimeOptions options = {}) {
  try {
    const Runtime runtime(store, std::move(registry), std::move(options));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(RuntimeMaking, ARegistryWithMistakesIsRefusedWithAllOfThem) {
  const auto store = make_memory_provider();
  Registry registry;
  registry.add_activity("", one).add_activity("__perdure:mine", one).add_orchestration("Flow", "new", nothing);
  const std::string said = refusal_of_runtime(store, registry);
  EXPECT_THAT(said, HasSubstr("name must not be empty"));
  EXPECT_THAT(said, HasSubstr("__perdure:mine"));
  EXPECT_THAT(said, HasSubstr("'Flow'"));
  EXPECT_THAT(Client(store).list_nodes(), IsEmpty()) << "such a node does not sign on";
}

TEST(RuntimeMaking, OptionsThatMakeNoSenseAreRefused) {
  const auto store = make_memory_provider();
  RuntimeOptions options;
  options.max_attempts = 0;
  EXPECT_THAT(refusal_of_runtime(store, Registry(), options), HasSubstr("max_attempts"));
  EXPECT_THAT(Client(store).list_nodes(), IsEmpty());
}

// "if the registry or the options are not valid, with everything that is wrong with them"
TEST(RuntimeMaking, MistakesOfBothKindsAreSaidAtOnce) {
  RuntimeOptions options;
  options.max_attempts = 0;
  Registry registry;
  registry.add_activity("", one);
  const std::string said = refusal_of_runtime(make_memory_provider(), registry, options);
  EXPECT_THAT(said, HasSubstr("max_attempts"));
  EXPECT_THAT(said, HasSubstr("name must not be empty"));
}

TEST(RuntimeMaking, ANullProviderIsRefused) {
  EXPECT_THAT(refusal_of_runtime(nullptr, Registry()), HasSubstr("provider"));
}

}  // namespace
}  // namespace perdure::test
