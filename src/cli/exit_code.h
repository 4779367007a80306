// What the program's exit status says. docs/cli.md has the table.
#pragma once

#include <stdexcept>
#include <string>

#include <perdure/client_error.h>
#include <perdure/provider_error.h>

namespace perdure::cli {

inline constexpr int kSuccess = 0;
inline constexpr int kNegative = 1;     // a negative result, or an error of no other kind
inline constexpr int kUsage = 2;        // the arguments make no sense
inline constexpr int kNotFound = 3;     // no such instance, execution or value
inline constexpr int kTimedOut = 4;     // what was waited for did not come in time
inline constexpr int kStoreFailed = 5;  // the store cannot be opened or used
inline constexpr int kConflict = 6;     // the state of the instance does not allow it: it exists, runs, or is a child

[[nodiscard]] int exit_code_of(ProviderErrorKind kind) noexcept;
[[nodiscard]] int exit_code_of(ClientErrorKind kind) noexcept;

// Ends a command with this exit status and message.
class CommandError final : public std::runtime_error {
 public:
  CommandError(int exit_code, const std::string& message) : std::runtime_error(message), exit_code_(exit_code) {}
  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }

 private:
  int exit_code_;
};

}  // namespace perdure::cli
