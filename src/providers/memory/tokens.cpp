#include "providers/memory/tokens.h"

#include <charconv>
#include <string_view>
#include <system_error>

namespace perdure::memory {

namespace {

constexpr char kSeparator = '.';

std::uint64_t seed() {
  std::random_device device;
  constexpr unsigned kHalf = 32;
  return (std::uint64_t{device()} << kHalf) | device();
}

}  // namespace

Tokens::Tokens() : random_(seed()) {}

LockToken Tokens::make(TokenKind kind, std::uint64_t row) {
  LockToken token;
  token.value = static_cast<char>(kind);
  token.value += std::to_string(row) + kSeparator + std::to_string(++made_) + kSeparator + std::to_string(random_());
  return token;
}

std::optional<std::uint64_t> Tokens::row_of(TokenKind kind, const LockToken& token) {
  const std::string_view text = token.value;
  if (text.empty() || text.front() != static_cast<char>(kind)) return std::nullopt;
  std::uint64_t row = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 1, end, row);
  if (error != std::errc() || stop == end || *stop != kSeparator) return std::nullopt;
  return row;
}

}  // namespace perdure::memory
