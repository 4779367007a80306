// What makes a schema of the PostgreSQL store one for tests: a clock that stands still until it is moved, and a way to
// empty it, because to make a schema costs more than most tests.
#pragma once

#include <mutex>
#include <shared_mutex>
#include <string>

#include <perdure/clock.h>

namespace perdure::testing {

// The steady clock of the providers on such a schema. It moves together with the clock of the server: a provider that
// reads one of them during a move waits for the end of the move.
class ServerSteadyClock final : public Clock {
 public:
  [[nodiscard]] Timestamp now() const override { return time_.now(); }
  [[nodiscard]] Milliseconds steady() const override {
    const std::shared_lock lock(moving_);
    return time_.steady();
  }
  [[nodiscard]] std::string steady_origin() const override { return time_.steady_origin(); }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Milliseconds until) override {
    time_.wait_until(lock, changed, until);
  }

  // `move_server` moves the clock of the server by the same duration.
  template <class MoveServer>
  void advance(Milliseconds by, MoveServer move_server) {
    const std::unique_lock lock(moving_);
    move_server();
    time_.advance(by);
  }

 private:
  mutable std::shared_mutex moving_;
  ManualClock time_{Timestamp()};
};

// A script for a new schema: test_begin(start) empties these tables, which are written like 'schema.table', and sets
// the clock; test_advance(duration) moves it, and waits that are going on notice.
[[nodiscard]] inline std::string postgres_clock_script(const std::string& schema, const std::string& tables) {
  constexpr const char* kScript = R"(
  CREATE TABLE <schema>.test_clock(ms bigint NOT NULL);
  INSERT INTO <schema>.test_clock VALUES (0);
  CREATE OR REPLACE FUNCTION <schema>.server_ms() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
  BEGIN
    RETURN (SELECT c.ms FROM <schema>.test_clock c);
  END $$;
  CREATE FUNCTION <schema>.test_advance(duration bigint) RETURNS void LANGUAGE sql AS $$
    UPDATE <schema>.test_clock SET ms = ms + duration;
    SELECT pg_notify('perdure:<schema>', 'all')
  $$;
  -- To truncate a small table costs ten times as much as to delete what is in it.
  CREATE FUNCTION <schema>.test_begin(start bigint) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    emptied regclass;
  BEGIN
    FOREACH emptied IN ARRAY ARRAY[<tables>]::regclass[] LOOP
      EXECUTE CASE WHEN pg_relation_size(emptied) > 262144 THEN 'TRUNCATE ' ELSE 'DELETE FROM ' END || emptied;
    END LOOP;
    PERFORM setval('<schema>.store_time', 1, false);
    UPDATE <schema>.test_clock SET ms = start;
  END $$;
)";
  std::string script = kScript;
  const auto replace = [&script](const std::string& what, const std::string& with) {
    for (std::size_t at = script.find(what); at != std::string::npos; at = script.find(what, at + with.size())) {
      script.replace(at, what.size(), with);
    }
  };
  replace("<tables>", tables);
  replace("<schema>", schema);
  return script;
}

}  // namespace perdure::testing
