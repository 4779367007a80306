// Where a page of a list ended, as text for the next call. A cursor names its list, so that one of another list is
// refused, and a place instead of an offset, so that what comes and goes between two pages moves nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <perdure/provider_error.h>

namespace perdure {

// Of a list whose rows have numbers, from 1: "activities:17".
[[nodiscard]] std::string cursor_behind(std::string_view list, std::uint64_t place);
// Of a list by id: "starts:5:order". The length tells a cursor that was cut or got longer on its way.
[[nodiscard]] std::string cursor_behind(std::string_view list, std::string_view id);

// What a page of up to `limit` rows comes behind; 0 or "": it is the first. kInvalidArgument for a limit of 0, and for
// a cursor that was not made for this list.
[[nodiscard]] ProviderResult<std::uint64_t> place_before_page(std::string_view list, std::size_t limit,
                                                              const std::string& cursor);
[[nodiscard]] ProviderResult<std::string> id_before_page(std::string_view list, std::size_t limit,
                                                         const std::string& cursor);

[[nodiscard]] ProviderError bad_cursor(std::string_view list, const std::string& cursor);

}  // namespace perdure
