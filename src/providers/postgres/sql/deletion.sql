-- Starting, deleting and pruning instances.

-- Status 0 runs. Status 5, continued as new, goes on as long as the continuation is queued; and what is no instance yet
-- runs if a start is queued.
CREATE FUNCTION first_running(row_keys bigint[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT i.id FROM unnest(row_keys) WITH ORDINALITY k(key, place) JOIN instances i ON i.key = k.key
    WHERE CASE
      WHEN i.created_at IS NOT NULL AND i.status <> 5 THEN i.status = 0
      ELSE EXISTS (SELECT 1 FROM messages m WHERE m.key = i.key AND m.kind IN (1, 2))
    END
    ORDER BY k.place LIMIT 1);
END $$;

-- Parents before their children.
CREATE FUNCTION tree_of(root text) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  tree bigint[];
BEGIN
  WITH RECURSIVE family(key, id, depth, path) AS (
    SELECT i.key, i.id, 0, ARRAY[i.key] FROM instances i WHERE i.id = root
    UNION ALL
    SELECT i.key, i.id, f.depth + 1, f.path || i.key FROM family f JOIN instances i ON i.parent = f.id
    WHERE i.key <> ALL(f.path))
  SELECT array_agg(f.key ORDER BY f.depth, f.key) INTO tree
  FROM (SELECT DISTINCT ON (g.key) g.key, g.depth FROM family g ORDER BY g.key, g.depth) f;
  RETURN tree;
END $$;

-- The parent of an instance, or of an id with only a queued start.
CREATE FUNCTION parent_of(row_key bigint) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT CASE WHEN i.created_at IS NOT NULL THEN i.parent ELSE
      (SELECT m.parent FROM messages m WHERE m.key = i.key AND m.kind IN (1, 2) ORDER BY m.visible_at, m.id LIMIT 1) END
    FROM instances i WHERE i.key = row_key);
END $$;

-- The tree, and the children in it that are only queued.
CREATE FUNCTION family_of(root text) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  family bigint[] := tree_of(root);
BEGIN
  IF family IS NULL THEN RETURN NULL; END IF;
  RETURN family || (
    SELECT coalesce(array_agg(DISTINCT c.key), '{}')
    FROM instances p JOIN messages m ON m.parent = p.id AND m.kind = 1 JOIN instances c ON c.key = m.key
    WHERE p.key = ANY(family) AND c.created_at IS NULL AND parent_of(c.key) = p.id);
END $$;

