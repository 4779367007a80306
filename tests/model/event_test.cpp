// Events: what class each kind is, what it is called, and the line that stands for it.
#include <perdure/event.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/message.h>
#include "support/random_model.h"

namespace perdure {
namespace {

using testing::StartsWith;

// The position is part of the stored format.
template <class Body>
void expect_event_kind(std::size_t position, std::string_view name, EventClass event_class) {
  const EventBody body = Body{};
  EXPECT_EQ(body.index() + 1, position) << name;
  EXPECT_EQ(kind_name(body), name);
  EXPECT_EQ(classify(body), event_class) << name;
  EXPECT_THAT(summarize(body), StartsWith(std::string(name)));
}

TEST(EventTest, EveryKindHasItsCodeNameAndClass) {
  expect_event_kind<events::OrchestrationStarted>(1, "OrchestrationStarted", EventClass::kInput);
  expect_event_kind<events::OrchestrationCompleted>(2, "OrchestrationCompleted", EventClass::kTerminal);
  expect_event_kind<events::OrchestrationFailed>(3, "OrchestrationFailed", EventClass::kTerminal);
  expect_event_kind<events::OrchestrationContinuedAsNew>(4, "OrchestrationContinuedAsNew", EventClass::kTerminal);
  expect_event_kind<events::OrchestrationCancelRequested>(5, "OrchestrationCancelRequested", EventClass::kInput);
  expect_event_kind<events::ActivityScheduled>(6, "ActivityScheduled", EventClass::kDecision);
  expect_event_kind<events::ActivityCompleted>(7, "ActivityCompleted", EventClass::kInput);
  expect_event_kind<events::ActivityFailed>(8, "ActivityFailed", EventClass::kInput);
  expect_event_kind<events::ActivityCancelRequested>(9, "ActivityCancelRequested", EventClass::kBreadcrumb);
  expect_event_kind<events::TimerCreated>(10, "TimerCreated", EventClass::kDecision);
  expect_event_kind<events::TimerFired>(11, "TimerFired", EventClass::kInput);
  expect_event_kind<events::ExternalSubscribed>(12, "ExternalSubscribed", EventClass::kDecision);
  expect_event_kind<events::ExternalEvent>(13, "ExternalEvent", EventClass::kInput);
  expect_event_kind<events::ExternalSubscriptionCancelled>(14, "ExternalSubscriptionCancelled",
                                                           EventClass::kBreadcrumb);
  expect_event_kind<events::QueueSubscribed>(15, "QueueSubscribed", EventClass::kDecision);
  expect_event_kind<events::QueueEventDelivered>(16, "QueueEventDelivered", EventClass::kInput);
  expect_event_kind<events::QueueSubscriptionCancelled>(17, "QueueSubscriptionCancelled", EventClass::kBreadcrumb);
  expect_event_kind<events::SubOrchestrationScheduled>(18, "SubOrchestrationScheduled", EventClass::kDecision);
  expect_event_kind<events::SubOrchestrationCompleted>(19, "SubOrchestrationCompleted", EventClass::kInput);
  expect_event_kind<events::SubOrchestrationFailed>(20, "SubOrchestrationFailed", EventClass::kInput);
  expect_event_kind<events::SubOrchestrationCancelRequested>(21, "SubOrchestrationCancelRequested",
                                                             EventClass::kBreadcrumb);
  expect_event_kind<events::OrchestrationChained>(22, "OrchestrationChained", EventClass::kDecision);
  expect_event_kind<events::CustomStatusUpdated>(23, "CustomStatusUpdated", EventClass::kDecision);
  expect_event_kind<events::KeyValueSet>(24, "KeyValueSet", EventClass::kDecision);
  expect_event_kind<events::KeyValueCleared>(25, "KeyValueCleared", EventClass::kDecision);
  expect_event_kind<events::KeyValuesCleared>(26, "KeyValuesCleared", EventClass::kDecision);
  expect_event_kind<events::ValueRecorded>(27, "ValueRecorded", EventClass::kDecision);
  EXPECT_EQ(std::variant_size_v<EventBody>, 27U) << "a new kind needs a line above";
}

template <class Body>
void expect_message_kind(std::size_t position, std::string_view name) {
  const MessageBody body = Body{};
  EXPECT_EQ(body.index() + 1, position) << name;
  EXPECT_EQ(kind_name(body), name);
}

TEST(MessageTest, EveryKindHasItsCodeAndName) {
  expect_message_kind<messages::StartOrchestration>(1, "StartOrchestration");
  expect_message_kind<messages::ContinueAsNew>(2, "ContinueAsNew");
  expect_message_kind<messages::ActivityCompleted>(3, "ActivityCompleted");
  expect_message_kind<messages::ActivityFailed>(4, "ActivityFailed");
  expect_message_kind<messages::TimerFired>(5, "TimerFired");
  expect_message_kind<messages::ExternalRaised>(6, "ExternalRaised");
  expect_message_kind<messages::QueueMessage>(7, "QueueMessage");
  expect_message_kind<messages::SubOrchestrationCompleted>(8, "SubOrchestrationCompleted");
  expect_message_kind<messages::SubOrchestrationFailed>(9, "SubOrchestrationFailed");
  expect_message_kind<messages::CancelInstance>(10, "CancelInstance");
  expect_message_kind<messages::TerminateInstance>(11, "TerminateInstance");
  expect_message_kind<messages::ExecuteActivity>(12, "ExecuteActivity");
  EXPECT_EQ(std::variant_size_v<MessageBody>, 12U) << "a new kind needs a line above";
}

TEST(EventTest, EnumeratorsHaveTexts) {
  EXPECT_EQ(to_string(CancelReason::kDroppedFuture), "dropped_future");
  EXPECT_EQ(to_string(CancelReason::kOrchestrationTerminal), "orchestration_terminal");
  EXPECT_EQ(to_string(CancelReason::kOrchestrationTerminalCompleted), "orchestration_terminal_completed");
  EXPECT_EQ(to_string(CancelReason::kOrchestrationTerminalFailed), "orchestration_terminal_failed");
  EXPECT_EQ(to_string(CancelReason::kOrchestrationTerminalContinuedAsNew), "orchestration_terminal_continued_as_new");
  EXPECT_EQ(to_string(RecordedValueKind::kGuid), "guid");
  EXPECT_EQ(to_string(RecordedValueKind::kUtcNow), "utc_now");
  EXPECT_EQ(to_string(RecordedValueKind::kRandom), "random");
}

TEST(SummarizeTest, TellsEventsOfAKindApart) {
  EXPECT_EQ(summarize(events::ActivityScheduled{"ChargeCard", R"({"id":"o-1"})", "s-1", "gpu", {}}),
            R"(ActivityScheduled 'ChargeCard' input={"id":"o-1"} session=s-1 tag=gpu)");
  EXPECT_EQ(summarize(events::ActivityCompleted{2, "42"}), "ActivityCompleted of 2 result=42");
  EXPECT_EQ(summarize(events::ActivityFailed{2, ApplicationError{ApplicationErrorKind::kCancelled, "late", false}}),
            "ActivityFailed of 2 error=cancelled: late");
  EXPECT_EQ(summarize(events::TimerFired{3, Timestamp(Milliseconds(1700))}), "TimerFired of 3 fire_at=1700");
  EXPECT_EQ(summarize(events::QueueSubscriptionCancelled{4, CancelReason::kDroppedFuture}),
            "QueueSubscriptionCancelled of 4 reason=dropped_future");
  EXPECT_EQ(summarize(events::SubOrchestrationScheduled{"Child", "a::sub::5", "1", SemanticVersion{1, 2, 3}}),
            "SubOrchestrationScheduled 'Child' instance=a::sub::5 version=1.2.3 input=1");
  EXPECT_EQ(summarize(events::OrchestrationStarted{
                "Order", SemanticVersion{1, 0, 0}, "1", ParentLink{"boss", 1, 7}, {{"q", "a"}, {"q", "b"}}, "busy"}),
            "OrchestrationStarted 'Order' version=1.0.0 input=1 parent=boss of 7 carried=2 custom_status=busy");
  EXPECT_EQ(summarize(events::KeyValueSet{"colour", "grün"}), "KeyValueSet 'colour' value=grün");
  EXPECT_EQ(summarize(events::ValueRecorded{RecordedValueKind::kRandom, "7"}), "ValueRecorded random=7");
  EXPECT_EQ(summarize(events::CustomStatusUpdated{"busy"}), "CustomStatusUpdated status=busy");
  EXPECT_EQ(summarize(events::CustomStatusUpdated{}), "CustomStatusUpdated status=(cleared)");
  EXPECT_EQ(summarize(events::KeyValuesCleared{}), "KeyValuesCleared");
}

TEST(SummarizeTest, AbsentEmptyAndAnEmptyJsonStringDiffer) {
  EXPECT_EQ(summarize(events::ActivityCompleted{2, std::nullopt}), "ActivityCompleted of 2");
  EXPECT_EQ(summarize(events::ActivityCompleted{2, ""}), "ActivityCompleted of 2 result=(empty)");
  EXPECT_EQ(summarize(events::ActivityCompleted{2, R"("")"}), R"(ActivityCompleted of 2 result="")");
}

TEST(SummarizeTest, LongPayloadsAreShortenedAndSayTheirSize) {
  EXPECT_EQ(summarize(events::OrchestrationCompleted{std::string(80, 'x')}),
            "OrchestrationCompleted output=" + std::string(80, 'x'));
  EXPECT_EQ(summarize(events::OrchestrationCompleted{std::string(1234, 'x')}),
            "OrchestrationCompleted output=" + std::string(80, 'x') + "… (1234 bytes)");
  // The cut does not split a character: 79 bytes, then one of two bytes.
  EXPECT_EQ(summarize(events::OrchestrationCompleted{std::string(79, 'x') + "üü"}),
            "OrchestrationCompleted output=" + std::string(79, 'x') + "… (83 bytes)");
}

TEST(SummarizeTest, UnprintableBytesAreEscaped) {
  EXPECT_EQ(summarize(events::ExternalSubscribed{"a\nb\tc\rd"}), R"(ExternalSubscribed 'a\nb\tc\rd')");
  EXPECT_EQ(summarize(events::ExternalSubscribed{std::string("\0\x1b\x7f\xff", 4)}),
            R"(ExternalSubscribed '\u0000\u001b\u007f\xff')");
  EXPECT_EQ(summarize(events::ExternalSubscribed{"\xc2\x85 \xe2\x80\xa8 \xe2\x80\xae"}),
            R"(ExternalSubscribed '\u0085 \u2028 \u202e')");
}

TEST(SummarizeTest, IsAlwaysOneShortPrintableLine) {
  test_support::RandomModel random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string line = summarize(random.event_body());
    EXPECT_LT(line.size(), 2500U);
    for (const char c : line) ASSERT_GE(static_cast<unsigned char>(c), 0x20) << line;
  }
}

}  // namespace
}  // namespace perdure
