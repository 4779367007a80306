#include "testing/determinism_guard/function_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

#include <cxxabi.h>

namespace perdure::testing {

namespace {

bool starts_with_any(std::string_view text, std::span<const std::string_view> prefixes) noexcept {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return text.starts_with(p); });
}

// g++ names the body of a coroutine after its frame, a local type whose name is the coroutine's own and ".Frame",
// behind its length as in every mangled name: "_Z4bodyPZ4bodyvE14_Z4bodyv.Frame.actor". Answers "_Z4bodyv".
std::optional<std::string> coroutine_of(const std::string& mangled) {
  const std::string_view suffix = ".Frame";
  const std::size_t frame = mangled.find(suffix);
  if (frame == std::string::npos) return std::nullopt;
  for (std::size_t begin = mangled.rfind("_Z", frame); begin != 0 && begin != std::string::npos;
       begin = mangled.rfind("_Z", begin - 1)) {
    const std::string length = std::to_string(frame + suffix.size() - begin);
    if (std::string_view(mangled).substr(0, begin).ends_with(length)) return mangled.substr(begin, frame - begin);
  }
  return std::nullopt;
}

}  // namespace

std::string readable_name(const std::string& mangled) {
  // Behind the first dot stands what the compiler made of the function: ".resume", ".cold".
  const std::string plain = coroutine_of(mangled).value_or(mangled.substr(0, mangled.find('.')));
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(plain.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? std::string(demangled.get()) : mangled;
}

bool is_standard_library(std::string_view mangled) noexcept {
  static constexpr std::array<std::string_view, 6> kPrefixes{"_ZNSt", "_ZNKSt", "_ZSt",
                                                             "_ZNSi", "_ZNSo",  "_ZN9__gnu_cxx"};
  return starts_with_any(mangled, kPrefixes);
}

bool is_sanitizer(std::string_view mangled) noexcept {
  static constexpr std::array<std::string_view, 7> kPrefixes{
      "_ZN11__sanitizer", "_ZN6__asan", "_ZN6__lsan", "_ZN6__tsan", "_ZN7__ubsan", "__sanitizer_", "__asan_"};
  return starts_with_any(mangled, kPrefixes);
}

bool is_engine_entry(std::string_view mangled) noexcept {
  return mangled.starts_with("_ZN7perdure12LiveInstance");
}

}  // namespace perdure::testing
