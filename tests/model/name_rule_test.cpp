// The rule for names, by itself. tests/client/names_test.cpp has every place where a name comes in.
#include "model/name_rule.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace perdure {
namespace {

using namespace std::string_view_literals;

TEST(NameRule, TakesText) {
  for (const std::string_view name : {"a"sv, "order-42"sv, " "sv, "grün/#?%"sv, "日本語"sv, "\U0001F680"sv}) {
    EXPECT_EQ(problem_with_name("an instance id", name), std::nullopt) << name;
  }
}

TEST(NameRule, SaysWhatIsWrong) {
  EXPECT_EQ(problem_with_name("a tag", ""), "a tag must not be empty");
  EXPECT_EQ(problem_with_name("a tag", "a\0b"sv), "a tag must not contain control characters, but is 'a\\u0000b'");
  EXPECT_EQ(problem_with_name("a tag", "line\n"), "a tag must not contain control characters, but is 'line\\n'");
  EXPECT_EQ(problem_with_name("a tag", "del\x7f"), "a tag must not contain control characters, but is 'del\\u007f'");
  EXPECT_EQ(problem_with_name("a tag", "\xc2\x80"), "a tag must not contain control characters, but is '\\u0080'");
  EXPECT_EQ(problem_with_name("a tag", "a\xff"), "a tag must be valid UTF-8, but is 'a\\xff'");
}

TEST(NameRule, RefusesEveryFormOfBadUtf8) {
  // A lone continuation, a cut sequence, an overlong form, a surrogate, more than U+10FFFF.
  for (const std::string_view name : {"\x80"sv, "\xe2\x82"sv, "\xc0\x80"sv, "\xed\xa0\x80"sv, "\xf4\x90\x80\x80"sv}) {
    EXPECT_NE(problem_with_name("a tag", name), std::nullopt);
  }
}

TEST(NameRule, ALongNameIsCutInTheError) {
  EXPECT_LT(problem_with_name("a tag", std::string(10'000, 'x') + '\n')->size(), 300U);
}

}  // namespace
}  // namespace perdure
