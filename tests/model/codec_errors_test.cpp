// The codec and bytes that are not what they should be: every error names where and what, and nothing crashes.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/event_codec.h"
#include "model/message_codec.h"
#include "support/random_model.h"
#include "support/sample_model.h"

namespace perdure {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint16_t kFailed = 3;
constexpr std::uint16_t kActivityScheduled = 6;
constexpr std::uint16_t kActivityCompleted = 7;
constexpr std::uint16_t kTimerCreated = 10;

// The message of the error, or "" if the body is accepted.
std::string event_error(std::uint16_t kind, const std::string& body) {
  try {
    (void)decode_event({7, kind, 1, {}, body});
    return "";
  } catch (const DecodeError& error) {
    return error.what();
  }
}

std::string message_error(std::uint16_t kind, std::string_view body) {
  try {
    (void)decode_message_body(kind, body);
    return "";
  } catch (const DecodeError& error) {
    return error.what();
  }
}

std::string scheduled_error(const std::string& fields) {
  return event_error(kActivityScheduled, "1 0.1.0\n" + fields);
}

TEST(CodecErrorsTest, AMissingFieldIsNamed) {
  EXPECT_EQ(scheduled_error(""), "event 7 (ActivityScheduled): field 'name' is missing");
  EXPECT_EQ(scheduled_error("input:1:x\n"),
            "event 7 (ActivityScheduled): field 'name' is missing: found 'input' at byte 8");
  EXPECT_EQ(message_error(1, "1 0.1.0\n"), "message (StartOrchestration): field 'name' is missing");
  EXPECT_EQ(message_error(2, "1 0.1.0\nname:1:x\nparent.instance:1:p\n"),
            "message (ContinueAsNew): field 'parent.execution' is missing");
}

TEST(CodecErrorsTest, UnknownRepeatedAndMisorderedFieldsAreNamed) {
  const std::string tail = ": unknown, repeated or out of order";
  EXPECT_EQ(scheduled_error("name:1:x\ncolour:3:red\n"),
            "event 7 (ActivityScheduled): unexpected field 'colour' at byte 17" + tail);
  EXPECT_EQ(scheduled_error("name:1:x\nname:1:x\n"),
            "event 7 (ActivityScheduled): unexpected field 'name' at byte 17" + tail);
  EXPECT_EQ(scheduled_error("name:1:x\ntag:1:t\ninput:1:i\n"),
            "event 7 (ActivityScheduled): unexpected field 'input' at byte 25" + tail);
  EXPECT_EQ(scheduled_error("name:1:x\n\n"), "event 7 (ActivityScheduled): unexpected field '\\n' at byte 17" + tail);
}

TEST(CodecErrorsTest, LengthsAreCanonicalAndFit) {
  for (const char* length :
       {"", "-1", "+1", "01", " 1", "1 ", "0x1", "99999999999999999999", "340282366920938463463374607431768211456"}) {
    EXPECT_THAT(scheduled_error("name:" + std::string(length) + ":x\n"),
                AllOf(StartsWith("event 7 (ActivityScheduled): field 'name': its length '" + std::string(length) + "'"),
                      HasSubstr("not a canonical number")));
  }
  EXPECT_EQ(
      scheduled_error("name:3:x\n"),
      "event 7 (ActivityScheduled): field 'name': its length 3 and a newline do not fit into the remaining 2 bytes");
  EXPECT_THAT(scheduled_error("name:18446744073709551615:x\n"), HasSubstr("do not fit"));
  EXPECT_THAT(scheduled_error("name:18446744073709551614:x\n"), HasSubstr("do not fit"));
  EXPECT_THAT(scheduled_error("name:1:x"), HasSubstr("do not fit"));
  EXPECT_EQ(scheduled_error("name:1:xyz\n"), "event 7 (ActivityScheduled): field 'name': no newline after its 1 bytes");
  EXPECT_THAT(scheduled_error("name:5"), HasSubstr("its length '5' is not"));
}

TEST(CodecErrorsTest, NumbersAreCanonicalAndInRange) {
  for (const std::string number : {"", "-1", "+1", "01", "00", " 1", "1 ", "1.0", "x", "18446744073709551616"}) {
    const std::string field = "source:" + std::to_string(number.size()) + ':' + number + '\n';
    EXPECT_EQ(
        event_error(kActivityCompleted, "1 0.1.0\n" + field),
        "event 7 (ActivityCompleted): field 'source': '" + number + "' is not a canonical unsigned 64-bit number");
  }
  for (const std::string time : {"-0", "-01", "9223372036854775808", "-9223372036854775809", "-", "--1"}) {
    const std::string field = "fire_at:" + std::to_string(time.size()) + ':' + time + '\n';
    EXPECT_EQ(event_error(kTimerCreated, "1 0.1.0\n" + field),
              "event 7 (TimerCreated): field 'fire_at': '" + time + "' is not a canonical number of milliseconds");
  }
}

TEST(CodecErrorsTest, VersionsEnumeratorsAndBooleansAreChecked) {
  EXPECT_EQ(message_error(1, "1 0.1.0\nname:1:x\nversion:4:1.02\n"),
            "message (StartOrchestration): field 'version': '1.02' is not a version like 1.2.3");
  EXPECT_EQ(event_error(9, "1 0.1.0\nsource:1:2\nreason:5:mood?\n"),
            "event 7 (ActivityCancelRequested): field 'reason': 'mood?' is not a known name");
  EXPECT_EQ(event_error(kFailed, "1 0.1.0\nerror.category:5:alien\n"),
            "event 7 (OrchestrationFailed): field 'error.category': 'alien' is not a known name");
  EXPECT_EQ(event_error(kFailed, "1 0.1.0\nerror.category:11:application\nerror.kind:9:panicked!\n"),
            "event 7 (OrchestrationFailed): field 'error.kind': 'panicked!' is not a known name");
  EXPECT_EQ(event_error(kFailed,
                        "1 0.1.0\nerror.category:11:application\nerror.kind:8:panicked\n"
                        "error.message:0:\nerror.retryable:4:True\n"),
            "event 7 (OrchestrationFailed): field 'error.retryable': 'True' is not true or false");
  EXPECT_EQ(event_error(kFailed,
                        "1 0.1.0\nerror.category:6:poison\nerror.subject:8:activity\nerror.instance:0:\n"
                        "error.execution:1:1\nerror.activity:0:\nerror.activity_id:1:0\n"
                        "error.attempts:10:4294967296\n"),
            "event 7 (OrchestrationFailed): field 'error.attempts': '4294967296' is not a canonical unsigned 32-bit "
            "number");
}

TEST(CodecErrorsTest, TheHeaderLineIsChecked) {
  EXPECT_EQ(event_error(kActivityScheduled, ""), "event 7 (ActivityScheduled): the header line is missing");
  EXPECT_EQ(message_error(1, "1 0.1.0"), "message (StartOrchestration): the header line is missing");
  for (const char* header :
       {"", "1", "1.0.0", "0 0.1.0", "01 0.1.0", "+1 0.1.0", "x 0.1.0", " 1 0.1.0", "4294967296 1"}) {
    EXPECT_EQ(event_error(kActivityScheduled, std::string(header) + "\nname:1:x\n"),
              "event 7 (ActivityScheduled): the header line '" + std::string(header) +
                  "' is not a format and an engine version like '1 0.1.0'");
  }
  for (const char* version : {"", "0.1", "0.1.0 ", " 0.1.0", "0.01.0", "0.1.0\r"}) {
    EXPECT_THAT(event_error(kActivityScheduled, "1 " + std::string(version) + "\nname:1:x\n"),
                HasSubstr("in the header line is not like '0.1.0'"));
  }
}

TEST(CodecErrorsTest, ANewerFormatSaysWhoWroteIt) {
  EXPECT_EQ(event_error(kActivityScheduled, "2 0.9.0\nwhatever"),
            "event 7 (ActivityScheduled): format version 2, written by engine 0.9.0 (this engine is " +
                engine_version().to_string() + " and reads up to format version 1); use a newer engine to read it");
}

TEST(CodecErrorsTest, AnUnknownKindSaysWhoWroteIt) {
  const std::string tail =
      ", written by engine 0.9.0 (this engine is " + engine_version().to_string() + "); use a newer ";
  EXPECT_EQ(event_error(42, "1 0.9.0\nwhatever"),
            "event 7: unknown event kind 42" + tail + "engine to read this history");
  EXPECT_EQ(event_error(0, "1 0.9.0\n"), "event 7: unknown event kind 0" + tail + "engine to read this history");
  EXPECT_EQ(event_error(28, "1 0.9.0\n"), "event 7: unknown event kind 28" + tail + "engine to read this history");
  EXPECT_EQ(message_error(42, "1 0.9.0\n"), "message: unknown message kind 42" + tail + "engine to read this message");
  EXPECT_EQ(message_error(13, "1 0.9.0\n"), "message: unknown message kind 13" + tail + "engine to read this message");
  EXPECT_EQ(event_error(42, "rubbish"), "event 7: the header line is missing");
}

TEST(CodecErrorsTest, TheErrorOfAHistoryNamesTheEvent) {
  const std::vector<EventRecord> records = {{1, 12, 1, {}, "1 0.1.0\nname:1:x\n"}, {2, 12, 1, {}, "1 0.1.0\n"}};
  try {
    (void)decode_history(records);
    FAIL() << "accepted";
  } catch (const DecodeError& error) {
    EXPECT_STREQ(error.what(), "event 2 (ExternalSubscribed): field 'name' is missing");
  }
}

TEST(CodecErrorsTest, ErrorsQuoteHostileBytesPrintably) {
  const std::string error = scheduled_error("name:1:x\n" + std::string(100000, '\x01') + ":");
  EXPECT_LT(error.size(), 400U);
  EXPECT_THAT(error, HasSubstr("\\u0001"));
  EXPECT_THAT(error, HasSubstr("(100000 bytes)"));
}

TEST(CodecErrorsDeathTest, AValueThatNoReaderWouldKnowIsNeverWritten) {
  const MessageBody message =
      messages::ActivityFailed{2, ApplicationError{static_cast<ApplicationErrorKind>(99), "", false}};
  EXPECT_DEATH((void)encode_message_body(message), "no reader would know");
}

// Decodes; what is accepted must be the canonical encoding of what came out.
void expect_refused_or_canonical(const EventRecord& record) {
  try {
    EXPECT_TRUE(encode_event(decode_event(record)) == record) << record.body;
  } catch (const DecodeError& error) {
    EXPECT_THAT(error.what(), StartsWith("event " + std::to_string(record.event_id)));
  }
}

TEST(CodecErrorsTest, EveryTruncationIsRefusedOrAnotherValue) {
  for (const Event& event : test_support::sample_events()) {
    EventRecord record = encode_event(event);
    while (!record.body.empty()) {
      record.body.pop_back();
      expect_refused_or_canonical(record);
    }
  }
  for (const MessageBody& message : test_support::sample_messages()) {
    const std::string body = encode_message_body(message);
    for (std::size_t size = 0; size < body.size(); ++size) {
      // An exact allocation, so that the address sanitizer sees a read beyond the end.
      const std::vector<char> cut(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_THAT(message_error(message_kind_code(message), {cut.data(), cut.size()}),
                  testing::AnyOf("", StartsWith("message (")));
    }
  }
}

TEST(CodecErrorsTest, EveryChangedByteAndWrongKindIsRefusedOrAnotherValue) {
  test_support::RandomModel random(7);
  for (const Event& event : test_support::sample_events()) {
    const EventRecord record = encode_event(event);
    for (std::size_t i = 0; i < record.body.size(); ++i) {
      EventRecord changed = record;
      changed.body[i] = static_cast<char>(random.below(256));
      expect_refused_or_canonical(changed);
      changed.body[i] = "0:\n1-."[random.below(6)];
      expect_refused_or_canonical(changed);
    }
    for (std::uint16_t kind = 0; kind < 30; ++kind) {
      expect_refused_or_canonical({record.event_id, kind, record.turn, record.time, record.body});
    }
  }
}

TEST(CodecErrorsTest, ALongListIsBoundedByItsBytes) {
  std::string body = "1 0.1.0\nname:1:x\n";
  for (int i = 0; i < 10000; ++i) body += "carry.queue:0:\n";
  const MessageBody message = decode_message_body(2, body);
  EXPECT_EQ(std::get<messages::ContinueAsNew>(message).carry_forward.size(), 10000U);
  EXPECT_EQ(message_error(2, body + "carry.queue:"),
            "message (ContinueAsNew): field 'carry.queue': its length '' is not a canonical number that fits into the "
            "body");
}

}  // namespace
}  // namespace perdure
