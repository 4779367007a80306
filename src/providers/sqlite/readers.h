// Connections that only read, each used by one caller at a time. In WAL mode they block nobody and nobody blocks them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "providers/sqlite/connection.h"

namespace perdure::sqlite {

class Readers {
 public:
  // More are opened when they are needed at the same time, and closed after use.
  static constexpr std::size_t kIdleConnections = 4;
  using Open = std::function<std::unique_ptr<Connection>()>;
  // Up to `idle` connections stay open between reads.
  explicit Readers(Open open, std::size_t idle = kIdleConnections) : open_(std::move(open)), idle_limit_(idle) {}

  // Runs `body` on one snapshot. Throws SqliteError.
  void run(const std::function<void(Connection&)>& body);

 private:
  [[nodiscard]] std::unique_ptr<Connection> take();
  void give_back(std::unique_ptr<Connection> connection);

  Open open_;
  std::size_t idle_limit_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace perdure::sqlite
