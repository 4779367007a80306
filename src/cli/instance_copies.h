// Ended instances between a store and a file.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include <perdure/provider.h>
#include "providers/instance_import.h"

namespace perdure::cli {

// The instance with everything below it, root first. Throws CommandError if it is a child or something in its tree
// runs, ProviderFailure if it is not there or cannot be read.
[[nodiscard]] std::vector<InstanceCopy> copy_tree(Provider& store, const std::string& root);

// Reads all of it, and rewinds it. Throws std::invalid_argument if anything in it cannot be imported.
void check_instance_file(std::istream& file, const std::string& name);

struct ImportResult {
  std::uint64_t instances = 0;
  std::uint64_t roots = 0;
  std::uint64_t skipped = 0;  // trees that the store has already
};

enum class Existing : std::uint8_t { kRefuse, kSkip };

// Reads all of the file before anything is written: a damaged one, or an instance that exists, leaves the store as it
// was. `file` must be one that can be read twice. Every tree is a transaction of its own. Throws std::invalid_argument
// as InstanceFileReader does, CommandError, ProviderFailure.
[[nodiscard]] ImportResult import_file(Provider& store, std::istream& file, const std::string& name, Existing existing);

}  // namespace perdure::cli
