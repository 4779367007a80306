// The answer to a statement, in PostgreSQL's binary format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/types.h>

struct pg_result;

namespace perdure::postgres {

class Rows {
 public:
  explicit Rows(pg_result* result) : result_(result) {}

  [[nodiscard]] int size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  [[nodiscard]] bool is_null(int row, int column) const;
  // Of any width.
  [[nodiscard]] std::int64_t integer(int row, int column) const;
  [[nodiscard]] bool boolean(int row, int column) const;
  // Valid as long as the rows are.
  [[nodiscard]] std::string_view bytes(int row, int column) const;

  [[nodiscard]] std::uint64_t unsigned_integer(int row, int column) const {
    return static_cast<std::uint64_t>(integer(row, column));
  }
  [[nodiscard]] std::string text(int row, int column) const { return std::string(bytes(row, column)); }
  [[nodiscard]] Timestamp time(int row, int column) const { return Timestamp(Milliseconds(integer(row, column))); }
  [[nodiscard]] std::optional<std::int64_t> optional_integer(int row, int column) const;
  [[nodiscard]] std::optional<Timestamp> optional_time(int row, int column) const;
  [[nodiscard]] std::optional<Milliseconds> optional_duration(int row, int column) const;
  [[nodiscard]] std::optional<std::string> optional_text(int row, int column) const;

  // The elements of a list, nothing for NULLs; a list that is NULL is empty.
  [[nodiscard]] std::vector<std::optional<std::string_view>> list(int row, int column) const;
  [[nodiscard]] std::vector<std::int64_t> integers(int row, int column) const;
  [[nodiscard]] std::vector<std::string> texts(int row, int column) const;

 private:
  struct Clear {
    void operator()(pg_result* result) const noexcept;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

// Of an element of a list of numbers.
[[nodiscard]] std::int64_t as_integer(std::string_view bytes) noexcept;

}  // namespace perdure::postgres
