-- The parts of a commit that are more than a statement. See commit_pipeline.cpp for how they come together.

-- Locks the instances of turns that are about to be committed, and fails unless every one of them may be: its lock
-- holds, this is not a repetition, the execution is the current one or the next, its events follow the stored ones, and
-- the activities that it schedules are this instance's (NULL: it schedules none).
CREATE FUNCTION check_turns(
    row_keys bigint[], secrets bigint[], commit_ids bigint[], turn_executions bigint[], first_events bigint[],
    may_be_first boolean[], schedulers text[])
  RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  good bigint;
BEGIN
  SELECT count(*) INTO good FROM (
    SELECT 1 FROM unnest(row_keys, secrets, commit_ids, turn_executions, first_events, may_be_first, schedulers)
      t(key, secret, commit_id, execution, first_event, may_be_first, scheduler)
    JOIN instances i ON i.key = t.key
    WHERE i.token = t.secret AND i.locked_until > now_ms() AND i.commit_id <> t.commit_id
      AND (i.created_at IS NOT NULL OR t.may_be_first) AND (t.scheduler IS NULL OR t.scheduler = i.id)
      AND (t.execution = i.execution OR (i.created_at IS NOT NULL AND t.execution = i.execution + 1))
      AND (t.first_event = 0 OR t.first_event = CASE WHEN t.execution = i.execution THEN i.last_event + 1 ELSE 1 END)
    ORDER BY i.key FOR UPDATE OF i) l;
  IF good <> cardinality(row_keys) THEN
    RAISE EXCEPTION 'a turn cannot be committed' USING ERRCODE = 'PD001';
  END IF;
END $$;

-- Commits the rows of turns that neither begin nor end an execution, which is most of them, and fails unless every one of
-- them may be committed. What else the turns change is done already: what is left in the queue says when they are due.
-- The rows are locked by a statement of its own, because only the next one sees the messages of whoever had them locked.
CREATE FUNCTION advance_turns(
    row_keys bigint[], secrets bigint[], commit_ids bigint[], turn_executions bigint[], first_events bigint[],
    last_events bigint[], schedulers text[], keeps bigint[], owners text[])
  RETURNS TABLE(key bigint, id text, locked_until bigint, more_messages boolean, moment bigint)
  LANGUAGE plpgsql ROWS 10 AS $$
#variable_conflict use_column
DECLARE
  current CONSTANT bigint := now_ms();
  advanced bigint;
BEGIN
  PERFORM 1 FROM instances i WHERE i.key = ANY(row_keys) ORDER BY i.key FOR UPDATE;
  RETURN QUERY
    UPDATE instances i
    SET last_event = greatest(t.last_event, i.last_event), commit_id = t.commit_id, updated_at = current, attempts = 0,
        not_before = NULL, token = CASE WHEN t.keep IS NOT NULL THEN i.token END, holder = t.owner,
        locked_until = CASE WHEN t.keep IS NULL THEN NULL WHEN i.locked_until - current < t.keep / 2
          THEN later(current, t.keep) ELSE i.locked_until END,
        ready_at = CASE WHEN m.due IS NULL OR t.keep IS NULL THEN m.due WHEN i.locked_until - current < t.keep / 2
          THEN greatest(m.due, later(current, t.keep)) ELSE greatest(m.due, i.locked_until) END,
        held_ready_at = CASE WHEN t.owner IS NOT NULL THEN m.due END
    FROM unnest(row_keys, secrets, commit_ids, turn_executions, first_events, last_events, schedulers, keeps, owners)
      t(key, secret, commit_id, execution, first_event, last_event, scheduler, keep, owner)
    LEFT JOIN LATERAL (
      SELECT q.visible_at AS due FROM messages q WHERE q.key = t.key ORDER BY q.visible_at LIMIT 1) m ON true
    WHERE i.key = t.key AND i.token = t.secret AND i.locked_until > current AND i.commit_id <> t.commit_id
      AND i.created_at IS NOT NULL AND i.execution = t.execution AND (t.scheduler IS NULL OR t.scheduler = i.id)
      AND (t.first_event = 0 OR t.first_event = i.last_event + 1)
    RETURNING i.key, i.id, i.locked_until,
      coalesce(CASE WHEN i.holder IS NULL THEN i.ready_at ELSE i.held_ready_at END <= current, false), current;
  GET DIAGNOSTICS advanced = ROW_COUNT;
  IF advanced <> cardinality(row_keys) THEN
    RAISE EXCEPTION 'a turn cannot be committed' USING ERRCODE = 'PD001';
  END IF;
END $$;

-- Removes activities whose completion a turn has consumed, and fails unless each of them is locked with its secret for
-- the first time.
CREATE FUNCTION finish_work(done_ids bigint[], secrets bigint[], row_keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  finished bigint;
  used text[];
BEGIN
  WITH gone AS (
    DELETE FROM activities a USING unnest(done_ids, secrets, row_keys) d(id, secret, key)
    WHERE a.id = d.id AND a.token = d.secret AND a.key = d.key AND a.ready_at > now_ms() AND a.attempts = 1
    RETURNING a.session)
  SELECT count(*), array_agg(g.session) FILTER (WHERE g.session IS NOT NULL) INTO finished, used FROM gone g;
  IF finished <> cardinality(done_ids) THEN
    RAISE EXCEPTION 'a completed activity is not ours any more' USING ERRCODE = 'PD002';
  END IF;
  IF used IS NOT NULL THEN PERFORM use_sessions(used); END IF;
END $$;

-- Fails if one of these is queued: a turn that schedules and withdraws an activity must not withdraw another one.
CREATE FUNCTION refuse_queued(row_keys bigint[], executions bigint[], activity_ids bigint[]) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM unnest(row_keys, executions, activity_ids) n(key, execution, activity_id)
    JOIN activities a ON a.key = n.key AND a.execution = n.execution AND a.activity_id = n.activity_id)
  THEN
    RAISE EXCEPTION 'an activity is queued already' USING ERRCODE = 'PD003';
  END IF;
END $$;

-- Of executions that have ended, the changes of values become what the next one begins with.
CREATE FUNCTION keep_values(row_keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM key_value_changes c WHERE c.key = ANY(row_keys)) THEN RETURN; END IF;
  DELETE FROM key_values v USING key_value_changes c
  WHERE c.key = ANY(row_keys) AND v.key = c.key AND v.name = c.name AND c.value IS NULL;
  INSERT INTO key_values(key, name, value, updated_at)
  SELECT c.key, c.name, c.value, c.updated_at FROM key_value_changes c
  WHERE c.key = ANY(row_keys) AND c.value IS NOT NULL
  ON CONFLICT (key, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;
  DELETE FROM key_value_changes c WHERE c.key = ANY(row_keys);
END $$;

CREATE FUNCTION clear_values(row_keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE key_value_changes c SET value = NULL WHERE c.key = ANY(row_keys);
  INSERT INTO key_value_changes(key, name, value, updated_at)
  SELECT v.key, v.name, NULL, now_ms() FROM key_values v WHERE v.key = ANY(row_keys)
  ON CONFLICT (key, name) DO UPDATE SET value = NULL;
END $$;
