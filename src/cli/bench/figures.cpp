#include "cli/bench/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iomanip>

#include <nlohmann/json.hpp>

namespace perdure::cli::bench {

namespace {

std::string printed(const char* format, double number) {
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), format, number);
  return {text.data(), static_cast<std::size_t>(length)};
}

// To six digits: the rest is noise.
double rounded(double value) {
  return std::stod(printed("%.6g", value));
}

nlohmann::ordered_json figure_json(const Figure::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return *count;
  if (const auto* number = std::get_if<double>(&value)) return rounded(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

std::string figure_text(const Figure::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "on" : "off";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return std::to_string(*count);
  const double number = std::get<double>(value);
  constexpr double kLarge = 100;
  return printed(std::abs(number) < kLarge ? "%.2f" : "%.0f", number);
}

}  // namespace

void print_json(const Figures& figures, std::ostream& out) {
  nlohmann::ordered_json object;
  for (const Figure& figure : figures.list()) object[figure.name] = figure_json(figure.value);
  out << object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

void print_text(const Figures& figures, std::ostream& out) {
  std::size_t names = 0;
  std::size_t values = 0;
  for (const Figure& figure : figures.list()) {
    if (std::holds_alternative<std::monostate>(figure.value)) continue;
    names = std::max(names, figure.name.size());
    if (!std::holds_alternative<std::string>(figure.value)) values = std::max(values, figure_text(figure.value).size());
  }
  for (const Figure& figure : figures.list()) {
    if (std::holds_alternative<std::monostate>(figure.value)) continue;
    const bool is_text = std::holds_alternative<std::string>(figure.value);
    out << std::left << std::setw(static_cast<int>(names) + 2) << figure.name << (is_text ? std::left : std::right)
        << std::setw(static_cast<int>(values)) << figure_text(figure.value) << "  " << figure.about << '\n';
  }
}

}  // namespace perdure::cli::bench
