#include "cli/redaction.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <exception>

namespace perdure::cli {

namespace {

constexpr std::size_t kNone = std::string_view::npos;

std::size_t end_of_line(std::string_view text, std::size_t from) {
  return std::min(text.find('\n', from), text.size());
}

bool is_port(std::string_view text) {
  return text.find_first_not_of("0123456789") == kNone;
}

// Without a '@' a password looks like a port: "postgres://user:password/database". Ports are numbers.
void remove_strange_ports(std::string& text, std::size_t begin, std::size_t end) {
  for (std::size_t colon = text.find(':', begin); colon < end; colon = text.find(':', colon + 1)) {
    const std::size_t port_end = std::min(text.find_first_of(",:]", colon + 1), end);
    if (is_port(std::string_view(text).substr(colon + 1, port_end - colon - 1))) continue;
    text.replace(colon + 1, end - colon - 1, "...");
    return;
  }
}

// libpq decodes the name of a parameter: "?pass%77ord=..." is a password, too. The rest of the line goes.
void remove_encoded_parameters(std::string& text, std::size_t begin) {
  const std::size_t end = end_of_line(text, begin);
  for (std::size_t mark = text.find('?', begin); mark < end; mark = text.find('&', mark + 1)) {
    const std::size_t name_end = std::min(text.find_first_of("=&", mark + 1), end);
    if (text.find('%', mark) >= name_end) continue;
    text.replace(mark + 1, end - mark - 1, "...");
    return;
  }
}

// After "scheme://": from the first ':' to the last '@' of the text, whatever is in between.
void remove_from_urls(std::string& text) {
  constexpr std::string_view kMark = "://";
  for (std::size_t mark = text.find(kMark); mark != kNone; mark = text.find(kMark, mark + kMark.size())) {
    std::size_t host = mark + kMark.size();
    const std::size_t at = text.rfind('@');
    if (at != kNone && at >= host) {
      const std::size_t password = std::min(text.find(':', host), at);
      text.erase(password, at - password);
      host = password + 1;
    }
    remove_strange_ports(text, host, std::min(end_of_line(text, host), text.find_first_of("/?'\" ", host)));
    remove_encoded_parameters(text, host);
  }
}

// "password=..." and "sslpassword=...", in a query or in a list of settings, quoted or not. A password with a space is
// not told from the next setting, so the rest of the line goes.
void remove_from_settings(std::string& text) {
  constexpr std::string_view kName = "password";
  const auto same = [](char one, char other) { return std::tolower(static_cast<unsigned char>(one)) == other; };
  for (std::size_t from = 0;;) {
    const auto found =
        std::search(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), kName.begin(), kName.end(), same);
    if (found == text.end()) return;
    from = static_cast<std::size_t>(found - text.begin()) + kName.size();
    std::size_t value = text.find_first_not_of(" \t", from);
    if (value == kNone || text[value] != '=') continue;
    ++value;
    text.replace(value, end_of_line(text, value) - value, "...");
    from = value;
  }
}

}  // namespace

std::string redacted(std::string_view text) {
  std::string shown(text);
  remove_from_urls(shown);
  remove_from_settings(shown);
  return shown;
}

void hide_credentials(std::span<char* const> arguments) noexcept {
  for (char* const argument : arguments) {
    try {
      std::string line = argument;
      std::replace(line.begin(), line.end(), '\n', '\t');  // a password may contain one
      const std::size_t size = line.size();
      const std::string shown = redacted(line);
      if (shown == line) continue;
      const std::size_t kept = std::min(shown.size(), size);
      std::copy_n(shown.begin(), kept, argument);
      std::fill(argument + kept, argument + size, '\0');
    } catch (const std::exception&) {  // no memory: the command fails soon
      std::memset(argument, 0, std::strlen(argument));
    }
  }
}

}  // namespace perdure::cli
