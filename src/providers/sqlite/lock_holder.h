// Which process holds a store, for the error of one that has waited for it in vain.
#pragma once

#include <string>

namespace perdure::sqlite {

// Returns " (process 1234 'name', which is stopped, holds it)", or nothing if the operating system does not show it.
// The file is not opened: closing it would release SQLite's locks of this process.
[[nodiscard]] std::string describe_lock_holder(const std::string& path);

}  // namespace perdure::sqlite
