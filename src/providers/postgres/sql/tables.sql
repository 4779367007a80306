-- The tables of a store. All times are milliseconds since 1970, by this server's clock; all that is opaque is bytea.

-- A time that nodes have seen although this server's clock has not reached it: before the clock was set back, or on
-- another server. Unset, unless that has happened. All nodes share one time, so that no node sees the locks of another
-- as expired too early. (A sequence, because it is faster to read than a row, and a new value takes effect at once.)
CREATE SEQUENCE store_time;

-- This server's clock; a test schema replaces it. It is the time of the call, not of the transaction. (VOLATILE, so that
-- the planner can inline it.)
CREATE FUNCTION server_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT (date_part('epoch', clock_timestamp()) * 1000)::bigint
$$;

-- The only source of time. A transaction may begin before others commit data that it sees, and may wait for locks. So
-- time passes within a transaction, and a statement that needs one time reads it once. (STABLE, because comparisons with
-- it must use an index.)
CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN greatest(server_ms(), pg_sequence_last_value('store_time'));
END $$;

-- Reports to the store a time that a node has seen. From then on no node sees an earlier time. Returns whether this
-- server's own clock has reached it, so that no node needs to report times.
CREATE FUNCTION reach_time(seen bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF server_ms() >= seen THEN RETURN true; END IF;
  IF now_ms() >= seen THEN RETURN false; END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('perdure store time', 0));  -- or the earlier of two times may win
  IF now_ms() < seen THEN PERFORM setval('store_time', seen); END IF;
  RETURN false;
END $$;

