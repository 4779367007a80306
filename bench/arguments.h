// The arguments of the programs in bench/: key=value. Uses nothing of the library, so that the ceilings stay bare.
#pragma once

#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

namespace bench {

struct Argument {
  std::string_view key;
  // Where its value goes. A switch needs none: `growth` means growth=1.
  std::variant<std::string*, std::size_t*, unsigned*, double*, bool*> target;
};

namespace detail {

template <class Number>
Number number(std::string_view key, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument(std::string(key) + "=" + std::string(text) + ": that is not a number");
  }
  return value;
}

inline void assign(const Argument& argument, std::string_view value) {
  if (auto* const text = std::get_if<std::string*>(&argument.target)) {
    **text = value;
  } else if (auto* const count = std::get_if<std::size_t*>(&argument.target)) {
    **count = number<std::size_t>(argument.key, value);
  } else if (auto* const small = std::get_if<unsigned*>(&argument.target)) {
    **small = number<unsigned>(argument.key, value);
  } else if (auto* const real = std::get_if<double*>(&argument.target)) {
    **real = number<double>(argument.key, value);
  } else {
    *std::get<bool*>(argument.target) = value != "0";
  }
}

}  // namespace detail

// Throws std::invalid_argument for what it does not know.
inline void read_arguments(int count, char** values, std::initializer_list<Argument> known) {
  for (int i = 1; i < count; ++i) {
    const std::string_view text = values[i];
    const std::size_t equals = text.find('=');
    const std::string_view key = text.substr(0, equals);
    const Argument* found = nullptr;
    for (const Argument& each : known) {
      if (each.key == key) found = &each;
    }
    if (found == nullptr) {
      std::string names;
      for (const Argument& each : known) names += " " + std::string(each.key);
      throw std::invalid_argument("unknown argument '" + std::string(key) + "'; known:" + names);
    }
    detail::assign(*found, equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1));
  }
}

}  // namespace bench
