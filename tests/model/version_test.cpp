// Versions: one spelling each, compared as tuples.
#include <perdure/version.h>

#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perdure {
namespace {

TEST(SemanticVersionTest, ParsesThreeNumbers) {
  EXPECT_EQ(SemanticVersion::parse("1.2.3"), (SemanticVersion{1, 2, 3}));
  EXPECT_EQ(SemanticVersion::parse("0.0.0"), (SemanticVersion{0, 0, 0}));
  EXPECT_EQ(SemanticVersion::parse("4294967295.0.10"), (SemanticVersion{4294967295U, 0, 10}));
}

TEST(SemanticVersionTest, RefusesEveryOtherSpelling) {
  for (const char* text : {"",
                           "1",
                           "1.2",
                           "1.2.",
                           "1.2.3.",
                           "1.2.3.4",
                           ".1.2",
                           "1..3",
                           "v1.2.3",
                           "1.2.3-rc",
                           "1.2.3 ",
                           " 1.2.3",
                           "+1.2.3",
                           "-1.2.3",
                           "01.2.3",
                           "1.02.3",
                           "1.2.00",
                           "4294967296.0.0",
                           "99999999999999999999999.0.0",
                           "1,2,3",
                           "1.2.x",
                           "latest"}) {
    EXPECT_EQ(SemanticVersion::parse(text), std::nullopt) << text;
  }
  EXPECT_EQ(SemanticVersion::parse(std::string_view("1.2.3\0", 6)), std::nullopt);
}

TEST(SemanticVersionTest, OfQuotesWhatItRefuses) {
  EXPECT_EQ(SemanticVersion::of("1.2.3"), (SemanticVersion{1, 2, 3}));
  try {
    (void)SemanticVersion::of("1.2");
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'1.2'"));
  }
}

TEST(SemanticVersionTest, ComparesAsTuplesNotAsText) {
  EXPECT_GT(SemanticVersion::of("1.10.0"), SemanticVersion::of("1.9.9"));
  EXPECT_GT(SemanticVersion::of("2.0.0"), SemanticVersion::of("1.99.99"));
  EXPECT_LT(SemanticVersion::of("1.0.2"), SemanticVersion::of("1.0.10"));
  EXPECT_EQ(SemanticVersion::of("1.0.0") <=> SemanticVersion::of("1.0.0"), std::strong_ordering::equal);
}

TEST(SemanticVersionTest, TextParsesBack) {
  for (const SemanticVersion version : {SemanticVersion{}, SemanticVersion{1, 10, 0}, SemanticVersion{0, 0, ~0U}}) {
    EXPECT_EQ(SemanticVersion::parse(version.to_string()), version);
  }
}

TEST(VersionRangeTest, BothEndsBelong) {
  const VersionRange range{SemanticVersion::of("1.2.0"), SemanticVersion::of("1.10.0")};
  EXPECT_TRUE(range.contains(SemanticVersion::of("1.2.0")));
  EXPECT_TRUE(range.contains(SemanticVersion::of("1.9.9")));
  EXPECT_TRUE(range.contains(SemanticVersion::of("1.10.0")));
  EXPECT_FALSE(range.contains(SemanticVersion::of("1.1.99")));
  EXPECT_FALSE(range.contains(SemanticVersion::of("1.10.1")));
  EXPECT_EQ(range.to_string(), "1.2.0 to 1.10.0");
}

TEST(VersionRangeTest, AnInvertedRangeIsEmpty) {
  const VersionRange range{SemanticVersion::of("2.0.0"), SemanticVersion::of("1.0.0")};
  EXPECT_FALSE(range.contains(SemanticVersion::of("1.0.0")));
  EXPECT_FALSE(range.contains(SemanticVersion::of("1.5.0")));
  EXPECT_FALSE(range.contains(SemanticVersion::of("2.0.0")));
}

TEST(EngineVersionTest, ComesFromTheBuild) {
  EXPECT_GE(engine_version(), (SemanticVersion{0, 1, 0}));
}

}  // namespace
}  // namespace perdure
