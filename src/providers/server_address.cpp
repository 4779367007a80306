#include "providers/server_address.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace perdure {

namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool is_of_scheme(char letter) noexcept {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '+' || letter == '-' || letter == '.';
}

// "postgresql://...", also after other text. SQLite reads "file://..." as a path.
bool has_url(std::string_view text) noexcept {
  constexpr std::string_view kMark = "://";
  for (std::size_t mark = text.find(kMark); mark != kNone; mark = text.find(kMark, mark + kMark.size())) {
    std::size_t scheme = mark;
    while (scheme > 0 && is_of_scheme(text[scheme - 1])) --scheme;
    if (text.substr(scheme, mark - scheme) != "file") return true;
  }
  return false;
}

// "user:password@host". A path has its first '/' before the ':'.
bool has_user_and_host(std::string_view text) noexcept {
  if (text.starts_with("file:")) return false;
  const std::size_t colon = text.find_first_of("/:");
  return colon != kNone && text[colon] == ':' && text.find('@', colon) != kNone;
}

}  // namespace

// In a query or in a list of settings.
bool has_password_setting(std::string_view text) noexcept {
  constexpr std::string_view kName = "password";
  const auto same = [](char one, char other) { return std::tolower(static_cast<unsigned char>(one)) == other; };
  const char* from = text.data();
  const char* const end = from + text.size();
  while ((from = std::search(from, end, kName.begin(), kName.end(), same)) != end) {
    from += kName.size();
    const char* const next = std::find_if(from, end, [](char letter) { return letter != ' ' && letter != '\t'; });
    if (next != end && *next == '=') return true;
  }
  return false;
}

bool names_a_server(std::string_view path) noexcept {
  return has_url(path) || has_password_setting(path) || has_user_and_host(path);
}

}  // namespace perdure
