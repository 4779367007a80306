// The text format of stored bodies: a header line, then fields in a fixed order.
//
//   body    = header *field
//   header  = format " " engine LF        format: 1; engine: the version of the engine that wrote the body, e.g. 0.1.0
//   field   = key ":" length ":" value LF  length: of the value in bytes, so that a value needs no escaping
//
//   value of a             is
//   string, payload        its bytes
//   integer                decimal, without '+' or leading zeros
//   time, duration         milliseconds, as an integer; a time counts from 1970-01-01 UTC
//   version                1.2.3
//   enumerator             its text
//   bool                   true or false
//
// An absent optional value is not written, an empty one has length 0. A member struct is a group of fields with dotted
// keys; a list is the group repeated. A value has exactly one encoding, and the reader accepts nothing else.
//
// What the fields of a struct are is said once, by a function `fields(archive, value)` in perdure::detail, which names
// them in order to a FieldWriter or a FieldReader:
//
//   template <class Archive>
//   void fields(Archive& archive, Ref<Archive, events::ActivityCompleted> e) {
//     archive.field("source", e.source);
//     archive.field("result", e.result);
//   }
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <perdure/types.h>
#include <perdure/version.h>
#include "model/canonical_number.h"
#include "model/check.h"
#include "model/names.h"

namespace perdure::detail {

// What `fields` gets: a value to fill, or one to look at.
template <class Archive, class T>
using Ref = std::conditional_t<Archive::kReads, T&, const T&>;

// Makes `variant` hold a default-constructed alternative `index`, which must be less than their number.
template <class... Alternatives>
void emplace_alternative(std::variant<Alternatives...>& variant, std::size_t index) {
  using Variant = std::variant<Alternatives...>;
  using Emplace = void (*)(Variant&);
  static constexpr std::array<Emplace, sizeof...(Alternatives)> kEmplace = {
      [](Variant& v) { v.template emplace<Alternatives>(); }...};
  kEmplace[index](variant);
}

class FieldWriter {
 public:
  static constexpr bool kReads = false;

  // Writes the header line.
  explicit FieldWriter(const SemanticVersion& engine);

  template <class T>
  void field(std::string_view key, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      PERDURE_CHECK(is_enumerator(value), "no reader would know this value");
      write(key, enum_text(value));
    } else if constexpr (std::same_as<T, bool>) {
      write(key, value ? "true" : "false");
    } else if constexpr (std::same_as<T, Timestamp>) {
      write_signed(key, value.time_since_epoch().count());
    } else if constexpr (std::same_as<T, Milliseconds>) {
      write_signed(key, value.count());
    } else if constexpr (std::unsigned_integral<T>) {
      write_unsigned(key, value);
    } else if constexpr (std::same_as<T, SemanticVersion>) {
      write_version(key, value);
    } else {
      write(key, value);
    }
  }

  template <class T>
  void field(std::string_view key, const std::optional<T>& value) {
    if (value) field(key, *value);
  }

  // A struct that may be absent. The key of its first field, which must not be optional, is what a reader looks for.
  template <class T>
  void group(std::string_view /*first_key*/, const std::optional<T>& value) {
    if (value) fields(*this, *value);
  }

  // Structs one after the other; the key as for a group.
  template <class T>
  void list(std::string_view /*first_key*/, const std::vector<T>& values) {
    for (const T& value : values) fields(*this, value);
  }

  // The name of the alternative that a variant holds, then the fields of the alternative.
  template <class Variant>
  void alternative(std::string_view key, const auto& names, const Variant& value) {
    write(key, names[value.index()]);
    std::visit([this](const auto& held) { fields(*this, held); }, value);
  }

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  void write(std::string_view key, std::string_view value);
  void write_signed(std::string_view key, std::int64_t value);
  void write_unsigned(std::string_view key, std::uint64_t value);
  void write_version(std::string_view key, const SemanticVersion& value);

  std::string bytes_;
};

// Reads a body once, front to back. Every function but the constructor throws DecodeError. It allocates nothing but the
// values, and these take no more than a fixed multiple of the body.
class FieldReader {
 public:
  static constexpr bool kReads = true;

  // `body` must outlive the reader.
  explicit FieldReader(std::string_view body) noexcept : body_(body) {}

  // Reads the header line; comes first. Returns the version of the engine that wrote the body.
  [[nodiscard]] SemanticVersion header();
  // Comes last: nothing may be left.
  void finish() const;

  template <class T>
  void field(std::string_view key, T& value) {
    const std::string_view text = take(key);
    if constexpr (std::same_as<T, std::string>) {
      value.assign(text);
    } else {
      const std::optional<T> parsed = parse<T>(text);
      if (!parsed) fail_value(key, text, expected<T>());
      value = *parsed;
    }
  }

  template <class T>
  void field(std::string_view key, std::optional<T>& value) {
    if (next_is(key)) field(key, value.emplace());
  }

  template <class T>
  void group(std::string_view first_key, std::optional<T>& value) {
    if (next_is(first_key)) fields(*this, value.emplace());
  }

  template <class T>
  void list(std::string_view first_key, std::vector<T>& values) {
    while (next_is(first_key)) fields(*this, values.emplace_back());
  }

  template <class Variant>
  void alternative(std::string_view key, const auto& names, Variant& value) {
    const std::string_view name = take(key);
    std::size_t index = 0;
    while (index < names.size() && names[index] != name) ++index;
    if (index == names.size()) fail_value(key, name, "a known name");
    emplace_alternative(value, index);
    std::visit([this](auto& held) { fields(*this, held); }, value);
  }

 private:
  [[nodiscard]] bool next_is(std::string_view key) const noexcept {
    const std::string_view left = rest();
    return left.size() > key.size() && left[key.size()] == ':' && left.starts_with(key);
  }
  [[nodiscard]] std::string_view rest() const noexcept { return body_.substr(position_); }

  // The value of the next field, which must be `key`.
  [[nodiscard]] std::string_view take(std::string_view key);
  [[nodiscard]] std::size_t take_length(std::string_view key);

  template <class T>
  [[nodiscard]] static std::optional<T> parse(std::string_view text) noexcept {
    if constexpr (std::is_enum_v<T>) {
      return enum_from_text<T>(text);
    } else if constexpr (std::same_as<T, bool>) {
      return text == "true" ? std::optional(true) : text == "false" ? std::optional(false) : std::nullopt;
    } else if constexpr (std::same_as<T, Timestamp> || std::same_as<T, Milliseconds>) {
      const auto count = parse_canonical<std::int64_t>(text);
      return count ? std::optional(T(Milliseconds(*count))) : std::nullopt;
    } else if constexpr (std::unsigned_integral<T>) {
      return parse_canonical<T>(text);
    } else {
      return T::parse(text);
    }
  }

  template <class T>
  [[nodiscard]] static constexpr std::string_view expected() noexcept {
    if (std::is_enum_v<T>) return "a known name";
    if (std::same_as<T, bool>) return "true or false";
    if (std::same_as<T, SemanticVersion>) return "a version like 1.2.3";
    if (std::same_as<T, std::uint32_t>) return "a canonical unsigned 32-bit number";
    return std::same_as<T, std::uint64_t> ? "a canonical unsigned 64-bit number" : "a canonical number of milliseconds";
  }

  [[noreturn]] void fail_missing(std::string_view key) const;
  [[noreturn]] static void fail_field(std::string_view key, std::string_view problem);
  [[noreturn]] static void fail_value(std::string_view key, std::string_view text, std::string_view expected);

  std::string_view body_;
  std::size_t position_ = 0;
};

}  // namespace perdure::detail
