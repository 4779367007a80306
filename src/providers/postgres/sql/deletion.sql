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

CREATE FUNCTION delete_rows(row_keys bigint[])
  RETURNS TABLE(deleted bigint, executions bigint, events bigint, messages bigint) LANGUAGE plpgsql AS $$
DECLARE
  activities bigint;
BEGIN
  WITH gone AS (DELETE FROM history h WHERE h.key = ANY(row_keys) RETURNING h.events)
  SELECT coalesce(sum(g.events), 0) INTO events FROM gone g;
  WITH gone AS (DELETE FROM executions e WHERE e.key = ANY(row_keys) RETURNING 1)
  SELECT count(*) INTO executions FROM gone;
  WITH gone AS (DELETE FROM messages m WHERE m.key = ANY(row_keys) RETURNING 1)
  SELECT count(*) INTO messages FROM gone;
  WITH gone AS (DELETE FROM activities a WHERE a.key = ANY(row_keys) RETURNING 1)
  SELECT count(*) INTO activities FROM gone;
  messages := messages + activities;
  DELETE FROM key_values v WHERE v.key = ANY(row_keys);
  DELETE FROM key_value_changes c WHERE c.key = ANY(row_keys);
  DELETE FROM custom_statuses s WHERE s.key = ANY(row_keys);
  WITH gone AS (DELETE FROM instances i WHERE i.key = ANY(row_keys) RETURNING 1)
  SELECT count(*) INTO deleted FROM gone;
  RETURN NEXT;
END $$;

-- problem: NULL if it was done, else 'unknown', 'child' with the parent, or 'running' with who runs.
CREATE FUNCTION delete_tree(root text, forced boolean)
  RETURNS TABLE(problem text, whom text, deleted bigint, executions bigint, events bigint, messages bigint)
  LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  tree bigint[];
  grown bigint[];
BEGIN
  tree := tree_of(root);
  LOOP  -- until no child has come while we waited for the locks
    PERFORM lock_instances(tree);
    grown := tree_of(root);
    EXIT WHEN grown IS NOT DISTINCT FROM tree;
    tree := grown;
  END LOOP;
  problem := 'unknown';
  whom := root;
  IF tree IS NULL OR NOT EXISTS (
    SELECT 1 FROM instances i WHERE i.key = tree[1] AND (i.created_at IS NOT NULL
      OR EXISTS (SELECT 1 FROM messages m WHERE m.key = i.key AND m.kind IN (1, 2))))
  THEN
    RETURN NEXT;
    RETURN;
  END IF;
  SELECT i.parent INTO whom FROM instances i WHERE i.key = tree[1];
  problem := 'child';
  IF whom IS NULL AND NOT forced THEN
    whom := first_running(tree);
    problem := 'running';
  END IF;
  IF whom IS NOT NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  problem := NULL;
  SELECT d.deleted, d.executions, d.events, d.messages INTO deleted, executions, events, messages
  FROM delete_rows(tree) d;
  RETURN NEXT;
END $$;

-- Just these. problem: 'running' with who runs, or 'children' with whose children would be left behind.
CREATE FUNCTION delete_listed(listed text[], forced boolean)
  RETURNS TABLE(problem text, whom text, deleted bigint, executions bigint, events bigint, messages bigint)
  LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  row_keys bigint[];
BEGIN
  SELECT array_agg(i.key) INTO row_keys FROM instances i WHERE i.id = ANY(listed);
  PERFORM lock_instances(row_keys);
  -- Unknown ones and orphans are skipped.
  SELECT coalesce(array_agg(f.key ORDER BY f.place), '{}') INTO row_keys FROM (
    SELECT i.key, min(l.place) AS place FROM unnest(listed) WITH ORDINALITY l(id, place) JOIN instances i ON i.id = l.id
    WHERE i.created_at IS NOT NULL OR EXISTS (SELECT 1 FROM messages m WHERE m.key = i.key AND m.kind IN (1, 2))
    GROUP BY i.key) f;
  IF NOT forced THEN
    whom := first_running(row_keys);
    problem := 'running';
  END IF;
  IF whom IS NULL THEN
    SELECT p.id INTO whom FROM instances p JOIN instances c ON c.parent = p.id
    WHERE p.key = ANY(row_keys) AND c.key <> ALL(row_keys) ORDER BY p.key LIMIT 1;
    problem := 'children';
  END IF;
  IF whom IS NOT NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  problem := NULL;
  SELECT d.deleted, d.executions, d.events, d.messages INTO deleted, executions, events, messages
  FROM delete_rows(row_keys) d;
  RETURN NEXT;
END $$;

-- What a start does to an instance that exists: policy 0 ignores it, 1 fails, 2 replaces it if it has ended. outcome: 0
-- enqueued, 1 ignored, 2 replaced; or a problem of delete_tree, or 'exists'.
CREATE FUNCTION enqueue_start(
    instance text, policy bigint, orchestration text, start_execution bigint, start_visible bigint, start_body bytea,
    retention bigint)
  RETURNS TABLE(outcome bigint, problem text, whom text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  row_key bigint;
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
      SELECT d.problem, d.whom INTO problem, whom FROM delete_tree(instance, false) d;
      IF problem IS NULL THEN PERFORM lock_or_make_instances(ARRAY[instance], '{}'); END IF;
    END IF;
    IF policy = 0 OR problem IS NOT NULL THEN
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;
  SELECT i.key INTO row_key FROM instances i WHERE i.id = instance;
  INSERT INTO messages(key, kind, execution, name, visible_at, body)
  VALUES (row_key, 1, start_execution, orchestration, coalesce(start_visible, now_ms()), start_body);
  UPDATE instances i SET name = orchestration WHERE i.key = row_key;
  PERFORM reschedule(ARRAY[row_key], retention);
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
