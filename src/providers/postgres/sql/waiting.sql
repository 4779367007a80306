-- Who waits, and who is told.

-- A waiter is told of what comes for as long as it wants to be (0: not at all). That is committed before it looks for the
-- last time, and who commits work asks for waiters behind it: so nothing falls between the two.
CREATE FUNCTION announce_waiter(
    who bigint, instances_wanted bigint, activities_wanted bigint, changes_wanted bigint, groups bigint)
  RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO waiters AS w (waiter, instances_until, activities_until, changes_until, change_groups)
  VALUES (who, later(now_ms(), instances_wanted), later(now_ms(), activities_wanted), later(now_ms(), changes_wanted), groups)
  ON CONFLICT (waiter) DO UPDATE
  SET instances_until = excluded.instances_until, activities_until = excluded.activities_until,
      changes_until = excluded.changes_until, change_groups = excluded.change_groups;
END $$;

-- The time, whether there is something to fetch now, and when that may change by itself.
CREATE FUNCTION look_for_instances(
    fetching_owner text, names text[], oldest text[], newest text[], suspect_from bigint, admit_suspects boolean)
  RETURNS TABLE(moment bigint, is_there boolean, again_at bigint) LANGUAGE plpgsql AS $$
BEGIN
  moment := now_ms();
  is_there := instance_is_waiting(fetching_owner, names, oldest, newest, suspect_from, admit_suspects);
  again_at := least(
    (SELECT min(i.ready_at) FROM instances i WHERE i.ready_at > moment),
    (SELECT min(i.held_ready_at) FROM instances i WHERE i.holder = fetching_owner AND i.held_ready_at > moment));
  RETURN NEXT;
END $$;

CREATE FUNCTION look_for_activities(
    lanes text[], names text[], session_owner text, max_sessions bigint, suspect_from bigint, admit_suspects boolean)
  RETURNS TABLE(moment bigint, is_there boolean, again_at bigint) LANGUAGE plpgsql AS $$
BEGIN
  moment := now_ms();
  is_there := cardinality(lanes) IS DISTINCT FROM 0
    AND work_is_waiting(lanes, names, session_owner, max_sessions, suspect_from, admit_suspects);
  IF cardinality(lanes) = 0 THEN
    RETURN NEXT;
    RETURN;
  END IF;
  IF is_there THEN
    RETURN NEXT;
    RETURN;
  END IF;
  again_at := least(
    (SELECT min(a.expires_at) FROM activities a WHERE a.expires_at > moment),
    -- Whoever fetched an expired one, of any lane, may have died before it failed it.
    (SELECT min(a.ready_at) FROM activities a WHERE a.expires_at <= moment AND a.ready_at > moment),
    (SELECT min(f.ready_at) FROM unnest(coalesce(lanes, all_lanes())) l(lane) CROSS JOIN LATERAL (
      SELECT a.ready_at FROM activities a WHERE a.lane = l.lane AND a.ready_at > moment ORDER BY a.ready_at LIMIT 1) f));
  -- Activities wait for a session to end.
  IF session_owner IS NOT NULL AND EXISTS (
    SELECT 1 FROM activities a WHERE a.session IS NOT NULL AND a.ready_at <= moment)
  THEN
    again_at := least(again_at, (SELECT min(s.locked_until) FROM sessions s WHERE s.locked_until > moment));
  END IF;
  RETURN NEXT;
END $$;

-- Wakes those who wait for what has come. Called behind the commit that brought it, in a transaction of its own, because
-- a notification makes transactions wait for each other until they are on disk.
CREATE FUNCTION wake_waiters(who bigint, channel text, instances_came boolean, activities_came boolean, groups bigint)
  RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  moment CONSTANT bigint := now_ms();
  told record;
BEGIN
  SELECT bool_or(instances_came AND w.instances_until > moment) AS instances,
         bool_or(activities_came AND w.activities_until > moment) AS activities,
         coalesce(bit_or(w.change_groups & groups) FILTER (WHERE w.changes_until > moment), 0) AS groups
  INTO told FROM waiters w WHERE w.waiter <> who;
  IF told.instances OR told.activities OR told.groups <> 0 THEN
    PERFORM pg_notify(channel, concat(CASE WHEN told.instances THEN 'i' END, CASE WHEN told.activities THEN 'a' END,
                                      ':', told.groups));
  END IF;
END $$;

-- The safety net of a waiter, once in a while: it is announced anew, and told whether anything is due at all.
CREATE FUNCTION poll_for_waiter(
    who bigint, instances_wanted bigint, activities_wanted bigint, changes_wanted bigint, groups bigint)
  RETURNS TABLE(instances_due boolean, activities_due boolean) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM announce_waiter(who, instances_wanted, activities_wanted, changes_wanted, groups);
  -- Of processes that have not been seen for an hour.
  DELETE FROM waiters w
  WHERE greatest(w.instances_until, w.activities_until, w.changes_until) < now_ms() - 3600000;
  instances_due := instances_wanted > 0 AND (
    EXISTS (SELECT 1 FROM instances i WHERE i.ready_at <= now_ms())
    OR EXISTS (SELECT 1 FROM instances i WHERE i.held_ready_at <= now_ms()));
  activities_due := activities_wanted > 0 AND EXISTS (
    SELECT 1 FROM unnest(all_lanes()) l(lane) CROSS JOIN LATERAL (
      SELECT 1 FROM activities a WHERE a.lane = l.lane AND a.ready_at <= now_ms() LIMIT 1) due);
  RETURN NEXT;
END $$;
