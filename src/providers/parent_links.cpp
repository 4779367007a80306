#include "providers/parent_links.h"

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace perdure {

namespace {

// Removes a number and the space after it from the front of the text; returns 0 if there is none.
std::uint64_t take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

}  // namespace

StoredLink stored_link(const std::optional<ParentLink>& link) {
  if (!link) return {};
  return {.parent = link->instance,
          .rest = std::to_string(link->execution_id) + ' ' + std::to_string(link->schedule_id) + ' ' +
                  std::to_string(link->incarnation)};
}

std::optional<ParentLink> read_link(const StoredLink& stored) {
  if (!stored.parent) return std::nullopt;
  std::string_view rest = stored.rest ? std::string_view(*stored.rest) : std::string_view();
  ParentLink link;
  link.instance = *stored.parent;
  link.execution_id = take_number(rest);
  link.schedule_id = take_number(rest);
  link.incarnation = take_number(rest);
  return link;
}

}  // namespace perdure
