// A ParentLink as a database stores it: the parent's id in a column of its own, which deletion queries, and the rest as
// one text. Equal links are stored as equal texts.
#pragma once

#include <optional>
#include <string>

#include <perdure/event.h>

namespace perdure {

struct StoredLink {
  std::optional<std::string> parent;
  std::optional<std::string> rest;  // "<execution> <schedule id> <incarnation>"; absent for an imported child
  bool operator==(const StoredLink&) const = default;
};

[[nodiscard]] StoredLink stored_link(const std::optional<ParentLink>& link);
// A corrupt rest is read as a link to the same parent that equals no other link.
[[nodiscard]] std::optional<ParentLink> read_link(const StoredLink& stored);

}  // namespace perdure
