#include "testing/determinism_guard/elf_symbols.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace perdure::testing {

namespace {

// A file in memory, for as long as it is read. Everything asked of it is checked against its end: a damaged file gives
// no symbols, and no crash.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat status{};
    if (::fstat(file, &status) == 0 && status.st_size > 0) {
      const auto size = static_cast<std::size_t>(status.st_size);
      void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
      if (begin != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(begin), size};
    }
    ::close(file);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  [[nodiscard]] std::span<const std::byte> part(std::size_t offset, std::size_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return {};
    return bytes_.subspan(offset, size);
  }
  template <class T>
  [[nodiscard]] std::optional<T> read(std::size_t offset) const {
    const auto bytes = part(offset, sizeof(T));
    if (bytes.empty()) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
};

std::vector<ElfW(Shdr)> sections_of(const MappedFile& file) {
  std::vector<ElfW(Shdr)> sections;
  const auto header = file.read<ElfW(Ehdr)>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return sections;
  for (std::size_t i = 0; i < header->e_shnum; ++i) {
    const auto section = file.read<ElfW(Shdr)>(header->e_shoff + i * sizeof(ElfW(Shdr)));
    if (!section) return {};
    sections.push_back(*section);
  }
  return sections;
}

std::string text_at(std::span<const std::byte> strings, std::size_t offset) {
  if (offset >= strings.size()) return {};
  const std::string_view rest(reinterpret_cast<const char*>(strings.data()) + offset, strings.size() - offset);
  return std::string(rest.substr(0, rest.find('\0')));
}

}  // namespace

ElfSymbols::ElfSymbols(const std::string& path) {
  const MappedFile file(path);
  const auto sections = sections_of(file);
  // The full table if there is one, or else what is left in a stripped file: the exported functions.
  auto table = std::find_if(sections.begin(), sections.end(), [](const auto& s) { return s.sh_type == SHT_SYMTAB; });
  if (table == sections.end()) {
    table = std::find_if(sections.begin(), sections.end(), [](const auto& s) { return s.sh_type == SHT_DYNSYM; });
  }
  if (table == sections.end() || table->sh_link >= sections.size()) return;
  const auto& names = sections[table->sh_link];
  const auto strings = file.part(names.sh_offset, names.sh_size);
  for (std::size_t at = 0; at + sizeof(ElfW(Sym)) <= table->sh_size; at += sizeof(ElfW(Sym))) {
    const auto symbol = file.read<ElfW(Sym)>(table->sh_offset + at);
    if (!symbol) return;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF) continue;
    functions_.push_back({symbol->st_value, symbol->st_value + symbol->st_size, text_at(strings, symbol->st_name)});
  }
  std::sort(functions_.begin(), functions_.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
}

std::optional<ElfSymbols::Match> ElfSymbols::find(std::uintptr_t address) const {
  auto behind = std::upper_bound(functions_.begin(), functions_.end(), address,
                                 [](std::uintptr_t value, const Function& function) { return value < function.begin; });
  if (behind == functions_.begin()) return std::nullopt;
  const Function& function = *std::prev(behind);
  if (address >= function.end) return std::nullopt;
  return Match{function.name, address - function.begin};
}

}  // namespace perdure::testing
