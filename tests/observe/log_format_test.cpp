// The text of records: shapes, and what hostile bytes become.
#include <array>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include <perdure/log.h>

namespace perdure {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::system_clock::time_point kTime =
    std::chrono::sys_days(std::chrono::year(2024) / 5 / 6) + 7h + 8min + 9s + 12345us;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string text(std::string_view message, LogFormat format, std::initializer_list<LogField> fields = {}) {
  const LogRecord record{LogLevel::kWarn, log_target::kRuntime, message, {fields.begin(), fields.size()}};
  return format_log_record(record, format, kTime);
}

// The message of a JSON line without its frame.
std::string json_message(std::string_view message) {
  const std::string line = text(message, LogFormat::kJson);
  const std::string before =
      R"({"timestamp":"2024-05-06T07:08:09.012345Z","level":"warn","target":"perdure::runtime","message":")";
  const std::string after = "\",\"fields\":{}}\n";
  EXPECT_TRUE(line.starts_with(before)) << line;
  EXPECT_TRUE(line.ends_with(after)) << line;
  return line.substr(before.size(), line.size() - before.size() - after.size());
}

TEST(LogFormatTest, CompactIsOneLineOfKeysAndValues) {
  EXPECT_EQ(text("lock lost", LogFormat::kCompact, {{"instance_id", "order-42"}, {"attempt", "3"}}),
            "2024-05-06T07:08:09.012345Z WARN  perdure::runtime: lock lost instance_id=order-42 attempt=3\n");
}

TEST(LogFormatTest, CompactQuotesWhatWouldBeAmbiguous) {
  EXPECT_EQ(text("m", LogFormat::kCompact, {{"a", ""}, {"b", "x y"}, {"c", "x=y"}, {"d", "say \"hi\""}, {"e", "\n"}}),
            "2024-05-06T07:08:09.012345Z WARN  perdure::runtime: m "
            R"(a="" b="x y" c="x=y" d="say \"hi\"" e="\n")"
            "\n");
}

TEST(LogFormatTest, PrettyHasOneFieldPerLine) {
  EXPECT_EQ(text("lock lost", LogFormat::kPretty, {{"instance_id", "order-42"}, {"attempt", "3"}}),
            "2024-05-06T07:08:09.012345Z WARN  perdure::runtime: lock lost\n"
            "    instance_id: order-42\n"
            "    attempt: 3\n");
}

TEST(LogFormatTest, PrettyIndentsLinesSoThatNoneLooksLikeARecord) {
  EXPECT_EQ(text("first\nsecond\x1b[2J", LogFormat::kPretty, {{"k", "a\nb"}}),
            "2024-05-06T07:08:09.012345Z WARN  perdure::runtime: first\n"
            "    second\\u001b[2J\n"
            "    k: a\n"
            "        b\n");
}

TEST(LogFormatTest, JsonIsOneObjectPerLine) {
  EXPECT_EQ(text("lock lost", LogFormat::kJson, {{"instance_id", "order-42"}, {"attempt", "3"}}),
            R"({"timestamp":"2024-05-06T07:08:09.012345Z","level":"warn","target":"perdure::runtime",)"
            R"("message":"lock lost","fields":{"instance_id":"order-42","attempt":"3"}})"
            "\n");
}

TEST(LogFormatTest, JsonEscapesQuotesBackslashesAndControls) {
  EXPECT_EQ(json_message("a\"b\\c"), R"(a\"b\\c)");
  EXPECT_EQ(json_message("\n\r\t"), R"(\n\r\t)");
  EXPECT_EQ(json_message(std::string_view("\0\x01\x1f\x7f", 4)), R"(\u0000\u0001\u001f\u007f)");
  EXPECT_EQ(json_message("\xC2\x9B"), R"(\u009b)");                        // the one-byte CSI of terminals
  EXPECT_EQ(json_message("\xE2\x80\xA8\xE2\x80\xAE"), R"(\u2028\u202e)");  // a line separator, a direction override
}

TEST(LogFormatTest, JsonEscapesKeysTargetsAndValues) {
  const std::array fields{LogField{"k\"", "v\n"}};
  const LogRecord record{LogLevel::kError, "t\\", "", fields};
  EXPECT_EQ(format_log_record(record, LogFormat::kJson, kTime),
            R"({"timestamp":"2024-05-06T07:08:09.012345Z","level":"error","target":"t\\","message":"",)"
            R"("fields":{"k\"":"v\n"}})"
            "\n");
}

TEST(LogFormatTest, ValidUtf8StaysAsItIs) {
  const std::string valid = "Grüße, 世界, \xF0\x9F\x98\x80, \xF4\x8F\xBF\xBF";
  EXPECT_EQ(json_message(valid), valid);
}

TEST(LogFormatTest, EachInvalidByteBecomesAReplacementCharacter) {
  const std::string r(kReplacement);
  EXPECT_EQ(json_message("a\xFFz"), "a" + r + "z");
  EXPECT_EQ(json_message("\x80"), r);                          // continuation without a lead
  EXPECT_EQ(json_message("\xC3"), r);                          // cut off at the end
  EXPECT_EQ(json_message("\xC3z"), r + "z");                   // the byte after it is not swallowed
  EXPECT_EQ(json_message("\xC0\xAF"), r + r);                  // overlong
  EXPECT_EQ(json_message("\xED\xA0\x80"), r + r + r);          // surrogate
  EXPECT_EQ(json_message("\xF4\x90\x80\x80"), r + r + r + r);  // beyond U+10FFFF
  EXPECT_EQ(json_message("\xE2\x82\"\\"), r + r + R"(\"\\)");  // the quote is still escaped
}

TEST(LogFormatTest, NoByteBreaksASingleLineFormat) {
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  for (const LogFormat format : {LogFormat::kCompact, LogFormat::kJson}) {
    const std::string line = text(every_byte, format, {{every_byte, every_byte}});
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    for (const char c : line.substr(0, line.size() - 1)) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  }
}

TEST(LogFormatTest, TimesBeforeTheEpochAreWholeDatesToo) {
  const LogRecord record{LogLevel::kInfo, "t", "m", {}};
  EXPECT_EQ(format_log_record(record, LogFormat::kCompact, std::chrono::system_clock::time_point(-1us)),
            "1969-12-31T23:59:59.999999Z INFO  t: m\n");
}

}  // namespace
}  // namespace perdure