-- Rows that a deletion of these changes: other rows may hold messages that the deleted instances have sent.
CREATE FUNCTION rows_touched_by_deletion(row_keys bigint[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT array_agg(t.key ORDER BY t.key) FROM (
      SELECT unnest(row_keys) AS key
      UNION SELECT m.key FROM messages m JOIN instances p ON p.id = m.parent WHERE p.key = ANY(row_keys)) t);
END $$;

-- Deletes rows; the caller has locked them and those of rows_touched_by_deletion. left_messages: the starts of children
-- whose parents still exist, and the messages that these parents sent after them. The ids are free after the deletion,
-- so the children get them. A cancel without a start before it has no receiver. The caller queues these messages again,
-- see queue_left_messages. ignored_starts: the ids of starts without a parent that waited for an id which a row has, one
-- element each. Only a report of the caller makes their removal visible.
CREATE FUNCTION delete_rows(row_keys bigint[], retention bigint)
  RETURNS TABLE(
    deleted bigint, executions bigint, events bigint, messages bigint, left_messages messages[], left_ids text[],
    ignored_starts text[])
  LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  gone_ids text[];
  others bigint[];
  number bigint;
BEGIN
  SELECT coalesce(array_agg(i.id), '{}') INTO gone_ids FROM instances i WHERE i.key = ANY(row_keys);
  SELECT array_agg(m ORDER BY m.id), array_agg(i.id ORDER BY m.id) INTO left_messages, left_ids
  FROM messages m JOIN instances i ON i.key = m.key
  WHERE m.key = ANY(row_keys) AND m.parent <> ALL(gone_ids) AND EXISTS (
    SELECT 1 FROM messages s WHERE s.key = m.key AND s.kind = 1 AND s.parent <> ALL(gone_ids));
  SELECT array_agg(i.id ORDER BY m.id) INTO ignored_starts
  FROM messages m JOIN instances i ON i.key = m.key
  WHERE m.key = ANY(row_keys) AND m.kind = 1 AND m.parent IS NULL AND (i.created_at IS NOT NULL OR m.id <> (
    SELECT f.id FROM messages f WHERE f.key = m.key AND f.kind IN (1, 2) ORDER BY f.visible_at, f.id LIMIT 1));
  WITH gone AS (DELETE FROM history h WHERE h.key = ANY(row_keys) RETURNING h.events)
  SELECT coalesce(sum(g.events), 0) INTO events FROM gone g;
  WITH gone AS (DELETE FROM executions e WHERE e.key = ANY(row_keys) RETURNING 1)
  SELECT count(*) INTO executions FROM gone;
  WITH gone AS (DELETE FROM messages m WHERE m.key = ANY(row_keys) RETURNING 1)
  SELECT count(*) - coalesce(cardinality(left_ids), 0) INTO messages FROM gone;
  WITH gone AS (DELETE FROM activities a WHERE a.key = ANY(row_keys) RETURNING 1)
  SELECT count(*) INTO number FROM gone;
  messages := messages + number;
  DELETE FROM key_values v WHERE v.key = ANY(row_keys);
  DELETE FROM key_value_changes c WHERE c.key = ANY(row_keys);
  DELETE FROM custom_statuses s WHERE s.key = ANY(row_keys);
  WITH gone AS (DELETE FROM instances i WHERE i.key = ANY(row_keys) RETURNING 1)
  SELECT count(*) INTO deleted FROM gone;
  -- Messages that the deleted instances have sent to ids of other instances.
  WITH gone AS (DELETE FROM messages m WHERE m.parent = ANY(gone_ids) RETURNING m.key)
  SELECT array_agg(DISTINCT g.key) INTO others FROM gone g;
  IF others IS NOT NULL THEN
    UPDATE instances i SET name = coalesce((
      SELECT m.name FROM messages m WHERE m.key = i.key AND m.kind IN (1, 2) ORDER BY m.visible_at, m.id LIMIT 1), i.name)
    WHERE i.key = ANY(others) AND i.created_at IS NULL;
    PERFORM reschedule(others, retention);
    PERFORM forget_empty(others);
  END IF;
  RETURN NEXT;
END $$;

CREATE FUNCTION queue_left_messages(left_messages messages[], left_ids text[], visible_from bigint, retention bigint)
  RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  targets text[];
BEGIN
  IF left_ids IS NULL THEN RETURN; END IF;
  SELECT array_agg(t.id ORDER BY t.place) INTO targets FROM (
    SELECT l.id, min(l.place) AS place FROM unnest(left_ids) WITH ORDINALITY l(id, place) GROUP BY l.id) t;
  PERFORM lock_or_make_instances(targets, '{}');
  FOR place IN 1 .. cardinality(left_ids) LOOP
    INSERT INTO messages(key, kind, execution, name, visible_at, parent, parent_link, body)
    SELECT i.key, left_messages[place].kind, left_messages[place].execution, left_messages[place].name,
           greatest(left_messages[place].visible_at, visible_from), left_messages[place].parent,
           left_messages[place].parent_link, left_messages[place].body
    FROM instances i WHERE i.id = left_ids[place];
  END LOOP;
  PERFORM note_messages(targets, array_fill(false, ARRAY[cardinality(targets)]), '{}', '{}', '{}', retention);
END $$;

-- problem: NULL on success, else 'unknown', 'child' with the parent, or 'running' with the running instance. The caller
-- queues the left messages again.
CREATE FUNCTION delete_family(root text, forced boolean, retention bigint)
  RETURNS TABLE(
    problem text, whom text, deleted bigint, executions bigint, events bigint, messages bigint,
    left_messages messages[], left_ids text[], ignored_starts text[])
  LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  family bigint[];
  touched bigint[];
  grown bigint[];
BEGIN
  family := family_of(root);
  touched := rows_touched_by_deletion(family);
  LOOP  -- until no child has come while we waited for the locks
    PERFORM lock_instances(touched);
    family := family_of(root);
    grown := rows_touched_by_deletion(family);
    EXIT WHEN grown IS NOT DISTINCT FROM touched;
    touched := grown;
  END LOOP;
  problem := 'unknown';
  whom := root;
  IF family IS NULL OR NOT EXISTS (
    SELECT 1 FROM instances i WHERE i.key = family[1] AND (i.created_at IS NOT NULL
      OR EXISTS (SELECT 1 FROM messages m WHERE m.key = i.key AND m.kind IN (1, 2))))
  THEN
    RETURN NEXT;
    RETURN;
  END IF;
  whom := parent_of(family[1]);
  problem := 'child';
  IF whom IS NULL AND NOT forced THEN
    whom := first_running(family);
    problem := 'running';
  END IF;
  IF whom IS NOT NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  problem := NULL;
  SELECT d.deleted, d.executions, d.events, d.messages, d.left_messages, d.left_ids, d.ignored_starts
  INTO deleted, executions, events, messages, left_messages, left_ids, ignored_starts
  FROM delete_rows(family, retention) d;
  RETURN NEXT;
END $$;

-- Removes what has collected for an id without an instance, so that a start after the deletion does not receive it.
-- discarded_ids and discarded_counts: whose messages these were, and how many.
CREATE FUNCTION delete_tree(root text, forced boolean, retention bigint)
  RETURNS TABLE(
    problem text, whom text, deleted bigint, executions bigint, events bigint, messages bigint, ignored_starts text[],
    discarded_ids text[], discarded_counts text[])
  LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  left_messages messages[];
  left_ids text[];
BEGIN
  SELECT d.problem, d.whom, d.deleted, d.executions, d.events, d.messages, d.left_messages, d.left_ids, d.ignored_starts
  INTO problem, whom, deleted, executions, events, messages, left_messages, left_ids, ignored_starts
  FROM delete_family(root, forced, retention) d;
  IF problem = 'unknown' THEN
    SELECT array_agg(d.instance), array_agg(d.discarded::text) INTO discarded_ids, discarded_counts
    FROM discard_orphans(ARRAY[root]) d;
  END IF;
  PERFORM queue_left_messages(left_messages, left_ids, 0, retention);
  RETURN NEXT;
END $$;

-- Deletes only these. problem: 'running' with the running instance, 'awaited' with a child whose parent would wait for
-- it forever, or 'children' with the instance whose children would be left without a parent.
CREATE FUNCTION delete_listed(listed text[], forced boolean, retention bigint)
  RETURNS TABLE(
    problem text, whom text, deleted bigint, executions bigint, events bigint, messages bigint, ignored_starts text[],
    discarded_ids text[], discarded_counts text[])
  LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  row_keys bigint[];
  touched bigint[];
  grown bigint[];
  left_messages messages[];
  left_ids text[];
BEGIN
  LOOP  -- until no row and no message has come while the call waited for the locks
    SELECT array_agg(i.key) INTO row_keys FROM instances i WHERE i.id = ANY(listed);
    grown := rows_touched_by_deletion(row_keys);
    EXIT WHEN grown IS NOT DISTINCT FROM touched;
    touched := grown;
    PERFORM lock_instances(touched);
  END LOOP;
  -- Unknown ones are skipped, and orphans are only emptied.
  SELECT coalesce(array_agg(f.key ORDER BY f.place), '{}') INTO row_keys FROM (
    SELECT i.key, min(l.place) AS place FROM unnest(listed) WITH ORDINALITY l(id, place) JOIN instances i ON i.id = l.id
    WHERE i.created_at IS NOT NULL OR EXISTS (SELECT 1 FROM messages m WHERE m.key = i.key AND m.kind IN (1, 2))
    GROUP BY i.key) f;
  IF NOT forced THEN
    whom := first_running(row_keys);
    problem := 'running';
  END IF;
  IF whom IS NULL THEN  -- the first listed instance with a problem, as in the other stores
    SELECT f.id, f.kind INTO whom, problem FROM (
      SELECT r.place, i.id, CASE
        WHEN first_running(ARRAY[i.key]) IS NOT NULL AND EXISTS (
          SELECT 1 FROM instances p
          WHERE p.id = parent_of(i.key) AND p.created_at IS NOT NULL AND p.key <> ALL(row_keys)) THEN 'awaited'
        WHEN EXISTS (SELECT 1 FROM instances c WHERE c.parent = i.id AND c.key <> ALL(row_keys))
          OR EXISTS (SELECT 1 FROM messages m JOIN instances c ON c.key = m.key
                     WHERE m.parent = i.id AND m.kind = 1 AND c.created_at IS NULL AND c.key <> ALL(row_keys)
                       AND parent_of(c.key) = i.id) THEN 'children' END AS kind
      FROM unnest(row_keys) WITH ORDINALITY r(key, place) JOIN instances i ON i.key = r.key) f
    WHERE f.kind IS NOT NULL ORDER BY f.place LIMIT 1;
  END IF;
  IF whom IS NOT NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  problem := NULL;
  SELECT array_agg(d.instance), array_agg(d.discarded::text) INTO discarded_ids, discarded_counts
  FROM discard_orphans(listed) d;
  SELECT d.deleted, d.executions, d.events, d.messages, d.left_messages, d.left_ids, d.ignored_starts
  INTO deleted, executions, events, messages, left_messages, left_ids, ignored_starts
  FROM delete_rows(row_keys, retention) d;
  PERFORM queue_left_messages(left_messages, left_ids, 0, retention);
  RETURN NEXT;
END $$;

-- What a start does to an instance that exists: policy 0 ignores it, 1 fails, 2 replaces it if it has ended. outcome: 0
-- enqueued, 1 ignored, 2 replaced; or a problem of delete_family, or 'exists'. ignored_starts: as of delete_rows.
CREATE FUNCTION enqueue_start(
    instance text, policy bigint, orchestration text, start_execution bigint, start_visible bigint, start_body bytea,
    start_parent text, start_link text, retention bigint)
  RETURNS TABLE(outcome bigint, problem text, whom text, ignored_starts text[]) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  row_key bigint;
  left_messages messages[];
  left_ids text[];
BEGIN
  PERFORM lock_or_make_instances(ARRAY[instance], '{}');
  outcome := 0;
  IF EXISTS (
    SELECT 1 FROM instances i WHERE i.id = instance AND (i.created_at IS NOT NULL
      OR EXISTS (SELECT 1 FROM messages m WHERE m.key = i.key AND m.kind IN (1, 2))))
  THEN
    outcome := policy;
    IF policy = 0 THEN
      outcome := 1;
    ELSIF policy = 1 THEN
      problem := 'exists';
    ELSE
      SELECT d.problem, d.whom, d.left_messages, d.left_ids, d.ignored_starts
      INTO problem, whom, left_messages, left_ids, ignored_starts FROM delete_family(instance, false, retention) d;
      IF problem IS NULL THEN PERFORM lock_or_make_instances(ARRAY[instance], '{}'); END IF;
    END IF;
    IF policy = 0 OR problem IS NOT NULL THEN
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;
  SELECT i.key INTO row_key FROM instances i WHERE i.id = instance;
  INSERT INTO messages(key, kind, execution, name, visible_at, parent, parent_link, body)
  VALUES (row_key, 1, start_execution, orchestration, coalesce(start_visible, now_ms()), start_parent, start_link,
          start_body);
  UPDATE instances i SET name = orchestration WHERE i.key = row_key;
  PERFORM reschedule(ARRAY[row_key], retention);
  -- After the new start, so that the parent of a queued child receives the error that the id is taken.
  PERFORM queue_left_messages(left_messages, left_ids, coalesce(start_visible, now_ms()), retention);
  RETURN NEXT;
END $$;

-- Past executions that are not among the newest `keep_last`. Answers nothing if there is no such instance.
CREATE FUNCTION prune_executions(instance text, keep_last bigint, completed_before bigint)
  RETURNS TABLE(pruned bigint, events bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  row_key bigint;
  old bigint[];
BEGIN
  SELECT i.key INTO row_key FROM instances i WHERE i.id = instance AND i.created_at IS NOT NULL FOR UPDATE;
  IF row_key IS NULL THEN RETURN; END IF;
  SELECT coalesce(array_agg(e.execution), '{}') INTO old FROM executions e JOIN instances i ON i.key = e.key
  WHERE e.key = row_key AND e.execution <> i.execution AND e.status <> 0
    AND (completed_before IS NULL OR e.completed_at < completed_before)
    AND e.execution NOT IN (
      SELECT n.execution FROM executions n WHERE n.key = row_key ORDER BY n.execution DESC LIMIT keep_last);
  WITH gone AS (DELETE FROM history h WHERE h.key = row_key AND h.execution = ANY(old) RETURNING h.events)
  SELECT coalesce(sum(g.events), 0) INTO events FROM gone g;
  DELETE FROM executions e WHERE e.key = row_key AND e.execution = ANY(old);
  pruned := cardinality(old);
  RETURN NEXT;
END $$;

-- Removes messages for ids that have neither an instance nor a queued start, and returns how many. Messages that name
-- such an id as their parent stay: they belong to other rows.
CREATE FUNCTION discard_orphans(listed text[]) RETURNS TABLE(instance text, discarded bigint) LANGUAGE plpgsql AS $$
DECLARE
  row_keys bigint[];
BEGIN
  SELECT array_agg(i.key) INTO row_keys FROM instances i WHERE i.id = ANY(listed) AND i.created_at IS NULL;
  PERFORM lock_instances(row_keys);
  SELECT array_agg(i.key) INTO row_keys FROM instances i WHERE i.key = ANY(row_keys) AND NOT is_known(i.key);
  RETURN QUERY
    WITH gone AS (DELETE FROM messages m WHERE m.key = ANY(row_keys) RETURNING m.key)
    SELECT i.id, count(*) FROM gone g JOIN instances i ON i.key = g.key GROUP BY i.id;
  DELETE FROM activities a WHERE a.key = ANY(row_keys);
  DELETE FROM instances i WHERE i.key = ANY(row_keys);
END $$;
