// Scalars as JSON: strict in what is read, exact in what is written.
#include <perdure/detail/json_scalars.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perdure::detail {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

template <class Call>
std::string error_of(Call call) {
  try {
    (void)call();
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(JsonStringTest, PlainTextIsQuoted) {
  EXPECT_EQ(json_from_string(""), R"("")");
  EXPECT_EQ(json_from_string("hello"), R"("hello")");
  EXPECT_EQ(json_from_string("grün €"), R"("grün €")");
  EXPECT_EQ(json_from_string("\x7f"), "\"\x7f\"");
}

TEST(JsonStringTest, WhatJsonForbidsIsEscaped) {
  EXPECT_EQ(json_from_string("a\"b\\c\nd\te"), R"("a\"b\\c\nd\te")");
  EXPECT_EQ(json_from_string(std::string("\0\x1f", 2)), R"("\u0000\u001f")");
}

TEST(JsonStringTest, EveryValidStringComesBack) {
  std::mt19937_64 random(5);
  const std::string pieces[] = {"a", "\"", "\\", "\n", "ü", "€", "😀", std::string(1, '\0'), "/", "\x7f"};
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (auto length = random() % 12; length > 0; --length) text += pieces[random() % std::size(pieces)];
    EXPECT_EQ(string_from_json(json_from_string(text)), text);
  }
}

TEST(JsonStringTest, InvalidUtf8IsAnErrorThatNamesTheByte) {
  // A stray continuation, an overlong form, a surrogate, too large, cut off, no lead byte at all.
  for (const char* bad : {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xff"}) {
    EXPECT_THAT(error_of([&] { return json_from_string("grün" + std::string(bad)); }), HasSubstr("byte 5 of"));
    EXPECT_THAT(error_of([&] { return json_from_string("\n" + std::string(bad) + "x"); }), HasSubstr("byte 1 of"));
    EXPECT_THAT(error_of([&] { return string_from_json('"' + std::string(bad) + '"'); }),
                StartsWith("expected a JSON string"));
    EXPECT_THAT(error_of([&] { return string_from_json("\"\\n" + std::string(bad) + '"'); }),
                StartsWith("expected a JSON string"));
  }
}

TEST(JsonStringTest, EscapesAreRead) {
  EXPECT_EQ(string_from_json(R"("\u0041\/\b\f\ud83d\ude00")"), "A/\b\f😀");
  EXPECT_EQ(string_from_json(" \t\r\n\"x\" "), "x");
}

TEST(JsonStringTest, EverythingElseIsRefused) {
  EXPECT_EQ(error_of([] { return string_from_json("12"); }), "expected a JSON string, got a number of 2 bytes");
  EXPECT_EQ(error_of([] { return string_from_json(""); }), "expected a JSON string, got nothing");
  EXPECT_EQ(error_of([] { return string_from_json("null"); }), "expected a JSON string, got null of 4 bytes");
  EXPECT_EQ(error_of([] { return string_from_json(std::string(1000, '[')); }),
            "expected a JSON string, got an array of 1000 bytes");
  for (const char* json : {"\"", "x\"", "\"x", "'x'", "\"a\"b\"", "\"a\",\"b\"", "\"\\\"", "\"\\x\"", "\"\\u12\"",
                           "\"\\ud83d\"", "\"a\nb\"", "[\"a\"]", "\"a\" \"b\"", "\xef\xbb\xbf\"a\""}) {
    EXPECT_THAT(error_of([&] { return string_from_json(json); }), StartsWith("expected a JSON string")) << json;
  }
}

TEST(JsonIntegerTest, LimitsComeBack) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kUnsignedMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(json_from_integer(std::int64_t{-7}), "-7");
  EXPECT_EQ(int64_from_json(json_from_integer(kMin)), kMin);
  EXPECT_EQ(int64_from_json(json_from_integer(kMax)), kMax);
  EXPECT_EQ(uint64_from_json(json_from_integer(kUnsignedMax)), kUnsignedMax);
  EXPECT_EQ(uint64_from_json(" 0\n"), 0U);
  EXPECT_EQ(int64_from_json("-0"), 0);
  EXPECT_EQ(uint64_from_json("-0"), 0U);
}

TEST(JsonIntegerTest, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(error_of([] { return int64_from_json("9223372036854775808"); }),
            "expected a JSON integer from -9223372036854775808 to 9223372036854775807, got a number of 19 bytes");
  EXPECT_THAT(error_of([] { return int64_from_json("-9223372036854775809"); }), HasSubstr("from -92"));
  EXPECT_EQ(error_of([] { return uint64_from_json("-1"); }),
            "expected a JSON integer from 0 to 18446744073709551615, got a number of 2 bytes");
  EXPECT_THAT(error_of([] { return uint64_from_json("18446744073709551616"); }), HasSubstr("from 0 to"));
}

TEST(JsonIntegerTest, WhatIsNoIntegerIsRefused) {
  for (const char* json :
       {"", "-", "+1", "01", "-01", "1.0", "1e3", "0x10", "1 2", "1,", "\"1\"", "null", "true", "½"}) {
    EXPECT_THAT(error_of([&] { return int64_from_json(json); }), StartsWith("expected a JSON integer, got")) << json;
    EXPECT_THAT(error_of([&] { return uint64_from_json(json); }), StartsWith("expected a JSON integer, got")) << json;
  }
}

TEST(JsonDoubleTest, TheShortestTextIsWritten) {
  EXPECT_EQ(json_from_double(0.1), "0.1");
  EXPECT_EQ(json_from_double(1.0), "1");
  EXPECT_EQ(json_from_double(-1e300), "-1e+300");
}

TEST(JsonDoubleTest, EveryFiniteValueComesBack) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(double_from_json(json_from_double(value)), value);
  }
  using Limits = std::numeric_limits<double>;
  for (const double value : {0.0, Limits::denorm_min(), Limits::min(), Limits::max(), Limits::lowest()}) {
    EXPECT_EQ(double_from_json(json_from_double(value)), value);
  }
  EXPECT_TRUE(std::signbit(double_from_json(json_from_double(-0.0))));
}

