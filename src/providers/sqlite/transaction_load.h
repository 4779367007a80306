// Bounds of one transaction: how long it blocks other processes, and how far the log grows between two checkpoints.
// Longer work is split. A part that exceeds a bound alone has a transaction of its own.
#pragma once

#include <cstddef>

namespace perdure::sqlite {

// What a transaction does, counted up to a bound.
class TransactionLoad {
 public:
  static constexpr std::size_t kMaxParts = 1'024;
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

  // Returns false, and adds nothing, if the transaction is not empty and would exceed a bound.
  [[nodiscard]] bool add(std::size_t parts, std::size_t bytes) noexcept {
    if (parts_ > 0 && (parts_ + parts > kMaxParts || bytes_ + bytes > kMaxBytes)) return false;
    parts_ += parts;
    bytes_ += bytes;
    return true;
  }
  [[nodiscard]] std::size_t parts() const noexcept { return parts_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t parts_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace perdure::sqlite
