-- The orchestrator queue: locked instances out. (Messages come in by plain statements.)

-- Discards messages of up to `most` instances that never started, at most most_messages in all: a fetch must not clean
-- up after a flood. The next fetch continues. (Ids are in an array, because the planner could read the whole table for
-- a subquery.)
CREATE FUNCTION sweep_orphans(most bigint, most_messages bigint, retention bigint)
  RETURNS TABLE(instance text, dropped bigint) LANGUAGE plpgsql AS $$
DECLARE
  old_until CONSTANT bigint := now_ms() - retention;
  others bigint;
  orphan record;
BEGIN
  FOR orphan IN
    SELECT i.key, i.id FROM instances i WHERE i.sweep_at <= now_ms() ORDER BY i.sweep_at, i.key LIMIT most
    FOR UPDATE SKIP LOCKED
  LOOP
    EXIT WHEN most_messages <= 0;
    -- Each queue message is buffered for its own time. The first of the other messages decides about all of them, so
    -- that the result does not depend on when fetches came. It is removed last, for the same reason.
    DELETE FROM messages m WHERE m.id = ANY(ARRAY(
      SELECT o.id FROM messages o WHERE o.key = orphan.key AND o.visible_at <= old_until AND o.kind = 7
      ORDER BY o.visible_at, o.id LIMIT most_messages));
    GET DIAGNOSTICS dropped = ROW_COUNT;
    most_messages := most_messages - dropped;
    IF most_messages > 0 AND EXISTS (
      SELECT 1 FROM messages o WHERE o.key = orphan.key AND o.visible_at <= old_until AND o.kind <> 7)
    THEN
      DELETE FROM messages m WHERE m.id = ANY(ARRAY(
        SELECT o.id FROM messages o WHERE o.key = orphan.key AND o.kind <> 7
        ORDER BY o.visible_at DESC, o.id DESC LIMIT most_messages));
      GET DIAGNOSTICS others = ROW_COUNT;
      most_messages := most_messages - others;
      dropped := dropped + others;
    END IF;
    PERFORM reschedule(ARRAY[orphan.key], retention);
    PERFORM forget_empty(ARRAY[orphan.key]);
    instance := orphan.id;
    IF dropped > 0 THEN RETURN NEXT; END IF;
  END LOOP;
END $$;

-- Whether the start of a child is visible to a running instance (status 0). Its id is taken, and any node can refuse the
-- start. (The planner does not inline this function, so that it never reads all queued starts to find one.)
CREATE FUNCTION has_child_start(row_key bigint, moment bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM messages m
    WHERE m.key = row_key AND m.visible_at <= moment AND m.kind IN (1, 2) AND m.kind = 1 AND m.parent IS NOT NULL);
END $$;

-- Whether a node with this filter would find an instance now. The messages of an instance that has ended (status 1 to 4)
-- need no code, so no filter applies to it.
CREATE FUNCTION instance_is_waiting(
    fetching_owner text, names text[], oldest text[], newest text[], suspect_from bigint, admit_suspects boolean)
  RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  moment CONSTANT bigint := now_ms();
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM instances i
    WHERE i.ready_at <= moment AND (admit_suspects OR i.attempts < suspect_from)
      AND (i.status BETWEEN 1 AND 4
           OR ((cardinality(names) = 0 OR i.name IS NULL OR i.name = ANY(names))
               AND (cardinality(oldest) = 0 OR i.pin IS NULL OR EXISTS (
                 SELECT 1 FROM unnest(oldest, newest) v(low, high) WHERE i.pin BETWEEN v.low AND v.high)))
           OR (i.status = 0 AND i.created_at IS NOT NULL AND has_child_start(i.key, moment))))
    OR (fetching_owner <> '' AND EXISTS (
      SELECT 1 FROM instances i
      WHERE i.holder = fetching_owner AND i.held_ready_at <= moment AND i.locked_until > moment
        AND (admit_suspects OR i.attempts < suspect_from)
        AND (i.status BETWEEN 1 AND 4
             OR ((cardinality(names) = 0 OR i.name IS NULL OR i.name = ANY(names))
                 AND (cardinality(oldest) = 0 OR i.pin IS NULL OR EXISTS (
                   SELECT 1 FROM unnest(oldest, newest) v(low, high) WHERE i.pin BETWEEN v.low AND v.high)))
             OR (i.status = 0 AND i.created_at IS NOT NULL AND has_child_start(i.key, moment)))));
