// The lock audit: triggers that note each lock that a schema grants while another node has it. They work in the server,
// so no fault on the way to it hides anything from them.
#pragma once

#include <string>

#include <perdure/types.h>

namespace perdure::test::storm {

// A script for a schema in which every lock is granted for `lock_timeout`: the end of a new lock shows when it was
// granted, by the clock that granted it, and the lock before it must have ended then. A lock that its owner has
// retained may be superseded by the owner. What is noted is in <schema>.locks_granted_twice.
[[nodiscard]] inline std::string lock_audit_script(const std::string& schema, Milliseconds lock_timeout) {
  std::string script = R"(
  CREATE TABLE <schema>.locks_granted_twice(what text NOT NULL) TABLESPACE pg_default;
  CREATE FUNCTION <schema>.audit_instance() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO <schema>.locks_granted_twice VALUES (format(
      'instance %s: token %s until %s, then token %s until %s',
      NEW.id, OLD.token, OLD.locked_until, NEW.token, NEW.locked_until));
    RETURN NULL;
  END $$;
  CREATE TRIGGER audit_instance AFTER UPDATE ON <schema>.instances FOR EACH ROW
    WHEN (OLD.token <> NEW.token AND OLD.holder IS NULL AND OLD.locked_until > NEW.locked_until - <lock_timeout>)
    EXECUTE FUNCTION <schema>.audit_instance();
  CREATE FUNCTION <schema>.audit_activity() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO <schema>.locks_granted_twice VALUES (format(
      'activity %s of instance key %s: token %s until %s, then token %s until %s',
      NEW.activity_id, NEW.key, OLD.token, OLD.ready_at, NEW.token, NEW.ready_at));
    RETURN NULL;
  END $$;
  CREATE TRIGGER audit_activity AFTER UPDATE ON <schema>.activities FOR EACH ROW
    WHEN (OLD.token <> NEW.token AND OLD.ready_at > NEW.ready_at - <lock_timeout>)
    EXECUTE FUNCTION <schema>.audit_activity();
)";
  const auto replace = [&script](const std::string& what, const std::string& with) {
    for (std::size_t at = script.find(what); at != std::string::npos; at = script.find(what, at + with.size())) {
      script.replace(at, what.size(), with);
    }
  };
  replace("<schema>", schema);
  replace("<lock_timeout>", std::to_string(lock_timeout.count()));
  return script;
}

}  // namespace perdure::test::storm
