// History files: a whole history out and in again, and errors that name the line.
#include "model/history_text.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/random_model.h"
#include "support/sample_model.h"

namespace perdure {
namespace {

using testing::StartsWith;

std::string read_error(std::string_view text) {
  try {
    (void)read_history_text(text);
    return "";
  } catch (const DecodeError& error) {
    return error.what();
  }
}

const std::string kOneEvent =
    "perdure history 1\n"
    "event 5 ExternalSubscribed turn 2 time 1700000000000 bytes 17\n"
    "1 0.1.0\n"
    "name:1:x\n"
    "\n";

TEST(HistoryTextTest, IsWhatTheHeaderSays) {
  const Event event{5, 2, Timestamp(Milliseconds(1700000000000)), SemanticVersion{0, 1, 0},
                    events::ExternalSubscribed{"x"}};
  EXPECT_EQ(write_history_text({{event}}), kOneEvent);
  EXPECT_TRUE(read_history_text(kOneEvent) == std::vector<Event>{event});
}

TEST(HistoryTextTest, AnEmptyHistoryIsOneLine) {
  EXPECT_EQ(write_history_text({}), "perdure history 1\n");
  EXPECT_TRUE(read_history_text("perdure history 1\n").empty());
}

TEST(HistoryTextTest, EveryKindComesBack) {
  const std::vector<Event> events = test_support::sample_events();
  EXPECT_TRUE(read_history_text(write_history_text(events)) == events);
}

TEST(HistoryTextTest, RandomEventsComeBack) {
  test_support::RandomModel random(3);
  std::vector<Event> events(500);
  for (Event& event : events) event = random.event();
  EXPECT_TRUE(read_history_text(write_history_text(events)) == events);
}

TEST(HistoryTextTest, ControlsAreEscapedAndComeBack) {
  const std::string hostile = std::string("\x1b[31m\xc2\x9b\x7f\xe2\x80\xae\\\xff\0", 14);
  const Event event{5, 2, Timestamp(Milliseconds(0)), SemanticVersion{0, 1, 0},
                    events::KeyValueSet{"key\n\r", hostile}};
  const std::string text = write_history_text({{event}});
  EXPECT_THAT(text, testing::HasSubstr(" escaped "));
  EXPECT_THAT(text, testing::HasSubstr(R"(\x1b[31m\xc2\x9b\x7f\xe2\x80\xae\\\xff\x00)"));
  EXPECT_EQ(text.find_first_of(std::string("\x1b\x7f\x9b\xff\r\0", 6)), std::string::npos);
  EXPECT_TRUE(read_history_text(text) == std::vector<Event>{event});
}

TEST(HistoryTextTest, EscapesHaveOneForm) {
  const auto with_body = [](const std::string& word, const std::string& body) {
    return "perdure history 1\nevent 5 ExternalSubscribed turn 2 time 0 " + word + ' ' + std::to_string(body.size()) +
           '\n' + body + '\n';
  };
  EXPECT_EQ(read_error(with_body("escaped", "1 0.1.0\nname:1:\\x1b\n")), "");
  EXPECT_EQ(read_error(with_body("bytes", "1 0.1.0\nname:1:\x1b\n")), "");  // as earlier engines wrote it
  for (const char* name : {"\\x1B", "\\x61", "\x1b", "\\", "\\x1", "\\y", "\\x0a"}) {
    EXPECT_EQ(read_error(with_body("escaped", "1 0.1.0\nname:1:" + std::string(name))),
              "line 2: event 5: its body is not escaped canonically")
        << name;
  }
}

TEST(HistoryTextTest, CommentsComeBeforeTheEvents) {
  std::string text = kOneEvent;
  text.insert(text.find('\n') + 1, "# made by hand\n#\n");
  EXPECT_EQ(read_history_text(text).size(), 1U);
  EXPECT_THAT(read_error(kOneEvent + "# too late\n"), StartsWith("line 6: expected 'event <id>"));
}

TEST(HistoryTextTest, ErrorsNameTheLine) {
  EXPECT_EQ(read_error(""), "line 1: the line does not end");
  EXPECT_EQ(read_error("perdure history 1"), "line 1: the line does not end");
  EXPECT_EQ(read_error("perdure history 2\n"), "line 1: expected 'perdure history 1'");
  EXPECT_EQ(read_error("perdure history 1\n# a\n\n"),
            "line 3: expected 'event <id> <kind> turn <n> time <ms> bytes <n>', got ''");
  EXPECT_EQ(read_error("perdure history 1\nevent 1 Lunch turn 1 time 0 bytes 8\n1 0.1.0\n\n"),
            "line 2: unknown event kind 'Lunch'");
  EXPECT_EQ(read_error("perdure history 1\nevent 1 ExternalSubscribed turn 1 time 0 bytes 8\n1 0.1.0\n\n"),
            "line 2: event 1 (ExternalSubscribed): field 'name' is missing");
  EXPECT_EQ(read_error(kOneEvent + "event 6 KeyValuesCleared turn 2 time 0 bytes 9\n1 0.1.0\n\n"),
            "line 6: event 6: no newline after its 9 bytes, of which 9 are present");
  EXPECT_EQ(read_error(kOneEvent + "event 6 KeyValuesCleared turn 2 time 0 bytes 18446744073709551615\n1 0.1.0\n\n"),
            "line 6: event 6: no newline after its 18446744073709551615 bytes, of which 9 are present");
}

TEST(HistoryTextTest, EventLinesAreExact) {
  for (const char* line :
       {"event 1 KeyValuesCleared turn 1 time 0", "event 1 KeyValuesCleared turn 1 time 0 bytes 8 ",
        "event  1 KeyValuesCleared turn 1 time 0 bytes 8", "Event 1 KeyValuesCleared turn 1 time 0 bytes 8",
        "event 01 KeyValuesCleared turn 1 time 0 bytes 8", "event 1 KeyValuesCleared turn +1 time 0 bytes 8",
        "event 1 KeyValuesCleared turn 1 time -0 bytes 8", "event -1 KeyValuesCleared turn 1 time 0 bytes 8",
        "event 1 KeyValuesCleared turn 1 time 0 bytes 08", "event 1 KeyValuesCleared turn 1 time 0 byte 8",
        "event 1 KeyValuesCleared turn 1 time 9223372036854775808 bytes 8"}) {
    EXPECT_THAT(read_error("perdure history 1\n" + std::string(line) + "\n1 0.1.0\n\n"), StartsWith("line 2: "))
        << line;
  }
  EXPECT_EQ(read_error("perdure history 1\nevent 1 KeyValuesCleared turn 1 time -5 bytes 8\n1 0.1.0\n\n"), "");
}

TEST(HistoryTextTest, EveryTruncationIsRefusedOrAShorterHistory) {
  std::vector<Event> events = test_support::sample_events();
  events.resize(8);
  const std::string text = write_history_text(events);
  for (std::size_t size = 0; size < text.size(); ++size) {
    try {
      EXPECT_LT(read_history_text(std::string_view(text).substr(0, size)).size(), events.size());
    } catch (const DecodeError& error) {
      EXPECT_THAT(error.what(), StartsWith("line "));
    }
  }
}

}  // namespace
}  // namespace perdure