TEST(JsonDoubleTest, WhatJsonDoesNotHaveIsRefused) {
  using Limits = std::numeric_limits<double>;
  for (const double value : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
    EXPECT_THAT(error_of([&] { return json_from_double(value); }), HasSubstr("must be finite"));
  }
  for (const char* json : {"",     "nan", "NaN", "inf",   "Infinity", "-inf", "+1",  "01.5",  ".5",  "1.",
                           "1.e3", "1e",  "1e+", "0x1p3", "1.5.2",    "1,5",  "1 2", "\"1\"", "--1", "1e5x"}) {
    EXPECT_THAT(error_of([&] { return double_from_json(json); }), StartsWith("expected a JSON number, got")) << json;
  }
  EXPECT_EQ(error_of([] { return double_from_json("1e999"); }),
            "expected a JSON number within the range of a double, got a number of 5 bytes");
}

TEST(JsonDoubleTest, EveryJsonNumberIsRead) {
  EXPECT_EQ(double_from_json("12"), 12.0);
  EXPECT_EQ(double_from_json(" -0.5e-1 "), -0.05);
  EXPECT_EQ(double_from_json("1E+2"), 100.0);
  EXPECT_EQ(double_from_json("123456789012345678901234567890"), 123456789012345678901234567890.0);
}

TEST(JsonBoolTest, OnlyTheTwoWords) {
  EXPECT_TRUE(bool_from_json("true"));
  EXPECT_FALSE(bool_from_json(" false\n"));
  for (const char* json : {"", "True", "1", "0", "\"true\"", "truefalse", "null"}) {
    EXPECT_THAT(error_of([&] { return bool_from_json(json); }), StartsWith("expected a JSON boolean, got")) << json;
  }
}

}  // namespace
}  // namespace perdure::detail
