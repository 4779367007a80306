// Credentials of stores, in texts that leave the program and in its command line.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace perdure::cli {

// Returns the text without the passwords of the URLs and of the settings "password=..." in it. A URL that is not well
// formed may lose more than its password, never less: a password may contain any of the characters that end one.
[[nodiscard]] std::string redacted(std::string_view text);

// Overwrites passwords in the arguments of the process, which other users see in the list of processes.
void hide_credentials(std::span<char* const> arguments) noexcept;

}  // namespace perdure::cli
