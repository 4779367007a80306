#include "cli/payload_argument.h"

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <perdure/limits.h>

namespace perdure::cli {

namespace {

// Ends at the limit of the client: a device may never end.
std::string all_of_stream(std::istream& stream, const PayloadArgument& argument, const std::string& name) {
  const std::size_t limit = Limits().max_payload_bytes;
  std::string bytes;
  std::array<char, 65'536> block{};
  while (stream && bytes.size() <= limit) {
    stream.read(block.data(), block.size());  // an error of the device sets badbit
    bytes.append(block.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) throw std::invalid_argument(argument.option + ": reading " + name + " failed");
  if (bytes.size() <= limit) return bytes;
  throw std::invalid_argument(argument.option + ": " + name + " has more than " + std::to_string(limit) +
                              " bytes (max_payload_bytes); store it elsewhere and send a reference");
}

std::string given_bytes(const PayloadArgument& argument, const Context& context) {
  const std::string& text = *argument.text;
  if (text == "-") {
    if (context.in == nullptr) throw std::invalid_argument(argument.option + ": standard input is not available");
    return all_of_stream(*context.in, argument, "standard input");
  }
  if (!text.starts_with('@')) return text;
  const std::string path = text.substr(1);
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path))
    throw std::invalid_argument(argument.option + ": cannot read the file '" + path + "'");
  return all_of_stream(file, argument, "the file '" + path + "'");
}

std::string without_outer_space(const std::string& text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

void add_payload_options(CLI::App& command, PayloadArgument& argument, const std::string& option,
                         const std::string& description) {
  argument.option = option;
  command.add_option(option, argument.text, description + ": JSON, @FILE, or - for standard input");
  command.add_flag("--raw", argument.raw, "Send the bytes unchanged, without checking for JSON");
}

Payload payload_of(const PayloadArgument& argument, const Context& context) {
  if (!argument.text) {
    if (argument.raw) throw std::invalid_argument("--raw requires " + argument.option);
    return std::nullopt;
  }
  std::string bytes = given_bytes(argument, context);
  if (argument.raw) return bytes;
  bytes = without_outer_space(bytes);
  if (!nlohmann::json::accept(bytes)) {
    throw std::invalid_argument(
        argument.option + " is not JSON; quote a string, like '\"hello\"', or pass --raw to send the bytes unchanged");
  }
  return bytes;
}

}  // namespace perdure::cli