END $$;

-- Locks up to `most` instances that are ready at the moment, in the order of their readiness, and returns their keys in
-- that order. Rows that another transaction has locked are skipped: there is always a next candidate. A suspect is
-- taken alone.
CREATE FUNCTION lock_ready_instances(
    moment bigint, most bigint, lock_timeout bigint, secret bigint, fetching_owner text, names text[], oldest text[], newest text[],
    suspect_from bigint, admit_suspects boolean)
  RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  locked_to CONSTANT bigint := later(moment, lock_timeout);
  attempts_below bigint := CASE WHEN admit_suspects THEN 9223372036854775807 ELSE suspect_from END;
  taken bigint[];
  tried bigint[];
BEGIN
  LOOP
    SELECT array_agg(c.key), array_agg(c.attempts) INTO taken, tried
    FROM (
      SELECT * FROM (
        SELECT i.key, i.attempts, i.ready_at AS due FROM instances i
        WHERE i.ready_at <= moment AND i.attempts < attempts_below
          AND (i.status BETWEEN 1 AND 4
               OR ((cardinality(names) = 0 OR i.name IS NULL OR i.name = ANY(names))
                   AND (cardinality(oldest) = 0 OR i.pin IS NULL OR EXISTS (
                     SELECT 1 FROM unnest(oldest, newest) v(low, high) WHERE i.pin BETWEEN v.low AND v.high)))
               OR (i.status = 0 AND i.created_at IS NOT NULL AND has_child_start(i.key, moment)))
        ORDER BY i.ready_at, i.key LIMIT most FOR UPDATE SKIP LOCKED) ready
      UNION ALL
      SELECT * FROM (
        SELECT i.key, i.attempts, i.held_ready_at AS due FROM instances i
        WHERE fetching_owner <> '' AND i.holder = fetching_owner AND i.held_ready_at <= moment
          AND i.locked_until > moment AND i.attempts < attempts_below
          AND (i.status BETWEEN 1 AND 4
               OR ((cardinality(names) = 0 OR i.name IS NULL OR i.name = ANY(names))
                   AND (cardinality(oldest) = 0 OR i.pin IS NULL OR EXISTS (
                     SELECT 1 FROM unnest(oldest, newest) v(low, high) WHERE i.pin BETWEEN v.low AND v.high)))
               OR (i.status = 0 AND i.created_at IS NOT NULL AND has_child_start(i.key, moment)))
        ORDER BY i.held_ready_at, i.key LIMIT most FOR UPDATE SKIP LOCKED) held
      ORDER BY due, key LIMIT most) c;
    EXIT WHEN taken IS NULL OR attempts_below = suspect_from OR NOT suspect_from <= ANY(tried);
    IF tried[1] >= suspect_from THEN
      taken := taken[1:1];
      EXIT;
    END IF;
    attempts_below := suspect_from;  -- again, without those that do not come first
  END LOOP;
  UPDATE instances i
  SET token = secret, locked_until = locked_to, holder = NULL, not_before = NULL, held_ready_at = NULL,
      ready_at = locked_to, attempts = i.attempts + 1
  WHERE i.key = ANY(taken);
  RETURN taken;
END $$;

-- A history of more than most_history_bytes is left out: its data is NULL, and read_history loads it row by row.
-- The first rows are orphans: they have no key, and `attempts` counts their dropped messages. The instances follow. The
-- last row holds the time in `attempts`. Messages are read in a statement after the one that locks: an older snapshot could show
-- messages that another node has consumed. The time for their visibility is read after the lock as well: an earlier
-- time would miss messages that other nodes have queued by then. An aggregate takes its rows in the order of its
-- subquery. The last `end_requests` messages of an instance are the first visible cancel and the first visible terminate,
-- if the limits keep them out of the others.
CREATE FUNCTION fetch_instances(
    most bigint, lock_timeout bigint, secret bigint, fetching_owner text, names text[], oldest text[], newest text[],
    suspect_from bigint, admit_suspects boolean, with_history boolean, max_messages bigint, max_bytes bigint,
    retention bigint)
  RETURNS TABLE(
    key bigint, id text, attempts bigint, locked_until bigint, is_instance boolean, name text, version text, parent text,
    status smallint, pin text, incarnation bigint, execution bigint, last_event bigint,
    message_ids bigint[], kinds smallint[], executions bigint[], message_names text[], visible bigint[], bodies bytea[],
    first_events bigint[], event_counts bigint[], event_data bytea[],
    value_names bytea[], value_data bytea[], value_times bigint[],
    parent_link text, message_parents text[], message_links text[], continuation_missing boolean,
    end_requests bigint)
  LANGUAGE plpgsql ROWS 10 AS $$
