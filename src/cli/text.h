// How the commands write: tables, colours, times and stored values.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <perdure/types.h>
#include "cli/context.h"

namespace perdure::cli {

enum class Colour : std::uint8_t { kGood, kBad, kWarning, kQuiet, kStrong };

// The text in that colour, where colours are shown.
[[nodiscard]] std::string painted(const Context& context, Colour colour, std::string_view text);

// "2026-05-01T09:30:00.250Z"; "after the year 9999" and "before the year 0" for times outside.
[[nodiscard]] std::string time_text(Timestamp time);

// "250 ms", "1.5 s", "3 min 20 s", "2 d 4 h"
[[nodiscard]] std::string duration_text(Milliseconds duration);

// What is stored is JSON, unless somebody's codec writes something else: that becomes a string, with what is no UTF-8
// replaced. So does JSON that is nested deeper than a thousand levels. Absent: null.
[[nodiscard]] nlohmann::json payload_json(const Payload& payload);

// The document as text, with what is no UTF-8 replaced: ids and paths may hold any bytes.
[[nodiscard]] std::string json_text(const nlohmann::json& document, int indent = 2);

// The value on one line; what is over `longest` bytes is cut, and the length told.
[[nodiscard]] std::string payload_text(const Payload& payload, std::size_t longest = 120);

// Columns as wide as their widest cell. A cell's colour does not count.
class Table {
 public:
  explicit Table(std::vector<std::string> titles) : titles_(std::move(titles)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  void print(const Context& context) const;

 private:
  std::vector<std::string> titles_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace perdure::cli
