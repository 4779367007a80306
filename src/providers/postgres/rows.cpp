#include "providers/postgres/rows.h"

#include <stdexcept>

#include <libpq-fe.h>

namespace perdure::postgres {

namespace {

std::int32_t take_int32(std::string_view& bytes) {
  if (bytes.size() < 4) throw std::runtime_error("the server sent a truncated list");
  const auto value = static_cast<std::int32_t>(as_integer(bytes.substr(0, 4)));
  bytes.remove_prefix(4);
  return value;
}

}  // namespace

std::int64_t as_integer(std::string_view bytes) noexcept {
  if (bytes.empty()) return 0;
  // The sign is in the first byte, whatever the width.
  std::uint64_t value = (static_cast<unsigned char>(bytes.front()) & 0x80U) != 0 ? ~std::uint64_t{0} : 0;
  for (const char byte : bytes) value = (value << 8U) | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(value);
}

void Rows::Clear::operator()(pg_result* result) const noexcept {
  PQclear(result);
}

int Rows::size() const noexcept {
  return PQntuples(result_.get());
}

bool Rows::is_null(int row, int column) const {
  return PQgetisnull(result_.get(), row, column) != 0;
}

std::string_view Rows::bytes(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Rows::integer(int row, int column) const {
  return as_integer(bytes(row, column));
}

bool Rows::boolean(int row, int column) const {
  const std::string_view value = bytes(row, column);
  return !value.empty() && value.front() != 0;
}

std::optional<std::int64_t> Rows::optional_integer(int row, int column) const {
  if (is_null(row, column)) return std::nullopt;
  return integer(row, column);
}

std::optional<Timestamp> Rows::optional_time(int row, int column) const {
  if (is_null(row, column)) return std::nullopt;
  return time(row, column);
}

std::optional<Milliseconds> Rows::optional_duration(int row, int column) const {
  if (is_null(row, column)) return std::nullopt;
  return Milliseconds(integer(row, column));
}

std::optional<std::string> Rows::optional_text(int row, int column) const {
  if (is_null(row, column)) return std::nullopt;
  return text(row, column);
}

std::vector<std::optional<std::string_view>> Rows::list(int row, int column) const {
  std::vector<std::optional<std::string_view>> elements;
  if (is_null(row, column)) return elements;
  std::string_view left = bytes(row, column);
  const std::int32_t dimensions = take_int32(left);
  take_int32(left);  // whether there are nulls
  take_int32(left);  // the type
  if (dimensions == 0) return elements;
  const std::int32_t length = take_int32(left);
  take_int32(left);  // the first index
  elements.reserve(static_cast<std::size_t>(length));
  for (std::int32_t element = 0; element < length; ++element) {
    const std::int32_t size = take_int32(left);
    if (size < 0) {
      elements.emplace_back();
      continue;
    }
    elements.emplace_back(left.substr(0, static_cast<std::size_t>(size)));
    left.remove_prefix(static_cast<std::size_t>(size));
  }
  return elements;
}

std::vector<std::int64_t> Rows::integers(int row, int column) const {
  std::vector<std::int64_t> numbers;
  for (const std::optional<std::string_view>& element : list(row, column)) {
    numbers.push_back(element ? as_integer(*element) : 0);
  }
  return numbers;
}

std::vector<std::string> Rows::texts(int row, int column) const {
  std::vector<std::string> values;
  for (const std::optional<std::string_view>& element : list(row, column)) {
    values.emplace_back(element.value_or(std::string_view()));
  }
  return values;
}

}  // namespace perdure::postgres
