#include "providers/cursors.h"

#include <charconv>
#include <limits>
#include <optional>
#include <system_error>

namespace perdure {

namespace {

constexpr char kSeparator = ':';
// Stores keep places as numbers with a sign.
constexpr auto kLastPlace = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

std::optional<ProviderError> check_limit(std::string_view list, std::size_t limit) {
  if (limit > 0) return std::nullopt;
  return ProviderError(ProviderErrorKind::kInvalidArgument,
                       "limit must be at least 1 in the query for " + std::string(list));
}

// The number between the name of the list and the end, or the next separator.
std::uint64_t number_in(std::string_view list, const std::string& cursor) {
  std::uint64_t number = 0;
  if (cursor.size() <= list.size()) return number;
  std::from_chars(cursor.data() + list.size() + 1, cursor.data() + cursor.size(), number);
  return number;
}

}  // namespace

std::string cursor_behind(std::string_view list, std::uint64_t place) {
  return std::string(list) + kSeparator + std::to_string(place);
}

std::string cursor_behind(std::string_view list, std::string_view id) {
  return cursor_behind(list, std::uint64_t{id.size()}) + kSeparator + std::string(id);
}

// Both readers make the cursor again from what they have read: what is not the same was not made here.

ProviderResult<std::uint64_t> place_before_page(std::string_view list, std::size_t limit, const std::string& cursor) {
  if (std::optional<ProviderError> error = check_limit(list, limit)) return *error;
  if (cursor.empty()) return std::uint64_t{0};
  const std::uint64_t place = number_in(list, cursor);
  if (place == 0 || place > kLastPlace || cursor != cursor_behind(list, place)) return bad_cursor(list, cursor);
  return place;
}

ProviderResult<std::string> id_before_page(std::string_view list, std::size_t limit, const std::string& cursor) {
  if (std::optional<ProviderError> error = check_limit(list, limit)) return *error;
  if (cursor.empty()) return std::string();
  const std::uint64_t size = number_in(list, cursor);
  if (size == 0 || size > cursor.size()) return bad_cursor(list, cursor);
  std::string id = cursor.substr(cursor.size() - size);
  if (cursor != cursor_behind(list, id)) return bad_cursor(list, cursor);
  return id;
}

ProviderError bad_cursor(std::string_view list, const std::string& cursor) {
  return {ProviderErrorKind::kInvalidArgument, "'" + cursor + "' is not a cursor of this store's list of " +
                                                   std::string(list) + "; pass `next` of the previous page"};
}

}  // namespace perdure
