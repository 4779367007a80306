#include "providers/sqlite/readers.h"

#include <utility>

namespace perdure::sqlite {

void Readers::run(const std::function<void(Connection&)>& body) {
  std::unique_ptr<Connection> connection = take();
  connection->run("BEGIN");
  body(*connection);  // a connection whose reading failed is closed, not given back
  connection->run("COMMIT");
  give_back(std::move(connection));
}

std::unique_ptr<Connection> Readers::take() {
  {
    const std::scoped_lock guard(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  return open_();
}

void Readers::give_back(std::unique_ptr<Connection> connection) {
  const std::scoped_lock guard(mutex_);
  if (idle_.size() < idle_limit_) idle_.push_back(std::move(connection));
}

}  // namespace perdure::sqlite
