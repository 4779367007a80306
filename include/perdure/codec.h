// Codec<T>: how a user's value becomes the bytes kept in history, and back. The bytes are JSON.
//
// Strings, numbers, bool and std::optional of them are built in. <perdure/json.h> adds every type that nlohmann-json
// can convert. `perdure::Raw` passes bytes through untouched. For anything else specialise Codec:
//
//   template <> struct perdure::Codec<Money> {
//     static std::string encode(const Money& value);
//     static Money decode(std::string_view text);   // throws any std::exception on bad text
//   };
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <perdure/detail/json_scalars.h>
#include <perdure/types.h>

namespace perdure {

// Bytes for which this library answers for nothing: no quotes are added, nothing is parsed. Raw() is an absent payload.
class Raw {
 public:
  Raw() = default;
  explicit Raw(const char* text) : payload_(text) {}
  explicit Raw(std::string bytes) : payload_(std::move(bytes)) {}
  explicit Raw(Payload payload) : payload_(std::move(payload)) {}

  [[nodiscard]] const Payload& payload() const noexcept { return payload_; }
  // The bytes; empty when the payload is empty or absent.
  [[nodiscard]] std::string text() const { return payload_.value_or(std::string()); }
  bool operator==(const Raw&) const = default;

 private:
  Payload payload_;
};

template <class T>
struct Codec {
  static_assert(!sizeof(T*),
                "perdure has no Codec for this type: include <perdure/json.h> and give the type to_json and from_json, "
                "or specialise perdure::Codec for it");
};

template <>
struct Codec<std::string> {
  static std::string encode(const std::string& value) { return detail::json_from_string(value); }
  static std::string decode(std::string_view text) { return detail::string_from_json(text); }
};

template <>
struct Codec<bool> {
  static std::string encode(bool value) { return value ? "true" : "false"; }
  static bool decode(std::string_view text) { return detail::bool_from_json(text); }
};

template <class T>
  requires(std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>)
struct Codec<T> {
  using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  static std::string encode(T value) { return detail::json_from_integer(static_cast<Wide>(value)); }
  static T decode(std::string_view text) {
    const Wide wide = parse(text);
    if (!std::in_range<T>(wide)) throw std::invalid_argument("number out of range: " + std::string(text));
    return static_cast<T>(wide);
  }

 private:
  static Wide parse(std::string_view text) {
    if constexpr (std::is_signed_v<T>) {
      return detail::int64_from_json(text);
    } else {
      return detail::uint64_from_json(text);
    }
  }
};

template <std::floating_point T>
struct Codec<T> {
  static std::string encode(T value) { return detail::json_from_double(static_cast<double>(value)); }
  static T decode(std::string_view text) { return static_cast<T>(detail::double_from_json(text)); }
};

template <class T>
struct Codec<std::optional<T>> {
  static std::string encode(const std::optional<T>& value) { return value ? Codec<T>::encode(*value) : "null"; }
  static std::optional<T> decode(std::string_view text) {
    if (text == "null") return std::nullopt;
    return Codec<T>::decode(text);
  }
};

namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

// What a value is encoded as: literals and views are strings.
template <class T>
using encoded_as =
    std::conditional_t<std::is_convertible_v<const T&, std::string_view> && !std::is_same_v<T, Raw>, std::string, T>;

template <class T, class U>
Payload encode_payload(const U& value) {
  if constexpr (std::is_same_v<T, Raw>) {
    return Raw(value).payload();
  } else if constexpr (std::is_same_v<T, U>) {
    return Codec<T>::encode(value);
  } else {
    return Codec<T>::encode(T(value));
  }
}

// Throws whatever the codec throws; an absent payload is a value for Raw and std::optional only.
template <class T>
T decode_payload(const Payload& payload) {
  if constexpr (std::is_void_v<T>) {
    return;
  } else if constexpr (std::is_same_v<T, Raw>) {
    return Raw(payload);
  } else {
    if (payload) return Codec<T>::decode(*payload);
    if constexpr (is_optional<T>) {
      return std::nullopt;
    } else {
      throw std::invalid_argument("expected a value, but the payload is absent");
    }
  }
}

}  // namespace detail
}  // namespace perdure
