// Connections that only read, each used by one caller at a time. In WAL mode they block nobody and nobody blocks them.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "providers/sqlite/connection.h"

namespace perdure::sqlite {

class Readers {
 public:
  using Open = std::function<std::unique_ptr<Connection>()>;
  explicit Readers(Open open) : open_(std::move(open)) {}

  // Runs `body` on one snapshot. Throws SqliteError.
  void run(const std::function<void(Connection&)>& body);

 private:
  [[nodiscard]] std::unique_ptr<Connection> take();
  void give_back(std::unique_ptr<Connection> connection);

  Open open_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace perdure::sqlite