#variable_conflict use_column
DECLARE
  -- A row has at most 1 GB, and one instance with a longer history would let every fetch fail.
  most_history_bytes CONSTANT bigint := 67108864;
  -- One more than a batch takes, so that it is known whether the batch is complete.
  candidates CONSTANT bigint := least(max_messages, 9223372036854775806) + 1;
  moment bigint := now_ms();
  taken bigint[];
BEGIN
  IF EXISTS (SELECT 1 FROM instances i WHERE i.sweep_at <= moment) THEN
    FOR id, attempts IN SELECT s.instance, s.dropped FROM sweep_orphans(64, 1024, retention) s LOOP
      RETURN NEXT;
    END LOOP;
  END IF;
  -- Whoever lost all races looks again: what has come since then is visible only to a new statement.
  FOR tries IN 1 .. CASE WHEN most > 0 THEN 5 ELSE 0 END LOOP
    moment := greatest(moment, now_ms());
    taken := lock_ready_instances(moment, most, lock_timeout, secret, fetching_owner, names, oldest, newest, suspect_from,
                                  admit_suspects);
    EXIT WHEN taken IS NOT NULL
      OR NOT instance_is_waiting(fetching_owner, names, oldest, newest, suspect_from, admit_suspects);
  END LOOP;
  moment := greatest(moment, now_ms());
  id := NULL;
  attempts := moment;
  IF taken IS NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  PERFORM may_be_forgotten();
  RETURN QUERY
    SELECT i.key, i.id, i.attempts, i.locked_until, i.created_at IS NOT NULL, i.name, i.version, i.parent, i.status, i.pin,
           i.incarnation, i.execution, i.last_event, q.ids || z.ids, q.kinds || z.kinds, q.executions || z.executions,
           q.names || z.names, q.visible || z.visible, q.bodies || z.bodies, h.first_events, h.counts, h.data, v.names,
           v.data, v.times, i.parent_link, q.parents || z.parents, q.links || z.links,
           i.created_at IS NOT NULL AND i.status = 5 AND NOT EXISTS (
             SELECT 1 FROM messages c WHERE c.key = i.key AND c.kind IN (1, 2) AND c.kind = 2),
           coalesce(cardinality(z.ids), 0)::bigint
    FROM unnest(taken) WITH ORDINALITY t(key, place)
    JOIN instances i ON i.key = t.key
    CROSS JOIN LATERAL (
      SELECT array_agg(m.id) FILTER (WHERE m.fits) AS ids, array_agg(m.kind) FILTER (WHERE m.fits) AS kinds,
             array_agg(m.execution) FILTER (WHERE m.fits) AS executions, array_agg(m.name) FILTER (WHERE m.fits) AS names,
             array_agg(m.visible_at) FILTER (WHERE m.fits) AS visible, array_agg(m.body) FILTER (WHERE m.fits) AS bodies,
             array_agg(m.parent) FILTER (WHERE m.fits) AS parents, array_agg(m.parent_link) FILTER (WHERE m.fits) AS links,
             bool_and(m.fits) AS complete
      FROM (
        SELECT d.*, d.place = 1 OR (d.place <= max_messages AND d.bytes <= max_bytes) AS fits
        FROM (
          SELECT b.*, row_number() OVER delivery AS place, sum(octet_length(b.body)) OVER delivery AS bytes
          FROM (
            (SELECT m.*, 0 AS rank FROM messages m
             WHERE m.key = i.key AND m.visible_at <= moment AND m.kind IN (1, 2)
             ORDER BY m.visible_at, m.id LIMIT candidates)
            UNION ALL
            (SELECT m.*, 1 FROM messages m
             WHERE m.key = i.key AND m.visible_at <= moment AND m.kind NOT IN (1, 2)
             ORDER BY m.visible_at, m.id LIMIT candidates)) b
          WINDOW delivery AS (ORDER BY b.rank, b.visible_at, b.id)) d) m) q
    LEFT JOIN LATERAL (
      SELECT array_agg(m.id) AS ids, array_agg(m.kind) AS kinds, array_agg(m.execution) AS executions,
             array_agg(m.name) AS names, array_agg(m.visible_at) AS visible, array_agg(m.body) AS bodies,
             array_agg(m.parent) AS parents, array_agg(m.parent_link) AS links
      FROM (
        SELECT e.* FROM (
          (SELECT m.* FROM messages m
           WHERE m.key = i.key AND m.visible_at <= moment AND m.kind IN (10, 11) AND m.kind = 10
           ORDER BY m.visible_at, m.id LIMIT 1)
          UNION ALL
          (SELECT m.* FROM messages m
           WHERE m.key = i.key AND m.visible_at <= moment AND m.kind IN (10, 11) AND m.kind = 11
           ORDER BY m.visible_at, m.id LIMIT 1)) e
        WHERE NOT q.complete AND NOT e.id = ANY(q.ids)
        ORDER BY e.visible_at, e.id) m) z ON true
    LEFT JOIN LATERAL (
      SELECT array_agg(e.first_event) AS first_events, array_agg(e.events) AS counts,
             array_agg(e.data) FILTER (WHERE e.bytes <= most_history_bytes) AS data
      FROM (SELECT e.*, sum(octet_length(e.data)) OVER () AS bytes
            FROM history e WHERE with_history AND e.key = i.key AND e.execution = i.execution
            ORDER BY e.first_event) e) h ON true
    LEFT JOIN LATERAL (
      SELECT array_agg(k.name) AS names, array_agg(k.value) AS data, array_agg(k.updated_at) AS times
      FROM (SELECT * FROM key_values k WHERE with_history AND k.key = i.key ORDER BY k.name) k) v ON true
    ORDER BY t.place;
  RETURN NEXT;
