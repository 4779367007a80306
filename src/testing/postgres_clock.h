// What makes a schema of the PostgreSQL store one for tests: a clock that stands still until it is moved, and a way to
// empty it, because to make a schema costs more than most tests.
#pragma once

#include <string>

namespace perdure::testing {

// A script for a new schema: test_begin(start) empties these tables, which are written like 'schema.table', and sets
// the clock; test_advance(duration) moves it, and waits that are going on notice.
[[nodiscard]] inline std::string postgres_clock_script(const std::string& schema, const std::string& tables) {
  constexpr const char* kScript = R"(
  CREATE TABLE <schema>.test_clock(ms bigint NOT NULL);
  INSERT INTO <schema>.test_clock VALUES (0);
  CREATE OR REPLACE FUNCTION <schema>.now_ms() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN (
      SELECT greatest(c.ms, nullif(current_setting('perdure.floor', true), '')::bigint) FROM <schema>.test_clock c);
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
