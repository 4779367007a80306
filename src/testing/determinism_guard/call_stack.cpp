#include "testing/determinism_guard/call_stack.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include "testing/determinism_guard/elf_symbols.h"
#include "testing/determinism_guard/function_names.h"

namespace perdure::testing {

namespace {

struct Frame {
  std::string function;  // mangled; empty: not known
  std::uintptr_t function_offset = 0;
  std::string module;
  std::uintptr_t module_offset = 0;
};

bool is_one_of(std::string_view module, std::span<const std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return module.starts_with(p); });
}

bool is_of_allocator(const Frame& frame) {
  static constexpr std::array<std::string_view, 9> kModules{"libasan.",    "libtsan.",    "libubsan.",
                                                            "liblsan.",    "libhwasan.",  "libclang_rt.",
                                                            "libjemalloc", "libtcmalloc", "libmimalloc"};
  return is_one_of(frame.module, kModules) || is_sanitizer(frame.function);
}

bool is_of_system(const Frame& frame) {
  static constexpr std::array<std::string_view, 7> kModules{"libc.so",     "libstdc++.so",  "libc++.so", "libm.so",
                                                            "libgcc_s.so", "libpthread.so", "ld-linux"};
  return is_one_of(frame.module, kModules) || is_of_allocator(frame) || is_standard_library(frame.function);
}

// Modules stay loaded in a test program, and reading their symbols takes milliseconds: once each. Never destroyed,
// since turns may run while the process ends.
const ElfSymbols& symbols_of(const std::string& path) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<std::string, std::unique_ptr<const ElfSymbols>>;
  const std::lock_guard lock(mutex);
  auto& symbols = known[path];
  if (!symbols) symbols = std::make_unique<const ElfSymbols>(path);
  return *symbols;
}

Frame frame_at(void* return_address) {
  // The call stands before the address to which it returns, which may belong to the next function already.
  void* const call = static_cast<char*>(return_address) - 1;
  const auto address = reinterpret_cast<std::uintptr_t>(call);
  Frame frame;
  Dl_info info{};
  void* extra = nullptr;
  if (::dladdr1(call, &info, &extra, RTLD_DL_LINKMAP) == 0 || !extra) {
    frame.module_offset = address;
    return frame;
  }
  const auto& module = *static_cast<const link_map*>(extra);
  const bool is_program = module.l_name == nullptr || *module.l_name == '\0';
  const std::string name = info.dli_fname ? info.dli_fname : "";
  frame.module = name.substr(name.rfind('/') + 1);
  frame.module_offset = address - module.l_addr;
  if (const auto match = symbols_of(is_program ? "/proc/self/exe" : module.l_name).find(frame.module_offset)) {
    frame.function = match->name;
    frame.function_offset = match->offset;
  }
  return frame;
}

std::string hexadecimal(std::uintptr_t value) {
  std::array<char, 2 + 2 * sizeof(value) + 1> text{};
  std::snprintf(text.data(), text.size(), "0x%jx", static_cast<std::uintmax_t>(value));
  return text.data();
}

std::string line_of(const Frame& frame) {
  std::string place = frame.module + "+" + hexadecimal(frame.module_offset);
  if (frame.function.empty()) return place;
  return readable_name(frame.function) + "+" + hexadecimal(frame.function_offset) + " (" + place + ")";
}

std::vector<Frame> frames_from(const void* return_address) {
  std::array<void*, 128> addresses{};
  const int count = ::backtrace(addresses.data(), static_cast<int>(addresses.size()));
  const auto end = addresses.begin() + count;
  const auto begin = std::find(addresses.begin(), end, return_address);
  std::vector<Frame> frames;
  std::transform(begin == end ? addresses.begin() : begin, end, std::back_inserter(frames), frame_at);
  return frames;
}

}  // namespace

CallStack stack_of_call(const void* return_address) {
  const std::vector<Frame> frames = frames_from(return_address);
  CallStack stack;
  stack.made_by_allocator = !frames.empty() && is_of_allocator(frames.front());
  const auto engine =
      std::find_if(frames.begin(), frames.end(), [](const Frame& f) { return is_engine_entry(f.function); });
  auto begin = std::find_if_not(frames.begin(), engine, is_of_system);
  auto end = engine;
  if (begin == end) begin = frames.begin();
  while (end != begin && is_of_system(*std::prev(end))) --end;
  std::transform(begin, begin == end ? frames.end() : end, std::back_inserter(stack.lines), line_of);
  return stack;
}

}  // namespace perdure::testing
