// Cursors: what is read back is what was written, and nothing else is taken for one.
#include "providers/cursors.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace perdure {
namespace {

constexpr std::size_t kLimit = 10;

TEST(Cursors, APlaceIsReadBack) {
  for (const std::uint64_t place : {std::uint64_t{1}, std::uint64_t{10}, std::uint64_t{1} << 62U}) {
    EXPECT_EQ(place_before_page("rows", kLimit, cursor_behind("rows", place)).value(), place);
  }
  EXPECT_EQ(place_before_page("rows", kLimit, "").value(), 0U);
}

TEST(Cursors, AnIdIsReadBack) {
  const std::array<std::string, 6> ids{"a", "rows:1:a", ":", "12", std::string("\0x", 2), std::string(1'000, '9')};
  for (const std::string& id : ids) {
    EXPECT_EQ(id_before_page("rows", kLimit, cursor_behind("rows", id)).value(), id);
  }
  EXPECT_EQ(id_before_page("rows", kLimit, "").value(), "");
}

TEST(Cursors, APageOfNothingIsRefused) {
  EXPECT_EQ(place_before_page("rows", 0, "").error().kind(), ProviderErrorKind::kInvalidArgument);
  EXPECT_EQ(id_before_page("rows", 0, "").error().kind(), ProviderErrorKind::kInvalidArgument);
}

TEST(Cursors, WhatIsNoPlaceIsRefused) {
  const std::string too_great = std::to_string(std::uint64_t{std::numeric_limits<std::int64_t>::max()} + 1);
  for (const std::string& cursor :
       {std::string("rows"), std::string("rows:"), std::string("rows:0"), std::string("rows:01"),
        std::string("rows:1 "), std::string("rows:-1"), std::string("rows:1:a"), std::string("row:1"),
        std::string("rowss:1"), std::string("1"), std::string(":1"), "rows:" + too_great, "rows:9" + too_great}) {
    const ProviderResult<std::uint64_t> place = place_before_page("rows", kLimit, cursor);
    ASSERT_FALSE(place.has_value()) << cursor;
    EXPECT_EQ(place.error().kind(), ProviderErrorKind::kInvalidArgument);
    EXPECT_NE(place.error().message().find("'" + cursor + "'"), std::string::npos) << place.error().message();
  }
}

TEST(Cursors, WhatIsNoIdIsRefused) {
  for (const std::string cursor : {"rows", "rows:", "rows::a", "rows:0:", "rows:1:", "rows:1", "rows:2:a", "rows:1:ab",
                                   "rows:01:a", "row:1:a", "rows:99:a", "rows:18446744073709551615:a", "a"}) {
    const ProviderResult<std::string> id = id_before_page("rows", kLimit, cursor);
    ASSERT_FALSE(id.has_value()) << cursor;
    EXPECT_EQ(id.error().kind(), ProviderErrorKind::kInvalidArgument);
    EXPECT_NE(id.error().message().find("'" + cursor + "'"), std::string::npos) << id.error().message();
  }
}

}  // namespace
}  // namespace perdure
