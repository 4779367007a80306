// PostgresServer: what a measurement asks the server itself, beside the store that it measures.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace ceiling {

// Everything throws std::runtime_error with the server's words.
class PostgresServer {
 public:
  explicit PostgresServer(const std::string& url);
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer();

  [[nodiscard]] std::string setting(const std::string& name);
  void drop_schema(const std::string& name);
  // Transactions that have changed something, of everybody on the server, since it was made.
  [[nodiscard]] std::uint64_t write_transactions();
  // That the server has used since this object was made. Nothing if it is not on this machine.
  [[nodiscard]] std::optional<double> cpu_seconds() const;

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace ceiling