-- A lease of "for ever" must not wrap into the past.
CREATE FUNCTION later(moment bigint, duration bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN duration > 9223372036854775807 - moment THEN 9223372036854775807 ELSE moment + duration END
$$;

-- One row for every instance id that was ever addressed. It is an instance once created_at is set; until then it only
-- keeps what its messages need. ready_at is the whole scheduling: when somebody should fetch it.
CREATE TABLE instances(
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  name text COLLATE "C",                -- orchestration; before the first commit that of a queued start
  version text COLLATE "C",             -- versions are written with leading zeros, so that they sort
  parent text COLLATE "C",              -- instance id
  parent_link text COLLATE "C",         -- the rest of the link to the parent
  status smallint NOT NULL DEFAULT 0,   -- ExecutionStatus of the current execution
  execution bigint NOT NULL DEFAULT 1,
  last_event bigint NOT NULL DEFAULT 0,
  pin text COLLATE "C",                 -- engine version of the current execution
  commit_id bigint NOT NULL DEFAULT 0,  -- of the last commit
  attempts bigint NOT NULL DEFAULT 0,   -- fetches since the last commit
  token bigint,                         -- of the lock; kept after it expired, for a late abandon
  locked_until bigint,
  holder text COLLATE "C",              -- owner that kept the lock with a commit
  not_before bigint,                    -- end of a backoff; 0: a cancel or terminate arrived during the lock
  ready_at bigint,                      -- for everybody; NULL: nothing to do
  held_ready_at bigint,                 -- for the holder
  sweep_at bigint,                      -- when to drop what an orphan has collected
  created_at bigint,
  incarnation bigint NOT NULL DEFAULT 0,  -- id of the commit that created it
  updated_at bigint,
  completed_at bigint
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX instances_ready ON instances(ready_at, key) WHERE ready_at IS NOT NULL;
CREATE INDEX instances_held ON instances(holder, held_ready_at, key) WHERE held_ready_at IS NOT NULL;
CREATE INDEX instances_sweep ON instances(sweep_at) WHERE sweep_at IS NOT NULL;
CREATE INDEX instances_parent ON instances(parent) WHERE parent IS NOT NULL;

CREATE TABLE executions(
  key bigint NOT NULL,
  execution bigint NOT NULL,
  status smallint NOT NULL DEFAULT 0,
  output bytea,
  pin text COLLATE "C",
  carry_forward bigint NOT NULL DEFAULT 0,
  started_at bigint NOT NULL,
  completed_at bigint,
  PRIMARY KEY(key, execution)
) WITH (fillfactor = 80);

-- One row for each commit that has events, all of them packed into it.
CREATE TABLE history(
  key bigint NOT NULL,
  execution bigint NOT NULL,
  first_event bigint NOT NULL,
  events bigint NOT NULL,               -- how many
  body_bytes bigint NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY(key, execution, first_event));

-- The orchestrator queue.
CREATE TABLE messages(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key bigint NOT NULL,
  kind smallint NOT NULL,
  execution bigint,
  name text COLLATE "C" NOT NULL,
  visible_at bigint NOT NULL,
  parent text COLLATE "C",              -- of starts of children, and of their parent's cancels
  parent_link text COLLATE "C",
  body bytea NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX messages_of ON messages(key, visible_at, id);
CREATE INDEX messages_starts ON messages(key, visible_at, id) WHERE kind IN (1, 2);  -- those that begin an execution
CREATE INDEX messages_ends ON messages(key, visible_at, id) WHERE kind IN (10, 11);  -- cancels and terminates
CREATE INDEX messages_parent ON messages(parent) WHERE parent IS NOT NULL;

-- The worker queue.
CREATE TABLE activities(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key bigint NOT NULL,
  execution bigint NOT NULL,
  activity_id bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  lane text COLLATE "C" NOT NULL,       -- '' without a tag, else ':' and the tag
  session text COLLATE "C",
  ready_at bigint NOT NULL,             -- when it becomes visible; locked: when the lock ends
  token bigint,
  taken_over bigint,                    -- token of the last lock that a fetch took over and whose fetch still counts
  attempts bigint NOT NULL DEFAULT 0,
  scheduled_at bigint NOT NULL,
  expires_at bigint,                    -- schedule-to-start; NULL once it was handed out to be run
  start_to_close bigint,
  schedule_to_start bigint,
  heartbeat bigint,
  details bytea,
  body bytea NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE UNIQUE INDEX activities_identity ON activities(key, execution, activity_id);
CREATE INDEX activities_ready ON activities(lane, ready_at, id);
CREATE INDEX activities_expiry ON activities(expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX activities_session ON activities(session) WHERE session IS NOT NULL;

CREATE TABLE sessions(
  session text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  locked_until bigint NOT NULL,
  last_use bigint NOT NULL
) WITH (fillfactor = 60);
CREATE INDEX sessions_held ON sessions(owner, locked_until);

-- What past executions left, and what the current one did (NULL: cleared).
CREATE TABLE key_values(
  key bigint NOT NULL, name bytea NOT NULL, value bytea NOT NULL, updated_at bigint NOT NULL, PRIMARY KEY(key, name));
CREATE TABLE key_value_changes(
  key bigint NOT NULL, name bytea NOT NULL, value bytea, updated_at bigint NOT NULL, PRIMARY KEY(key, name));

CREATE TABLE custom_statuses(key bigint PRIMARY KEY, value bytea, version bigint NOT NULL) WITH (fillfactor = 60);

CREATE TABLE nodes(
  id text COLLATE "C" PRIMARY KEY,
  engine_version text NOT NULL,
  any_tag boolean NOT NULL,             -- takes activities whatever their tag
  untagged boolean NOT NULL,            -- takes activities without a tag
  registered_at bigint NOT NULL,
  engine_versions text[] NOT NULL,      -- its filter: "1.0.0 2.0.0"
  orchestrations text[] NOT NULL,
  activities text[] NOT NULL,
  tags text[] NOT NULL,
  orchestration_code text[] NOT NULL,   -- what it has code for: "1.0.0 Name"
  activity_code text[] NOT NULL);

-- Who wants to be told of what, and until when. Losing it costs a little time, so nothing of it is logged.
CREATE UNLOGGED TABLE waiters(
  waiter bigint PRIMARY KEY,
  instances_until bigint NOT NULL DEFAULT 0,
  activities_until bigint NOT NULL DEFAULT 0,
  changes_until bigint NOT NULL DEFAULT 0,
  change_groups bigint NOT NULL DEFAULT 0 -- of instances, a bit for each; the sign bit: withdrawn activities
) WITH (fillfactor = 20);
