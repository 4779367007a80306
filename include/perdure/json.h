// Values of every type that nlohmann-json converts, as payloads. The only public header that includes nlohmann-json.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include <nlohmann/json.hpp>

#include <perdure/codec.h>

namespace perdure {

namespace detail {
template <class T>
inline constexpr bool has_built_in_codec =
    std::is_arithmetic_v<T> || std::is_same_v<T, std::string> || std::is_same_v<T, Raw> || is_optional<T>;
}  // namespace detail

template <class T>
  requires(!detail::has_built_in_codec<T> &&
           requires(nlohmann::json json, const T value) {
             json = value;
             json.template get<T>();
           })
struct Codec<T> {
  static std::string encode(const T& value) { return nlohmann::json(value).dump(); }
  static T decode(std::string_view text) { return nlohmann::json::parse(text).template get<T>(); }
};

}  // namespace perdure
