-- The parts of a commit that are more than a statement. See commit_pipeline.cpp for how they come together.

-- Locks the instances of turns that are about to be committed, and fails unless every one of them may be: its lock
-- holds, this is not a repetition, the execution is the current one or the next, its events follow the stored ones, and
-- the activities that it schedules are this instance's (NULL: it schedules none).
CREATE FUNCTION check_turns(
    row_keys bigint[], secrets bigint[], commit_ids bigint[], turn_executions bigint[], first_events bigint[],
    may_be_first boolean[], schedulers text[])
  RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  moment CONSTANT bigint := now_ms();  -- when the commit arrived; the token is compared after any wait
  good bigint;
BEGIN
  SELECT count(*) INTO good FROM (
    SELECT 1 FROM unnest(row_keys, secrets, commit_ids, turn_executions, first_events, may_be_first, schedulers)
      t(key, secret, commit_id, execution, first_event, may_be_first, scheduler)
    JOIN instances i ON i.key = t.key
    WHERE i.token = t.secret AND i.locked_until > moment AND i.commit_id <> t.commit_id
      AND (i.created_at IS NOT NULL OR t.may_be_first) AND (t.scheduler IS NULL OR t.scheduler = i.id)
      AND (t.execution = i.execution OR (i.created_at IS NOT NULL AND t.execution = i.execution + 1))
      AND (t.first_event = 0 OR t.first_event = CASE WHEN t.execution = i.execution THEN i.last_event + 1 ELSE 1 END)
    ORDER BY i.key FOR UPDATE OF i) l;
  IF good <> cardinality(row_keys) THEN
    RAISE EXCEPTION 'a turn cannot be committed' USING ERRCODE = 'PD001';
  END IF;
END $$;

-- For statements that find that they must not go on: everything is taken back.
CREATE FUNCTION refuse(state text, reason text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', reason USING ERRCODE = state;
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
