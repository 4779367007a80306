// The codec: whatever is encoded comes back the same, and the bytes are those of every engine before.
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "model/event_codec.h"
#include "model/message_codec.h"
#include "support/data_file.h"
#include "support/random_model.h"
#include "support/sample_model.h"

namespace perdure {
namespace {

using test_support::RandomModel;

// Messages carry the version of the running engine; the samples must not depend on it.
std::string as_written_by_0_1_0(const std::string& body) {
  return "1 0.1.0" + body.substr(body.find('\n'));
}

void expect_round_trip(const Event& event) {
  const EventRecord record = encode_event(event);
  EXPECT_EQ(record.event_id, event.id);
  EXPECT_EQ(record.kind, event.body.index() + 1);
  EXPECT_EQ(record.turn, event.turn);
  EXPECT_EQ(record.time, event.time);
  const Event decoded = decode_event(record);
  EXPECT_TRUE(decoded == event) << record.body;
  EXPECT_TRUE(encode_event(decoded) == record) << record.body;
}

// In its envelope, which has the links.
void expect_round_trip(const MessageBody& body) {
  const Message message{"order-1", 3, Timestamp(Milliseconds(7)), body};
  const MessageRecord record = encode_message(message);
  EXPECT_EQ(static_cast<std::size_t>(record.kind), body.index() + 1);
  const Message decoded = decode_message(record);
  EXPECT_TRUE(decoded == message) << record.body;
  EXPECT_TRUE(encode_message(decoded) == record) << record.body;
}

TEST(CodecRoundTripTest, SamplesHaveEveryKind) {
  std::vector<bool> events(std::variant_size_v<EventBody>);
  for (const Event& event : test_support::sample_events()) events[event.body.index()] = true;
  EXPECT_EQ(events, std::vector<bool>(events.size(), true));
  std::vector<bool> messages(std::variant_size_v<MessageBody>);
  for (const MessageBody& message : test_support::sample_messages()) messages[message.index()] = true;
  EXPECT_EQ(messages, std::vector<bool>(messages.size(), true));
}

TEST(CodecRoundTripTest, SamplesComeBack) {
  for (const Event& event : test_support::sample_events()) expect_round_trip(event);
  for (const MessageBody& message : test_support::sample_messages()) expect_round_trip(message);
}

void expect_random_round_trips(RandomModel random) {
  for (std::size_t kind = 0; kind < std::variant_size_v<EventBody>; ++kind) {
    Event event = random.event();
    event.body = random.event_body(kind);
    expect_round_trip(event);
  }
  for (std::size_t kind = 0; kind < std::variant_size_v<MessageBody>; ++kind) {
    expect_round_trip(random.message_body(kind));
  }
}

TEST(CodecRoundTripTest, RandomValuesOfEveryKindComeBack) {
  std::random_device fresh;
  for (std::size_t round = 0; round < 200 && !HasFailure(); ++round) {
    const std::uint64_t seed = fresh();
    SCOPED_TRACE("seed " + std::to_string(seed));
    EXPECT_NO_THROW(expect_random_round_trips(RandomModel(seed)));
  }
}

TEST(CodecRoundTripTest, AHistoryComesBackInOrder) {
  const std::vector<Event> events = test_support::sample_events();
  std::vector<EventRecord> records;
  records.reserve(events.size());
  for (const Event& event : events) records.push_back(encode_event(event));
  EXPECT_TRUE(decode_history(records) == events);
  EXPECT_TRUE(decode_history({}).empty());
}

TEST(CodecRoundTripTest, AbsentAndEmptyPayloadsDiffer) {
  const auto body = [](Payload payload) {
    return encode_message_body(messages::QueueMessage{"q", std::move(payload)});
  };
  EXPECT_EQ(as_written_by_0_1_0(body(std::nullopt)), "1 0.1.0\nqueue:1:q\n");
  EXPECT_EQ(as_written_by_0_1_0(body("")), "1 0.1.0\nqueue:1:q\ndata:0:\n");
}

TEST(CodecRoundTripTest, MessagesNameTheEngineThatWroteThem) {
  const std::string body = encode_message_body(messages::CancelInstance{"late"});
  EXPECT_EQ(body, "1 " + engine_version().to_string() + "\nreason:4:late\n");
}

TEST(CodecRoundTripTest, ABodyOfAnotherEngineVersionIsReadAndKeepsIt) {
  const EventRecord record{5, 12, 2, {}, "1 0.9.17\nname:1:x\n"};
  const Event event = decode_event(record);
  EXPECT_EQ(event.engine_version, (SemanticVersion{0, 9, 17}));
  EXPECT_TRUE(encode_event(event) == record);
  EXPECT_TRUE(decode_message_body(10, "1 0.9.17\nreason:1:x\n") == MessageBody(messages::CancelInstance{"x"}));
}

// Line feeds stay, what else a text file should not have becomes \x1f.
std::string readable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = c == '\n' || (byte >= 0x20 && byte < 0x7F);
    text += plain ? std::string(1, c)
                  : std::string("\\x") + "0123456789abcdef"[byte >> 4U] + "0123456789abcdef"[byte & 15U];
  }
  return text;
}

// If this fails, the stored format has changed: histories that exist would no longer be read.
TEST(CodecRoundTripTest, TheBytesAreTheStoredFormat) {
  std::string text;
  for (const Event& event : test_support::sample_events()) {
    const EventRecord record = encode_event(event);
    text += "== event " + std::to_string(record.kind) + ' ' + std::string(kind_name(event.body)) + '\n' +
            readable(record.body);
  }
  for (const MessageBody& message : test_support::sample_messages()) {
    text += "== message " + std::to_string(message_kind_code(message)) + ' ' + std::string(kind_name(message)) + '\n' +
            readable(as_written_by_0_1_0(encode_message_body(message)));
  }
  test_support::expect_data_file("bodies.txt", text);
}

}  // namespace
}  // namespace perdure
