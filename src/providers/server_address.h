// Addresses of servers, where the path of a file is expected.
#pragma once

#include <string_view>

namespace perdure {

// Returns whether a path is the URL or the settings of a server, or contains a password. The text must then appear in
// no error, because any part of it may belong to the password.
[[nodiscard]] bool names_a_server(std::string_view path) noexcept;

// Returns whether the text has a setting like "password=..." or "SSLPassword = ...".
[[nodiscard]] bool has_password_setting(std::string_view text) noexcept;

}  // namespace perdure
