// ElfSymbols: the functions of a program or library, read from its file. dladdr knows exported functions only, and
// workflow code is seldom exported: the bodies of coroutines never are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace perdure::testing {

class ElfSymbols {
 public:
  struct Match {
    std::string name;  // mangled
    std::uintptr_t offset = 0;
  };

  // A file that cannot be read, is no ELF file or is stripped has no functions.
  explicit ElfSymbols(const std::string& path);

  // The function at an address, which is relative to where the module was loaded.
  [[nodiscard]] std::optional<Match> find(std::uintptr_t address) const;

 private:
  struct Function {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::string name;
  };
  std::vector<Function> functions_;  // by begin
};

}  // namespace perdure::testing
