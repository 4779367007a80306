// PostgresSchema: a schema for bare PostgreSQL that is new at first and gone in the end.
#pragma once

#include <cstdio>
#include <exception>
#include <string>

#include "ceiling/load.h"
#include "postgres/session.h"

namespace ceiling {

class PostgresSchema {
 public:
  explicit PostgresSchema(const Load& load)
      : url_(load.path), name_(load.schema), synced_(load.synced), session_(load.path) {
    drop();
    session_.execute("CREATE SCHEMA " + name_);
    enter(session_);
  }
  PostgresSchema(const PostgresSchema&) = delete;
  PostgresSchema& operator=(const PostgresSchema&) = delete;
  ~PostgresSchema() {
    try {
      drop();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "schema %s stays behind: %s\n", name_.c_str(), error.what());
    }
  }

  [[nodiscard]] bench::Session& session() noexcept { return session_; }
  // Lets another session work in it.
  void enter(bench::Session& session) const {
    session.execute("SET search_path TO " + name_ + "; SET synchronous_commit TO " + (synced_ ? "on" : "off"));
  }

 private:
  // In a session of its own: one that has sent a pipeline takes no script any more.
  void drop() const { bench::Session(url_).execute("DROP SCHEMA IF EXISTS " + name_ + " CASCADE"); }

  std::string url_;
  std::string name_;
  bool synced_;
  bench::Session session_;
};

}  // namespace ceiling
