// Tokens of instances name the instance as well, so that a batch knows whom its turns concern.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <perdure/fetch.h>
#include "providers/lock_names.h"

namespace perdure::postgres {

struct InstanceLock {
  std::int64_t key = 0;
  std::int64_t secret = 0;
  std::string instance;
  bool operator==(const InstanceLock&) const = default;
};

// A token is all of its bytes: one whose end was changed is none of ours.
[[nodiscard]] inline std::string check_digits(std::string_view instance) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char letter : instance) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return std::to_string(hash % 1'000'000);
}

// "i17-4711:123456:order-1"
[[nodiscard]] inline LockToken instance_token(const InstanceLock& lock) {
  return {make_token({.queue = 'i', .row = lock.key, .secret = lock.secret}).value + ":" + check_digits(lock.instance) +
          ":" + lock.instance};
}
// Nothing if it is not one of this store's.
[[nodiscard]] inline std::optional<InstanceLock> instance_lock(const LockToken& token) {
  const std::size_t first = token.value.find(':');
  const std::size_t second = first == std::string::npos ? first : token.value.find(':', first + 1);
  if (second == std::string::npos) return std::nullopt;
  const std::optional<LockName> name = read_token({token.value.substr(0, first)}, 'i');
  std::string instance = token.value.substr(second + 1);
  if (!name || token.value.substr(first + 1, second - first - 1) != check_digits(instance)) return std::nullopt;
  return InstanceLock{.key = name->row, .secret = name->secret, .instance = std::move(instance)};
}

// Two of them have the same token: then the second one must see what the first has done.
template <class Element>
[[nodiscard]] bool repeats(std::span<const Element> elements) {
  std::set<std::string_view> tokens;
  return std::any_of(elements.begin(), elements.end(), [&tokens](const Element& element) {
    if constexpr (std::is_same_v<Element, LockToken>) {
      return !tokens.insert(element.value).second;
    } else {
      return !tokens.insert(element.token.value).second;
    }
  });
}

}  // namespace perdure::postgres
