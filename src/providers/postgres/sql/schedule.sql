-- When rows of `instances` are due.

-- The time at which the messages of an instance lead to a turn. Between two executions (status 5) it is the time of the
-- continuation or, if that is lost, of the first other message. One SELECT and nothing else, so that the planner
-- inlines it into the statement that uses it.
CREATE FUNCTION messages_due(row_key bigint, status smallint) RETURNS TABLE(due bigint) LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT coalesce(
    CASE WHEN status = 5 THEN
      (SELECT m.visible_at FROM messages m WHERE m.key = row_key AND m.kind IN (1, 2) AND m.kind = 2
       ORDER BY m.visible_at LIMIT 1) END,
    (SELECT m.visible_at FROM messages m WHERE m.key = row_key ORDER BY m.visible_at LIMIT 1))
$$;

-- Derived from the row and its messages. One SELECT as well. An orphan has neither an instance nor a queued start.
CREATE FUNCTION schedule_of(
    row_key bigint, is_instance boolean, status smallint, not_before bigint, lock_ends bigint, holder text,
    retention bigint)
  RETURNS TABLE(ready_at bigint, held_ready_at bigint, sweep_at bigint) LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT
    CASE WHEN d.due IS NOT NULL THEN greatest(d.due, not_before, lock_ends) END,
    CASE WHEN d.due IS NOT NULL AND holder IS NOT NULL THEN greatest(d.due, not_before) END,
    CASE
      WHEN d.due IS NOT NULL OR is_instance THEN NULL
      ELSE (SELECT later(m.visible_at, retention) FROM messages m WHERE m.key = row_key ORDER BY m.visible_at LIMIT 1)
    END
  FROM (
    SELECT CASE WHEN is_instance
      THEN (SELECT w.due FROM messages_due(row_key, status) w)
      ELSE (SELECT m.visible_at FROM messages m WHERE m.key = row_key AND m.kind IN (1, 2) ORDER BY m.visible_at LIMIT 1)
    END AS due
    OFFSET 0) d
$$;

-- Whether the row is more than an orphan: an instance, or an id with a queued start. The planner does not inline this
-- function, so that it never reads all queued starts to find one.
CREATE FUNCTION is_known(row_key bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM instances i WHERE i.key = row_key AND (i.created_at IS NOT NULL
      OR EXISTS (SELECT 1 FROM messages m WHERE m.key = i.key AND m.kind IN (1, 2))));
END $$;

-- For transactions that only lock and count attempts: a power cut may take them back, because then nobody is left who
-- could hold what they have locked. So they do not wait for the disk.
CREATE FUNCTION may_be_forgotten() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
END $$;