END $$;

-- Returns which of these locks were valid. An expired lock that no other node has taken over is valid. A cancel or
-- terminate that arrived after the fetch is not delayed.
CREATE FUNCTION abandon_instances(
    row_keys bigint[], secrets bigint[], delays bigint[], ignore_attempts boolean[], retention bigint)
  RETURNS TABLE(key bigint, secret bigint) LANGUAGE plpgsql ROWS 10 AS $$
#variable_conflict use_column
DECLARE
  given_back bigint[];
  tokens bigint[];
BEGIN
  SELECT array_agg(l.key), array_agg(l.token) INTO given_back, tokens FROM (
    SELECT i.key, i.token FROM unnest(row_keys, secrets) a(key, secret)
    JOIN instances i ON i.key = a.key AND i.token = a.secret
    ORDER BY i.key FOR UPDATE OF i) l;
  IF given_back IS NULL THEN RETURN; END IF;
  PERFORM may_be_forgotten();
  UPDATE instances i
  SET token = NULL, holder = NULL, locked_until = NULL,
      not_before = CASE WHEN a.delay > 0 AND i.not_before IS DISTINCT FROM 0 THEN later(now_ms(), a.delay) END,
      attempts = CASE WHEN a.ignore_attempt THEN greatest(i.attempts - 1, 0) ELSE i.attempts END
  FROM unnest(row_keys, secrets, delays, ignore_attempts) a(key, secret, delay, ignore_attempt)
  WHERE i.key = a.key AND i.token = a.secret;
  PERFORM reschedule(given_back, retention);
  PERFORM forget_empty(given_back);
  RETURN QUERY SELECT * FROM unnest(given_back, tokens);
END $$;

-- Answers which of these locks hold, and until when they hold now.
CREATE FUNCTION renew_instances(row_keys bigint[], secrets bigint[], extend_for bigint, retention bigint)
  RETURNS TABLE(key bigint, secret bigint, locked_until bigint) LANGUAGE plpgsql ROWS 10 AS $$
#variable_conflict use_column
DECLARE
  locked_to bigint;
  renewed bigint[];
BEGIN
  SELECT array_agg(l.key), array_agg(l.token) INTO renewed, secrets FROM (
    SELECT i.key, i.token FROM unnest(row_keys, secrets) r(key, secret)
    JOIN instances i ON i.key = r.key AND i.token = r.secret AND i.locked_until > now_ms()
    ORDER BY i.key FOR UPDATE OF i) l;
  IF renewed IS NULL THEN RETURN; END IF;
  PERFORM may_be_forgotten();
  locked_to := later(now_ms(), extend_for);
  UPDATE instances i SET locked_until = locked_to WHERE i.key = ANY(renewed);
  PERFORM reschedule(renewed, retention);
  RETURN QUERY SELECT r.*, locked_to FROM unnest(renewed, secrets) r;
END $$;
