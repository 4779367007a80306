#include "providers/lock_names.h"

#include <charconv>
#include <string_view>

namespace perdure {

LockToken make_token(const LockName& name) {
  return {name.queue + std::to_string(name.row) + '-' + std::to_string(name.secret)};
}

std::optional<LockName> read_token(const LockToken& token, char queue) {
  const std::string_view text = token.value;
  if (text.empty() || text.front() != queue) return std::nullopt;
  LockName name{.queue = queue};
  const char* const end = text.data() + text.size();
  const auto [dash, row_error] = std::from_chars(text.data() + 1, end, name.row);
  if (row_error != std::errc() || dash == end || *dash != '-') return std::nullopt;
  const auto [rest, secret_error] = std::from_chars(dash + 1, end, name.secret);
  if (secret_error != std::errc() || rest != end) return std::nullopt;
  return name;
}

SecretSource::SecretSource() {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device(), device(), device(), device(), device()};
  engine_.seed(seed);
}

}  // namespace perdure