-- For rows whose other columns are right already. Whoever calls it has locked them.
CREATE FUNCTION reschedule(row_keys bigint[], retention bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE instances i
  SET (ready_at, held_ready_at, sweep_at) = (
    SELECT s.ready_at, s.held_ready_at, s.sweep_at
    FROM schedule_of(i.key, i.created_at IS NOT NULL, i.status, i.not_before,
                     CASE WHEN i.token IS NOT NULL THEN i.locked_until END, i.holder, retention) s)
  WHERE i.key = ANY(row_keys);
END $$;

-- A row that is no instance and has nothing queued is of no use to anybody. Answers which ones went.
CREATE FUNCTION forget_empty(row_keys bigint[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  forgotten bigint[];
BEGIN
  WITH gone AS (
    DELETE FROM instances i
    WHERE i.key = ANY(row_keys) AND i.created_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.key = i.key)
      AND NOT EXISTS (SELECT 1 FROM activities a WHERE a.key = i.key)
    RETURNING i.key)
  SELECT coalesce(array_agg(g.key), '{}') INTO forgotten FROM gone g;
  RETURN forgotten;
END $$;

-- Makes rows for ids that have none, and locks all of them and those of `also`: in one order for everybody, so that
-- nobody waits in a circle. A new row is swept unless its maker schedules it. While we wait for a row, others may forget
-- it; then there is another round.
CREATE FUNCTION lock_or_make_instances(wanted text[], also bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  wanted_rows bigint;
  locked_rows bigint;
BEGIN
  SELECT count(DISTINCT w.id) INTO wanted_rows FROM unnest(wanted) w(id);
  LOOP
    -- Numbered as they were named, inserted as they sort.
    WITH numbered AS MATERIALIZED (
      SELECT m.id, nextval('instances_key_seq') AS key FROM (
        SELECT w.id, min(w.place) AS place FROM unnest(wanted) WITH ORDINALITY w(id, place)
        WHERE NOT EXISTS (SELECT 1 FROM instances i WHERE i.id = w.id) GROUP BY w.id ORDER BY place OFFSET 0) m)
    INSERT INTO instances(key, id, sweep_at) OVERRIDING SYSTEM VALUE
    SELECT n.key, n.id, now_ms() FROM numbered n ORDER BY n.id COLLATE "C"
    ON CONFLICT DO NOTHING;
    SELECT count(*) FILTER (WHERE locked.is_wanted) INTO locked_rows FROM (
      SELECT i.key, k.is_wanted
      FROM (SELECT c.key, bool_or(c.is_wanted) AS is_wanted
            FROM (SELECT i.key, true AS is_wanted FROM unnest(wanted) w(id) JOIN instances i ON i.id = w.id
                  UNION ALL SELECT a.key, false FROM unnest(also) a(key)) c
            GROUP BY c.key) k
      JOIN instances i ON i.key = k.key
      ORDER BY i.key FOR UPDATE OF i) locked;
    EXIT WHEN locked_rows = wanted_rows;
  END LOOP;
END $$;

-- Locks rows, in the order of everybody.
CREATE FUNCTION lock_instances(row_keys bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM instances i WHERE i.key = ANY(row_keys) ORDER BY i.key FOR UPDATE;
END $$;

-- Schedules rows that got messages, and that the caller has locked. A cancel or terminate does not wait for the end of
-- a backoff; on a locked row, not_before = 0 signals this to the abandon. `cancelled` are the receivers of cancels from
-- parents, whose links `parents` and `links` are: such a cancel ends the backoff only of an instance with this link.
-- Until the first commit the start that is delivered first determines the link, and which code a node needs.
CREATE FUNCTION note_messages(
    ids text[], ends_it boolean[], cancelled text[], parents text[], links text[], retention bigint)
  RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  noted bigint;
BEGIN
  IF cardinality(cancelled) > 0 THEN
    ends_it := ARRAY(
      SELECT t.ends OR EXISTS (
        SELECT 1 FROM unnest(cancelled, parents, links) c(id, parent, link)
        JOIN instances i ON i.id = c.id
        LEFT JOIN LATERAL (SELECT m.parent, m.parent_link FROM messages m
          WHERE m.key = i.key AND m.kind IN (1, 2) ORDER BY m.visible_at, m.id LIMIT 1) s ON i.created_at IS NULL
        WHERE c.id = t.id AND c.parent = CASE WHEN i.created_at IS NULL THEN s.parent ELSE i.parent END
          AND c.link = CASE WHEN i.created_at IS NULL THEN s.parent_link ELSE i.parent_link END)
      FROM unnest(ids, ends_it) WITH ORDINALITY t(id, ends, place) ORDER BY t.place);
  END IF;
  UPDATE instances i
  SET not_before = CASE WHEN NOT t.ends THEN i.not_before WHEN i.token IS NOT NULL THEN 0 END,
      ready_at = greatest((SELECT d.due FROM messages_due(i.key, i.status) d),
                          CASE WHEN NOT t.ends THEN i.not_before END,
                          CASE WHEN i.token IS NOT NULL THEN i.locked_until END),
      held_ready_at = CASE WHEN i.holder IS NOT NULL THEN greatest(
        (SELECT d.due FROM messages_due(i.key, i.status) d), CASE WHEN NOT t.ends THEN i.not_before END) END
  FROM unnest(ids, ends_it) t(id, ends) WHERE i.id = t.id AND i.created_at IS NOT NULL;
  GET DIAGNOSTICS noted = ROW_COUNT;
  IF noted = cardinality(ids) THEN RETURN; END IF;
  UPDATE instances i
  SET not_before = CASE WHEN NOT t.ends THEN i.not_before WHEN i.token IS NOT NULL THEN 0 END,
      name = coalesce((SELECT m.name FROM messages m
        WHERE m.key = i.key AND m.kind IN (1, 2) ORDER BY m.visible_at, m.id LIMIT 1), i.name),
      (ready_at, held_ready_at, sweep_at) = (
        SELECT s.ready_at, s.held_ready_at, s.sweep_at
        FROM schedule_of(i.key, false, i.status, CASE WHEN NOT t.ends THEN i.not_before END,
                         CASE WHEN i.token IS NOT NULL THEN i.locked_until END, i.holder, retention) s)
  FROM unnest(ids, ends_it) t(id, ends) WHERE i.id = t.id AND i.created_at IS NULL;
END $$;
