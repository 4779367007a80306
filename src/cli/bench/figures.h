// The outcome of a run: named figures, in the order in which they are shown.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace perdure::cli::bench {

struct Figure {
  // Absent: it does not apply.
  using Value = std::variant<std::monostate, bool, std::uint64_t, double, std::string>;

  std::string name;
  Value value;
  std::string about;
};

class Figures {
 public:
  void add(std::string name, Figure::Value value, std::string about) {
    list_.push_back({std::move(name), std::move(value), std::move(about)});
  }
  void add_if(std::string name, std::optional<double> value, std::string about) {
    add(std::move(name), value ? Figure::Value(*value) : Figure::Value(), std::move(about));
  }
  [[nodiscard]] const std::vector<Figure>& list() const noexcept { return list_; }

 private:
  std::vector<Figure> list_;
};

// One JSON object; what does not apply is null.
void print_json(const Figures& figures, std::ostream& out);
// A line for each figure that applies.
void print_text(const Figures& figures, std::ostream& out);

}  // namespace perdure::cli::bench
