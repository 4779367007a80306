// Arguments of a statement in PostgreSQL's binary format: single values, and lists of them.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/types.h>

namespace perdure::postgres {

// Of the bodies in one batch; what has more goes alone. The server refuses a list of a gigabyte, and the refusal would
// be a failure of the store for everything in the batch.
inline constexpr std::size_t kMaxBatchBytes = std::size_t{256} << 20;

// The server's numbers of types, which never change.
enum class Type : std::uint32_t { kBoolean = 16, kBytes = 17, kBigint = 20, kSmallint = 21, kText = 25 };

template <std::integral Integer>
void append_big_endian(std::string& bytes, Integer value) {
  const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
  std::array<char, sizeof(Integer)> written{};
  for (std::size_t place = 0; place < sizeof(Integer); ++place) {
    written[place] = static_cast<char>((bits >> (8 * (sizeof(Integer) - 1 - place))) & 0xFFU);
  }
  bytes.append(written.data(), written.size());
}

// A list: one argument, with an element for each of many things. A type of element that does not fit its list is a
// fault of this program.
class List {
 public:
  explicit List(Type type) : type_(type) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  void add(std::int64_t value) {
    if (type_ == Type::kSmallint) {
      add_fixed(static_cast<std::int16_t>(value));
    } else {
      add_fixed(value);
    }
  }
  void add(std::uint64_t value) { add(static_cast<std::int64_t>(value)); }
  void add(bool value) { add_fixed(static_cast<std::int8_t>(value ? 1 : 0)); }
  void add(Timestamp value) { add(std::int64_t{value.time_since_epoch().count()}); }
  void add(Milliseconds value) { add(std::int64_t{value.count()}); }
  void add(std::string_view value) {
    count_element();
    append_big_endian(elements_, static_cast<std::int32_t>(value.size()));
    elements_.append(value);
  }
  void add(const std::string& value) { add(std::string_view(value)); }
  void add(const char* value) { add(std::string_view(value)); }
  template <class T>
  void add(const std::optional<T>& value) {
    if (value) {
      add(*value);
    } else {
      add_null();
    }
  }
  void add_null() {
    count_element();
    has_nulls_ = true;
    append_big_endian(elements_, std::int32_t{-1});
  }

  // Dimensions, whether there are nulls, the type, the length, the first index, the elements.
  [[nodiscard]] std::string encoded() const {
    std::string bytes;
    bytes.reserve(kHeader + elements_.size());
    append_big_endian(bytes, std::int32_t{size_ == 0 ? 0 : 1});
    append_big_endian(bytes, std::int32_t{has_nulls_ ? 1 : 0});
    append_big_endian(bytes, static_cast<std::uint32_t>(type_));
    if (size_ == 0) return bytes;
    append_big_endian(bytes, static_cast<std::int32_t>(size_));
    append_big_endian(bytes, std::int32_t{1});
    bytes += elements_;
    return bytes;
  }

 private:
  static constexpr std::size_t kHeader = 20;

  void count_element() noexcept { ++size_; }
  template <std::integral Integer>
  void add_fixed(Integer value) {
    count_element();
    append_big_endian(elements_, static_cast<std::int32_t>(sizeof(Integer)));
    append_big_endian(elements_, value);
  }

  Type type_;
  std::size_t size_ = 0;
  bool has_nulls_ = false;
  std::string elements_;
};

[[nodiscard]] inline List bigints() {
  return List(Type::kBigint);
}
[[nodiscard]] inline List smallints() {
  return List(Type::kSmallint);
}
[[nodiscard]] inline List booleans() {
  return List(Type::kBoolean);
}
[[nodiscard]] inline List texts() {
  return List(Type::kText);
}
[[nodiscard]] inline List byte_strings() {
  return List(Type::kBytes);
}
[[nodiscard]] inline List texts(const std::vector<std::string>& values) {
  List list = texts();
  for (const std::string& value : values) list.add(value);
  return list;
}

// All arguments of one statement, in order.
class Parameters {
 public:
  Parameters() = default;
  template <class... Values>
  explicit Parameters(const Values&... values) {
    values_.reserve(sizeof...(Values));
    (add(values), ...);
  }

  void add(std::int64_t value) {
    std::string bytes;
    append_big_endian(bytes, value);
    values_.emplace_back(std::move(bytes));
  }
  void add(std::uint64_t value) { add(static_cast<std::int64_t>(value)); }
  void add(bool value) { values_.emplace_back(std::string(1, value ? '\1' : '\0')); }
  void add(Timestamp value) { add(std::int64_t{value.time_since_epoch().count()}); }
  void add(Milliseconds value) { add(std::int64_t{value.count()}); }
  void add(std::string_view value) { values_.emplace_back(std::string(value)); }
  void add(const std::string& value) { add(std::string_view(value)); }
  void add(const char* value) { add(std::string_view(value)); }
  void add(const List& list) { values_.emplace_back(list.encoded()); }
  void add(std::nullopt_t) { values_.emplace_back(); }
  template <class T>
  void add(const std::optional<T>& value) {
    if (value) {
      add(*value);
    } else {
      add(std::nullopt);
    }
  }

  [[nodiscard]] const std::vector<std::optional<std::string>>& values() const noexcept { return values_; }

 private:
  std::vector<std::optional<std::string>> values_;
};

}  // namespace perdure::postgres
