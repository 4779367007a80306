-- The worker queue, and the sessions that tie activities to a worker.

CREATE FUNCTION use_sessions(used text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  moment CONSTANT bigint := now_ms();
BEGIN
  UPDATE sessions s SET last_use = moment WHERE s.session = ANY(used) AND s.locked_until > moment;
END $$;

-- How many more sessions an owner may claim.
CREATE FUNCTION free_sessions(session_owner text, max_sessions bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF max_sessions = 9223372036854775807 THEN RETURN max_sessions; END IF;  -- without a bound nobody needs to count
  RETURN greatest(max_sessions - (
    SELECT count(*) FROM sessions s WHERE s.owner = session_owner AND s.locked_until > now_ms()), 0);
END $$;

-- All lanes that have activities, by one look at the index for each.
CREATE FUNCTION all_lanes() RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  lanes text[] := '{}';
  next_lane text;
BEGIN
  SELECT min(a.lane) INTO next_lane FROM activities a;
  WHILE next_lane IS NOT NULL LOOP
    lanes := lanes || next_lane;
    SELECT min(a.lane) INTO next_lane FROM activities a WHERE a.lane > next_lane;
  END LOOP;
  RETURN lanes;
END $$;

-- Whether a worker with this filter would find an activity now. Lanes: NULL are all of them.
CREATE FUNCTION work_is_waiting(
    lanes text[], names text[], session_owner text, max_sessions bigint, suspect_from bigint, admit_suspects boolean)
  RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  moment CONSTANT bigint := now_ms();
BEGIN
  IF EXISTS (
    SELECT 1 FROM unnest(coalesce(lanes, all_lanes())) l(lane) CROSS JOIN LATERAL (
      SELECT 1 FROM activities a
      WHERE a.lane = l.lane AND a.ready_at <= moment AND (admit_suspects OR a.attempts < suspect_from)
        AND (cardinality(names) = 0 OR a.name = ANY(names))
        AND (a.session IS NULL OR (session_owner IS NOT NULL AND CASE
          WHEN EXISTS (SELECT 1 FROM sessions s WHERE s.session = a.session AND s.locked_until > moment) THEN
            EXISTS (SELECT 1 FROM sessions s WHERE s.session = a.session AND s.owner = session_owner)
          ELSE free_sessions(session_owner, max_sessions) > 0
        END))
      LIMIT 1) ready)
  THEN RETURN true; END IF;
  RETURN EXISTS (
    SELECT 1 FROM activities a
    WHERE a.expires_at <= moment AND a.ready_at <= moment AND (admit_suspects OR a.attempts < suspect_from));
END $$;

-- Sessions that nobody holds and that a worker would claim first, up to as many as it may. Looks at the first thousand
-- activities: the next fetch sees more.
CREATE FUNCTION next_sessions(lanes text[], names text[], attempts_below bigint, most bigint) RETURNS text[]
  LANGUAGE plpgsql AS $$
DECLARE
  moment CONSTANT bigint := now_ms();
  claimed text[];
BEGIN
  SELECT array_agg(f.session) INTO claimed FROM (
    SELECT c.session FROM unnest(lanes) l(lane) CROSS JOIN LATERAL (
      SELECT a.session, a.ready_at, a.id FROM activities a
      WHERE a.lane = l.lane AND a.ready_at <= moment AND a.attempts < attempts_below AND a.session IS NOT NULL
        AND (a.expires_at IS NULL OR a.expires_at > moment)
        AND (cardinality(names) = 0 OR a.name = ANY(names))
        AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.session = a.session AND s.locked_until > moment)
      ORDER BY a.ready_at, a.id LIMIT 1000) c
    GROUP BY c.session ORDER BY min(ARRAY[c.ready_at, c.id]) LIMIT most) f;
  RETURN coalesce(claimed, '{}');
END $$;

-- Chooses up to `most` activities that are ready, the longest ready first, with a lock on their rows, and claims their
-- sessions. What another transaction has in hand is passed over. A suspect is taken alone.
CREATE FUNCTION choose_activities(
    most bigint, lanes text[], names text[], session_owner text, session_timeout bigint, max_sessions bigint,
    suspect_from bigint, admit_suspects boolean)
  RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  moment bigint := now_ms();
  attempts_below bigint := CASE WHEN admit_suspects THEN 9223372036854775807 ELSE suspect_from END;
  any_sessions boolean := false;
  new_sessions text[] := '{}';
  taken bigint[];
  tried bigint[];
  wanted_sessions text[];
  won_sessions text[];
BEGIN
  IF session_owner IS NOT NULL AND EXISTS (SELECT 1 FROM activities a WHERE a.session IS NOT NULL) THEN
    any_sessions := true;
    -- Two fetches of one owner must not fill the same place twice.
    PERFORM pg_advisory_xact_lock(hashtextextended('perdure sessions of ' || session_owner, 0));
    moment := now_ms();  -- it may have waited
  END IF;
  LOOP
    IF any_sessions THEN
      new_sessions := next_sessions(lanes, names, attempts_below, free_sessions(session_owner, max_sessions));
    END IF;
    SELECT array_agg(c.id), array_agg(c.attempts) INTO taken, tried
    FROM (
      SELECT f.id, f.attempts, f.ready_at FROM unnest(lanes) l(lane) CROSS JOIN LATERAL (
        SELECT a.id, a.attempts, a.ready_at FROM activities a
        WHERE a.lane = l.lane AND a.ready_at <= moment AND a.attempts < attempts_below
          AND (a.expires_at IS NULL OR a.expires_at > moment)
          AND (cardinality(names) = 0 OR a.name = ANY(names))
          AND (a.session IS NULL OR (any_sessions AND (a.session = ANY(new_sessions) OR EXISTS (
            SELECT 1 FROM sessions s
            WHERE s.session = a.session AND s.owner = session_owner AND s.locked_until > moment))))
        ORDER BY a.ready_at, a.id LIMIT most FOR UPDATE SKIP LOCKED) f
      UNION ALL
      -- Nobody started these in time. Any worker may fail them.
      SELECT x.id, x.attempts, x.ready_at FROM (
        SELECT a.id, a.attempts, a.ready_at FROM activities a
        WHERE a.expires_at <= moment AND a.ready_at <= moment AND a.attempts < attempts_below AND cardinality(lanes) > 0
        ORDER BY a.ready_at, a.id LIMIT most FOR UPDATE SKIP LOCKED) x
      ORDER BY ready_at, id LIMIT most) c;
    EXIT WHEN taken IS NULL OR attempts_below = suspect_from OR NOT suspect_from <= ANY(tried);
    IF tried[1] >= suspect_from THEN
      taken := taken[1:1];
      EXIT;
    END IF;
    attempts_below := suspect_from;  -- again, without those that do not come first
  END LOOP;
  IF NOT any_sessions THEN RETURN taken; END IF;

  SELECT array_agg(DISTINCT a.session) INTO wanted_sessions FROM activities a
  WHERE a.id = ANY(taken) AND a.session IS NOT NULL AND (a.expires_at IS NULL OR a.expires_at > moment);
  IF wanted_sessions IS NULL THEN RETURN taken; END IF;
  WITH won AS (
    INSERT INTO sessions AS s (session, owner, locked_until, last_use)
    SELECT w.session, session_owner, later(moment, session_timeout), moment
    FROM unnest(wanted_sessions) w(session) ORDER BY w.session
    ON CONFLICT (session) DO UPDATE
    SET owner = excluded.owner, locked_until = excluded.locked_until, last_use = excluded.last_use
    WHERE s.owner = excluded.owner OR s.locked_until <= moment
    RETURNING s.session)
  SELECT coalesce(array_agg(w.session), '{}') INTO won_sessions FROM won w;
  IF cardinality(won_sessions) = cardinality(wanted_sessions) THEN RETURN taken; END IF;
  -- Another owner was faster.
  SELECT array_agg(t.id ORDER BY t.place) INTO taken
  FROM unnest(taken) WITH ORDINALITY t(id, place) JOIN activities a ON a.id = t.id
  WHERE a.session IS NULL OR a.session = ANY(won_sessions) OR a.expires_at <= moment;
  RETURN taken;
END $$;

-- Locks up to `most` activities. The first row is the time, in `attempts`.
CREATE FUNCTION fetch_activities(
    most bigint, lock_timeout bigint, secret bigint, lanes text[], names text[], session_owner text,
    session_timeout bigint, max_sessions bigint, suspect_from bigint, admit_suspects boolean)
  RETURNS TABLE(
    id bigint, attempts bigint, locked_until bigint, is_expired boolean, instance text, execution bigint,
    activity_id bigint, name text, lane text, session text, scheduled_at bigint, start_to_close bigint,
    schedule_to_start bigint, heartbeat bigint, details bytea, body bytea)
  LANGUAGE plpgsql ROWS 10 AS $$
#variable_conflict use_column
DECLARE
  moment bigint;
  taken bigint[];
BEGIN
  lanes := coalesce(lanes, all_lanes());
  -- Whoever lost all races looks again: what has come since then is visible only to a new statement.
  FOR tries IN 1 .. CASE WHEN most > 0 THEN 5 ELSE 0 END LOOP
    taken := choose_activities(most, lanes, names, session_owner, session_timeout, max_sessions, suspect_from,
                               admit_suspects);
    EXIT WHEN taken IS NOT NULL
      OR NOT work_is_waiting(lanes, names, session_owner, max_sessions, suspect_from, admit_suspects);
  END LOOP;
  moment := now_ms();
  attempts := moment;
  RETURN NEXT;
  IF taken IS NULL THEN RETURN; END IF;
  PERFORM may_be_forgotten();
  UPDATE activities a
  SET token = secret, taken_over = coalesce(a.token, a.taken_over), attempts = a.attempts + 1,
      ready_at = later(moment, lock_timeout),
      expires_at = CASE WHEN a.expires_at <= moment THEN a.expires_at END
  WHERE a.id = ANY(taken);
  RETURN QUERY
    SELECT a.id, a.attempts, a.ready_at, a.expires_at IS NOT NULL, i.id, a.execution, a.activity_id, a.name, a.lane,
           a.session, a.scheduled_at, a.start_to_close, a.schedule_to_start, a.heartbeat, a.details, a.body
    FROM unnest(taken) WITH ORDINALITY t(id, place)
    JOIN activities a ON a.id = t.id JOIN instances i ON i.key = a.key
    ORDER BY t.place;
END $$;

-- Queues activities. Those that a worker may claim are locked for it at once, if it would find nothing else. Sessions and
-- times have a say, so this goes one activity after the other. Answers all of them, and which ones it got.
CREATE FUNCTION insert_activities(
    row_keys bigint[], executions bigint[], activity_ids bigint[], names text[], lanes text[], sessions_wanted text[],
    visible bigint[], start_to_closes bigint[], schedule_to_starts bigint[], heartbeats bigint[], bodies bytea[],
    claimable boolean[], secrets bigint[], claim_limit bigint, claim_lanes text[], claim_names text[], session_owner text,
    session_timeout bigint, max_sessions bigint, suspect_from bigint, admit_suspects boolean, lock_timeout bigint)
  RETURNS TABLE(id bigint, key bigint, activity_id bigint, ready_at bigint, is_claimed boolean)
  LANGUAGE plpgsql ROWS 10 AS $$
#variable_conflict use_column
DECLARE
  moment bigint;
  claiming boolean;
  claimed_count bigint := 0;
  free bigint;
  holder text;
BEGIN
  claiming := NOT work_is_waiting(claim_lanes, claim_names, session_owner, max_sessions, suspect_from, admit_suspects);
  moment := now_ms();
  IF claiming THEN
    -- One by one, because each session that is claimed may be the last.
    IF session_owner IS NOT NULL AND EXISTS (SELECT 1 FROM unnest(sessions_wanted) w(session) WHERE w.session IS NOT NULL)
    THEN
      PERFORM pg_advisory_xact_lock(hashtextextended('perdure sessions of ' || session_owner, 0));
      moment := now_ms();  -- it may have waited
      free := free_sessions(session_owner, max_sessions);
    END IF;
    FOR place IN 1 .. cardinality(row_keys) LOOP
      CONTINUE WHEN NOT claimable[place];
      IF claimed_count >= claim_limit OR visible[place] > moment
         OR (sessions_wanted[place] IS NOT NULL AND session_owner IS NULL) THEN
        claimable[place] := false;
      ELSIF sessions_wanted[place] IS NOT NULL THEN
        SELECT s.owner INTO holder FROM sessions s WHERE s.session = sessions_wanted[place] AND s.locked_until > moment
        FOR UPDATE;
        IF holder IS NULL AND free > 0 THEN
          free := free - 1;
        ELSIF holder IS DISTINCT FROM session_owner THEN
          claimable[place] := false;
        END IF;
        IF claimable[place] THEN
          INSERT INTO sessions AS s (session, owner, locked_until, last_use)
          VALUES (sessions_wanted[place], session_owner, later(moment, session_timeout), moment)
          ON CONFLICT (session) DO UPDATE
          SET owner = excluded.owner, locked_until = excluded.locked_until, last_use = excluded.last_use
          WHERE s.owner = excluded.owner OR s.locked_until <= moment;
          claimable[place] := FOUND;
        END IF;
      END IF;
      IF claimable[place] THEN claimed_count := claimed_count + 1; END IF;
    END LOOP;
  END IF;
  RETURN QUERY
    INSERT INTO activities AS a (key, execution, activity_id, name, lane, session, ready_at, token, attempts,
                                 scheduled_at, expires_at, start_to_close, schedule_to_start, heartbeat, body)
    SELECT n.key, n.execution, n.activity_id, n.name, n.lane, n.session,
           CASE WHEN claiming AND n.may_claim THEN later(moment, lock_timeout) ELSE coalesce(n.visible_at, moment) END,
           CASE WHEN claiming AND n.may_claim THEN n.secret END, CASE WHEN claiming AND n.may_claim THEN 1 ELSE 0 END,
           moment,
           CASE WHEN NOT (claiming AND n.may_claim) AND n.schedule_to_start IS NOT NULL
             THEN later(moment, n.schedule_to_start) END,
           n.start_to_close, n.schedule_to_start, n.heartbeat, n.body
    FROM unnest(row_keys, executions, activity_ids, names, lanes, sessions_wanted, visible, start_to_closes,
                schedule_to_starts, heartbeats, bodies, claimable, secrets)
      n(key, execution, activity_id, name, lane, session, visible_at, start_to_close, schedule_to_start, heartbeat, body,
        may_claim, secret)
    RETURNING a.id, a.key, a.activity_id, a.ready_at, a.token IS NOT NULL;
END $$;

-- Removes activities that are done, and fails unless each of them is locked with its secret, and its completion (NULL:
-- there is none) is for its instance. Instances are locked first, then activities: as everybody does it.
CREATE FUNCTION remove_work(work_ids bigint[], secrets bigint[], completed text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  moment bigint;
  row_keys bigint[];
  without_message bigint[];
  removed bigint;
  used text[];
BEGIN
  SELECT array_agg(k.key), array_agg(k.key) FILTER (WHERE k.gets_nothing) INTO row_keys, without_message
  FROM (SELECT a.key, bool_and(w.completed IS NULL) AS gets_nothing
        FROM unnest(work_ids, completed) w(id, completed) JOIN activities a ON a.id = w.id GROUP BY a.key) k;
  PERFORM 1 FROM instances i WHERE i.key = ANY(row_keys) ORDER BY i.key FOR UPDATE;
  moment := now_ms();
  WITH gone AS (
    DELETE FROM activities a USING unnest(work_ids, secrets, completed) w(id, secret, completed), instances i
    WHERE a.id = w.id AND a.token = w.secret AND a.ready_at > moment
      AND i.key = a.key AND (w.completed IS NULL OR w.completed = i.id)
    RETURNING a.session)
  SELECT count(*), array_agg(g.session) FILTER (WHERE g.session IS NOT NULL) INTO removed, used FROM gone g;
  IF removed <> cardinality(work_ids) THEN
    RAISE EXCEPTION 'a completed activity is not ours any more' USING ERRCODE = 'PD002';
  END IF;
  IF used IS NOT NULL THEN PERFORM use_sessions(used); END IF;
  IF without_message IS NOT NULL THEN PERFORM forget_empty(without_message); END IF;
END $$;

-- Answers which locks hold, with until when they hold now.
CREATE FUNCTION renew_work(work_ids bigint[], secrets bigint[], extensions bigint[], new_details bytea[])
  RETURNS TABLE(id bigint, secret bigint, locked_until bigint) LANGUAGE plpgsql ROWS 10 AS $$
#variable_conflict use_column
DECLARE
  moment bigint;
  used text[];
BEGIN
  PERFORM 1 FROM activities a WHERE a.id = ANY(work_ids) ORDER BY a.id FOR UPDATE;
  moment := now_ms();
  SELECT array_agg(DISTINCT a.session) INTO used FROM unnest(work_ids, secrets) w(id, secret)
  JOIN activities a ON a.id = w.id AND a.token = w.secret
  WHERE a.ready_at > moment AND a.session IS NOT NULL;
  IF used IS NOT NULL THEN PERFORM use_sessions(used); END IF;
  RETURN QUERY
    UPDATE activities a
    SET ready_at = coalesce(later(moment, w.extension), a.ready_at), details = coalesce(w.details, a.details)
    FROM unnest(work_ids, secrets, extensions, new_details) w(id, secret, extension, details)
    WHERE a.id = w.id AND a.token = w.secret AND a.ready_at > moment
    RETURNING a.id, a.token, a.ready_at;
END $$;
