// The directory for temporary files of the commands.
#pragma once

#include <filesystem>
#include <system_error>

#include "cli/exit_code.h"

namespace perdure::cli {

// Of TMPDIR, or /tmp. Throws CommandError if there is no such directory.
[[nodiscard]] inline std::filesystem::path temporary_directory() {
  std::error_code error;
  std::filesystem::path path = std::filesystem::temp_directory_path(error);
  if (error) {
    throw CommandError(
        kUsage, "the temporary directory cannot be used: " + error.message() + "; set TMPDIR to one that exists");
  }
  return path;
}

}  // namespace perdure::cli
