-- The writes: each is one call, and one transaction. So a node that stops in the middle of something holds no lock.
--
-- p_token names a write. When its answer is lost, it is asked for again with the same token and p_retry, and answers what it did.
-- p_now is a test's clock; null: this server's.

CREATE FUNCTION clock(p_now bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(p_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
$$;

CREATE FUNCTION is_over(p_state text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT p_state IN ('completed', 'failed', 'rejected', 'canceled')
$$;

-- The state that callers are shown: taskStateOf, as its number in A2A's enum.
CREATE FUNCTION status_of(p_state text, p_waits_for text) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
  SELECT (CASE p_state
    WHEN 'queued' THEN 1
    WHEN 'running' THEN 2
    WHEN 'waiting' THEN CASE p_waits_for WHEN 'question' THEN 6 WHEN 'approval' THEN 8 WHEN 'connection' THEN 8 ELSE 2 END
    WHEN 'uncertain' THEN 2
    WHEN 'held' THEN 2
    WHEN 'completed' THEN 3
    WHEN 'failed' THEN 4
    WHEN 'canceled' THEN 5
    WHEN 'rejected' THEN 7
  END)::smallint
$$;

-- Ten minutes.
CREATE FUNCTION bucket_of(p_at bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT floor(p_at / 600000.0)::integer
$$;

-- A turn's status is another one, or it has come or gone.
CREATE FUNCTION count_status(
  p_context bigint, p_scope bigint, p_subject bigint, p_status smallint, p_at bigint, p_turns integer
) RETURNS void LANGUAGE sql VOLATILE AS $$
  INSERT INTO changes (context, scope, subject, status, bucket, turns)
  VALUES (p_context, p_scope, p_subject, p_status, bucket_of(p_at), p_turns)
$$;

CREATE FUNCTION count_sums(
  p_context bigint, p_scope bigint, p_subject bigint, p_queued integer, p_ready integer, p_bytes bigint
) RETURNS void LANGUAGE sql VOLATILE AS $$
  INSERT INTO changes (context, scope, subject, queued, ready, bytes)
  VALUES (p_context, p_scope, p_subject, p_queued, p_ready, p_bytes)
$$;

-- Absent, unless one of them is there.
CREATE FUNCTION sum_of(p_one double precision, p_other double precision) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_other IS NULL THEN p_one ELSE coalesce(p_one, 0) + p_other END
$$;

-- Folds the oldest changes into the sums. One node at a time: another one waits, or leaves it to that.
CREATE FUNCTION fold_changes(p_limit integer, p_wait boolean) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_count integer;
  v_file_bytes bigint;
  v_emptied bigint[];
BEGIN
  IF p_wait THEN
    PERFORM pg_advisory_xact_lock(hashtext('nylorun fold ' || current_schema()));
  ELSIF NOT pg_try_advisory_xact_lock(hashtext('nylorun fold ' || current_schema())) THEN
    RETURN 0;
  END IF;
  WITH gone AS (
    DELETE FROM changes WHERE change IN (SELECT change FROM changes ORDER BY change LIMIT p_limit)
    RETURNING scope, subject, status, bucket, turns, queued, ready, bytes, file_bytes, day, agent, tokens, cost_usd
  ), tallied AS (
    INSERT INTO tallies AS kept (scope, status, bucket, turns)
    SELECT * FROM (
      SELECT scope, status, bucket, sum(turns) AS turns FROM gone WHERE status IS NOT NULL AND scope > 0 GROUP BY scope, status, bucket
      UNION ALL SELECT 0, status, 0, sum(turns) FROM gone WHERE status IS NOT NULL GROUP BY status
    ) folded WHERE turns <> 0 ORDER BY scope, status, bucket
    ON CONFLICT (scope, status, bucket) DO UPDATE SET turns = kept.turns + excluded.turns
    RETURNING kept.scope, kept.turns
  ), summed AS (
    INSERT INTO sums AS kept (subject, queued, ready, bytes)
    SELECT subject, sum(queued), sum(ready), sum(bytes) FROM gone WHERE subject > 0 GROUP BY subject ORDER BY subject
    ON CONFLICT (subject) DO UPDATE
    SET queued = kept.queued + excluded.queued, ready = kept.ready + excluded.ready, bytes = kept.bytes + excluded.bytes
  ), used AS (
    INSERT INTO usage AS kept (subject, day, agent, turns, tokens, cost_usd)
    SELECT * FROM (
      SELECT subject, day, agent, count(*), sum(tokens), sum(cost_usd) FROM gone
      WHERE day IS NOT NULL AND subject > 0 GROUP BY subject, day, agent
      UNION ALL SELECT 0, day, agent, count(*), sum(tokens), sum(cost_usd) FROM gone WHERE day IS NOT NULL GROUP BY day, agent
    ) added ORDER BY 1, 2, 3
    ON CONFLICT (subject, day, agent) DO UPDATE
    SET turns = kept.turns + excluded.turns, tokens = sum_of(kept.tokens, excluded.tokens),
      cost_usd = sum_of(kept.cost_usd, excluded.cost_usd)
  )
  SELECT count(*), coalesce(sum(file_bytes), 0), (SELECT array_agg(DISTINCT scope) FROM tallied WHERE turns = 0)
  INTO v_count, v_file_bytes, v_emptied FROM gone;
  IF v_file_bytes <> 0 THEN UPDATE totals SET value = value + v_file_bytes WHERE name = 'fileBytes'; END IF;
  IF v_emptied IS NOT NULL THEN DELETE FROM tallies WHERE scope = ANY (v_emptied) AND turns = 0; END IF;
  RETURN v_count;
END $$;

-- A context comes to be ready: behind what its subject has in line already, and beside the first ones of everybody else. So who
-- sends a thousand messages delays who sends one by one turn, not by a thousand.
CREATE FUNCTION place_in_line(p_subject bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT 1 + greatest(
    (SELECT last_value FROM line),
    (SELECT max(place) FROM contexts WHERE subject = p_subject AND ready_at IS NOT NULL)
  )
$$;

-- The active turn has something to do, at a moment: then it is ready, unless that is yet to come, or it is a suspect (E17), which is
-- parked and due.
CREATE FUNCTION make_due(p_context bigint, p_at bigint, p_deaths integer, p_now bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  c contexts%ROWTYPE;
BEGIN
  SELECT * INTO c FROM contexts WHERE context = p_context;
  IF p_at <= p_now AND p_deaths < 2 THEN
    UPDATE contexts SET runner = NULL, ready_at = p_at, place = coalesce(place, place_in_line(c.subject)), due_at = NULL
    WHERE context = p_context;
    IF c.ready_at IS NULL THEN PERFORM count_sums(p_context, c.scope, c.subject, 0, 1, 0); END IF;
  ELSE
    UPDATE contexts SET runner = NULL, ready_at = NULL, place = NULL, due_at = p_at WHERE context = p_context;
    IF c.ready_at IS NOT NULL THEN PERFORM count_sums(p_context, c.scope, c.subject, 0, -1, 0); END IF;
  END IF;
END $$;

CREATE FUNCTION take(p_context bigint, p_turn bigint, p_node text, p_until bigint, p_token uuid) RETURNS bigint
LANGUAGE sql VOLATILE AS $$
  UPDATE contexts
  SET active = p_turn, epoch = epoch + 1, runner = p_node, ready_at = NULL, place = NULL, due_at = p_until, token = p_token
  WHERE context = p_context
  RETURNING epoch
$$;

-- The active turn is over: the next one that waits takes its place. p_lease_ms above 0: claimed at once.
CREATE FUNCTION go_on(
  p_context bigint, p_now bigint, p_node text, p_lease_ms bigint, p_token uuid,
  OUT next_turn bigint, OUT next_epoch bigint, OUT due boolean
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  c contexts%ROWTYPE;
  v_turn bigint;
  v_troubled boolean;
  v_status_at bigint;
  v_pushes integer;
  v_state text;
BEGIN
  due := false;
  SELECT * INTO c FROM contexts WHERE context = p_context;
  SELECT turn, troubled, status_at, pushes INTO v_turn, v_troubled, v_status_at, v_pushes
  FROM turns WHERE context = p_context AND state = 'queued' ORDER BY turn LIMIT 1;
  IF NOT FOUND THEN
    UPDATE contexts SET active = NULL, runner = NULL, ready_at = NULL, place = NULL, due_at = NULL WHERE context = p_context;
    IF c.ready_at IS NOT NULL THEN PERFORM count_sums(p_context, c.scope, c.subject, 0, -1, 0); END IF;
    RETURN;
  END IF;
  -- A turn that waited in a home that was restored is held when it is its turn.
  v_state := CASE WHEN v_troubled THEN 'held' ELSE 'running' END;
  UPDATE turns SET state = v_state, status = status_of(v_state, NULL), status_at = p_now
  WHERE context = p_context AND turn = v_turn;
  IF v_pushes > 0 THEN PERFORM tell_begun(p_context, v_turn, p_now); END IF;
  PERFORM count_status(p_context, c.scope, c.subject, status_of('queued', NULL), v_status_at, -1);
  PERFORM count_status(p_context, c.scope, c.subject, status_of(v_state, NULL), p_now, 1);
  PERFORM count_sums(p_context, c.scope, c.subject, -1, CASE WHEN c.ready_at IS NULL THEN 0 ELSE -1 END, 0);
  UPDATE contexts SET queued = queued - 1, active = v_turn, runner = NULL, ready_at = NULL, place = NULL, due_at = NULL
  WHERE context = p_context;
  IF v_state = 'running' AND p_lease_ms > 0 THEN
    next_turn := v_turn;
    next_epoch := take(p_context, v_turn, p_node, p_now + p_lease_ms, p_token);
    RETURN;
  END IF;
  UPDATE contexts SET epoch = epoch + 1 WHERE context = p_context;
  IF v_state = 'running' THEN
    PERFORM make_due(p_context, p_now, 0, p_now);
    due := true;
  END IF;
END $$;

-- See Store.accept. The context is locked before the message is looked up for good: who comes with the same one waits for that.
CREATE FUNCTION accept(
  p_subject text, p_agent text, p_name text, p_new_name text, p_digest text, p_hash text, p_dedupe_ms bigint,
  p_message text, p_extension_data text, p_agent_version text, p_traceparent text,
  p_reject boolean, p_depth bigint, p_most_queued bigint, p_most_bytes bigint,
  p_push_id text, p_push_origin text, p_push_target text,
  p_node text, p_lease_ms bigint, p_token uuid, p_retry boolean, p_now bigint,
  OUT kind text, OUT at_context bigint, OUT at_turn bigint, OUT is_queued boolean, OUT at bigint, OUT is_first boolean, OUT claimed bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_scope bigint;
  v_subject bigint;
  c contexts%ROWTYPE;
  v_known boolean;
  v_busy boolean;
  v_bytes bigint;
  v_has_bytes bigint;
  v_has_queued bigint;
  v_seen record;
  v_state text;
BEGIN
  LOOP
    SELECT s.scope, s.subject INTO v_scope, v_subject
    FROM subjects u JOIN scopes s ON s.subject = u.subject
    WHERE u.name = p_subject AND s.agent = p_agent
    FOR KEY SHARE OF u;
    EXIT WHEN FOUND;
    INSERT INTO subjects (name) VALUES (p_subject) ON CONFLICT DO NOTHING;
    INSERT INTO scopes (subject, agent) SELECT subject, p_agent FROM subjects WHERE name = p_subject ON CONFLICT DO NOTHING;
  END LOOP;

  LOOP
    v_known := false;
    SELECT context INTO at_context FROM names
    WHERE scope = v_scope AND name = coalesce(p_name, CASE WHEN p_retry THEN p_new_name END);
    IF FOUND THEN
      SELECT * INTO c FROM contexts WHERE context = at_context FOR UPDATE;
      -- It is gone by now, and its name with it.
      IF NOT FOUND THEN CONTINUE; END IF;
      v_known := true;
    END IF;
    at := clock(p_now);

    IF p_retry AND v_known THEN
      SELECT turn, state, created_at INTO v_seen FROM turns WHERE context = at_context AND token = p_token;
      IF FOUND THEN
        kind := 'accepted';
        at_turn := v_seen.turn;
        at := v_seen.created_at;
        is_queued := v_seen.state = 'queued';
        is_first := c.epoch = 1;
        claimed := CASE WHEN c.token = p_token AND c.runner = p_node AND c.active = at_turn THEN c.epoch END;
        RETURN;
      END IF;
    END IF;

    IF p_digest IS NOT NULL THEN
      SELECT m.context, m.turn, m.content_hash INTO v_seen FROM messages m
      WHERE m.digest = p_digest AND m.forget_at > at
        AND EXISTS (SELECT 1 FROM turns t WHERE t.context = m.context AND t.turn = m.turn);
      IF FOUND THEN
        kind := CASE WHEN v_seen.content_hash = p_hash THEN 'duplicate' ELSE 'reused' END;
        at_context := v_seen.context;
        at_turn := v_seen.turn;
        RETURN;
      END IF;
    END IF;

    v_busy := v_known AND c.active IS NOT NULL;
    IF v_busy AND p_reject THEN kind := 'busy'; RETURN; END IF;
    IF v_busy AND c.queued >= p_depth THEN kind := 'queueFull'; RETURN; END IF;
    SELECT coalesce(sum(s.waiting), 0), coalesce(sum(s.bytes), 0) INTO v_has_queued, v_has_bytes FROM (
      SELECT queued + ready AS waiting, bytes FROM sums WHERE subject = v_subject
      UNION ALL SELECT queued + ready, bytes FROM changes WHERE subject = v_subject
    ) s;
    IF v_has_queued >= p_most_queued THEN kind := 'subjectQueueFull'; RETURN; END IF;
    v_bytes := octet_length(p_message) + coalesce(octet_length(p_extension_data), 0) + 2;
    IF v_has_bytes + v_bytes > p_most_bytes THEN kind := 'subjectFull'; RETURN; END IF;

    at_turn := nextval('turn_keys');
    IF NOT v_known THEN at_context := nextval('context_keys'); END IF;

    -- A message without a context is one of its own by its id alone: that comes first. Any other by its context's name.
    IF p_name IS NOT NULL AND NOT v_known THEN
      INSERT INTO names (scope, name, context) VALUES (v_scope, p_name, at_context) ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN CONTINUE; END IF;
    END IF;
    IF p_digest IS NOT NULL THEN
      DELETE FROM messages m
      WHERE m.digest = p_digest
        AND (m.forget_at <= at OR NOT EXISTS (SELECT 1 FROM turns t WHERE t.context = m.context AND t.turn = m.turn));
      INSERT INTO messages (digest, context, turn, content_hash, forget_at)
      VALUES (p_digest, at_context, at_turn, p_hash, at + p_dedupe_ms) ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN
        IF p_name IS NOT NULL THEN
          RAISE EXCEPTION 'A message came twice at once.' USING ERRCODE = 'serialization_failure';
        END IF;
        CONTINUE;
      END IF;
    END IF;
    EXIT;
  END LOOP;

  kind := 'accepted';
  is_queued := v_busy;
  is_first := NOT v_known;
  v_state := CASE WHEN v_busy THEN 'queued' ELSE 'running' END;
  IF NOT v_known THEN
    IF p_name IS NULL THEN INSERT INTO names (scope, name, context) VALUES (v_scope, p_new_name, at_context); END IF;
    IF p_lease_ms > 0 THEN
      claimed := 1;
      INSERT INTO contexts (context, scope, subject, name, created_at, active, epoch, runner, due_at, token)
      VALUES (at_context, v_scope, v_subject, coalesce(p_name, p_new_name), at, at_turn, 1, p_node, at + p_lease_ms, p_token);
    ELSE
      INSERT INTO contexts (context, scope, subject, name, created_at, active, ready_at, place)
      VALUES (at_context, v_scope, v_subject, coalesce(p_name, p_new_name), at, at_turn, at, place_in_line(v_subject));
    END IF;
  ELSIF v_busy THEN
    UPDATE contexts SET queued = queued + 1 WHERE context = at_context;
  ELSIF p_lease_ms > 0 THEN
    claimed := take(at_context, at_turn, p_node, at + p_lease_ms, p_token);
  ELSE
    UPDATE contexts SET active = at_turn, ready_at = at, place = place_in_line(v_subject) WHERE context = at_context;
  END IF;
  INSERT INTO turns
    (context, turn, scope, state, status, status_at, created_at, agent_version, traceparent, message, extension_data, token)
  VALUES
    (at_context, at_turn, v_scope, v_state, status_of(v_state, NULL), at, at, p_agent_version, p_traceparent, p_message,
     p_extension_data, p_token);
  INSERT INTO changes (context, scope, subject, status, bucket, turns, queued, ready, bytes)
  VALUES
    (at_context, v_scope, v_subject, status_of(v_state, NULL), bucket_of(at), 1, v_busy::integer,
     (NOT v_busy AND claimed IS NULL)::integer, v_bytes);
  IF p_push_id IS NOT NULL THEN PERFORM put_config(at_context, at_turn, p_push_id, p_push_origin, p_push_target, at); END IF;
END $$;

-- See Store.commit. p_view null: as before. p_change_*: what others are told of the change (changes.ts), made from the revision
-- p_seen; the moment of the status goes between a head and its tail. Who has not seen the revision there is, and others listen, is
-- shown that: `look`.
CREATE FUNCTION commit_turn(
  p_context bigint, p_turn bigint, p_length integer, p_revision integer, p_epoch bigint, p_from text[],
  p_kinds text[], p_bodies text[], p_view text, p_waits_for text, p_tokens double precision, p_cost_usd double precision, p_troubled boolean, p_state text,
  p_status_changed boolean, p_forgive boolean, p_digest text, p_hash text, p_dedupe_ms bigint,
  p_paths text[], p_versions integer[], p_entries integer[], p_push_id text, p_push_origin text, p_push_target text,
  p_then text, p_due_at bigint, p_grace_ms bigint,
  p_seen integer, p_change_kinds text[], p_change_heads text[], p_change_tails text[], p_change_soft boolean[],
  p_node text, p_lease_ms bigint, p_token uuid, p_retry boolean, p_now bigint,
  OUT kind text, OUT at_length integer, OUT at_state text, OUT next_turn bigint, OUT next_epoch bigint, OUT due boolean,
  OUT at_revision integer, OUT at_view text
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  c contexts%ROWTYPE;
  v_now bigint;
  v_state text;
  v_length integer;
  v_revision integer;
  v_status smallint;
  v_waits_for text;
  v_status_at bigint;
  v_deaths integer;
  v_view_bytes bigint;
  v_token uuid;
  v_pushes integer;
  v_entries integer := coalesce(array_length(p_kinds, 1), 0);
  v_next_state text;
  v_next_status smallint;
  v_next_at bigint;
  v_bytes bigint := 0;
  v_hash text;
BEGIN
  due := false;
  SELECT * INTO c FROM contexts WHERE context = p_context FOR UPDATE;
  IF FOUND THEN
    SELECT state, length, revision, status, waits_for, status_at, deaths, octet_length(view), token, pushes
    INTO v_state, v_length, v_revision, v_status, v_waits_for, v_status_at, v_deaths, v_view_bytes, v_token, v_pushes
    FROM turns WHERE context = p_context AND turn = p_turn;
  END IF;
  IF NOT FOUND THEN kind := 'fenced'; at_state := 'canceled'; RETURN; END IF;
  v_now := clock(p_now);
  at_state := v_state;
  at_length := v_length;

  IF p_retry AND (v_token = p_token OR EXISTS (
    SELECT 1 FROM journal WHERE context = p_context AND turn = p_turn AND seq = p_length AND token = p_token
  )) THEN
    kind := 'committed';
    at_length := p_length + v_entries;
    due := true;
    IF c.token = p_token AND c.runner = p_node THEN next_turn := c.active; next_epoch := c.epoch; END IF;
    RETURN;
  END IF;

  IF p_digest IS NOT NULL THEN
    SELECT m.content_hash INTO v_hash FROM messages m
    WHERE m.digest = p_digest AND m.forget_at > v_now
      AND EXISTS (SELECT 1 FROM turns t WHERE t.context = m.context AND t.turn = m.turn);
    IF FOUND THEN kind := CASE WHEN v_hash = p_hash THEN 'duplicate' ELSE 'reused' END; RETURN; END IF;
  END IF;
  IF p_epoch IS NOT NULL AND (c.epoch <> p_epoch OR c.active IS DISTINCT FROM p_turn) THEN kind := 'fenced'; RETURN; END IF;
  IF (p_from IS NULL AND is_over(v_state)) OR v_state <> ALL (p_from) THEN kind := 'fenced'; RETURN; END IF;
  IF v_length <> p_length OR v_revision <> coalesce(p_revision, v_revision) THEN kind := 'behind'; RETURN; END IF;
  IF p_push_id IS NOT NULL AND NOT has_room(p_context, p_turn, p_push_id) THEN kind := 'pushFull'; RETURN; END IF;
  IF v_pushes > 0 AND (p_view IS NOT NULL OR p_state IS NOT NULL) AND p_seen IS DISTINCT FROM v_revision THEN
    kind := 'look';
    at_revision := v_revision;
    SELECT view INTO at_view FROM turns WHERE context = p_context AND turn = p_turn;
    RETURN;
  END IF;

  IF p_view IS NOT NULL THEN v_bytes := octet_length(p_view) - v_view_bytes; END IF;
  IF v_entries > 0 THEN
    INSERT INTO journal (context, turn, seq, kind, body, at, token)
    SELECT p_context, p_turn, p_length + e.place - 1, e.kind, e.body, v_now, p_token
    FROM unnest(p_kinds, p_bodies) WITH ORDINALITY AS e (kind, body, place);
    v_bytes := v_bytes + (SELECT sum(octet_length(body)) FROM unnest(p_bodies) AS body);
    at_length := p_length + v_entries;
  END IF;
  v_next_state := coalesce(p_state, v_state);
  IF p_view IS NOT NULL THEN v_waits_for := p_waits_for; END IF;
  v_next_status := CASE
    WHEN p_view IS NULL AND v_next_state = v_state THEN v_status ELSE status_of(v_next_state, v_waits_for) END;
  -- Callers see the same when a running turn sleeps: then it does not move in their lists.
  v_next_at := CASE
    WHEN v_next_status <> v_status OR (p_status_changed AND NOT is_over(v_next_state)) THEN v_now ELSE v_status_at END;
  IF p_forgive THEN v_deaths := 0; END IF;
  UPDATE turns
  SET state = v_next_state, status = v_next_status, status_at = v_next_at, length = at_length, waits_for = v_waits_for,
    tokens = CASE WHEN p_view IS NULL THEN tokens ELSE p_tokens END,
    cost_usd = CASE WHEN p_view IS NULL THEN cost_usd ELSE p_cost_usd END,
    view = coalesce(p_view, view), troubled = coalesce(p_troubled, troubled), journaled = journaled OR v_entries > 0,
    deaths = v_deaths, revision = revision + 1, token = p_token
  WHERE context = p_context AND turn = p_turn;
  IF cardinality(p_paths) > 0 THEN PERFORM keep_outputs(p_context, p_turn, p_paths, p_versions, p_entries); END IF;
  IF is_over(v_next_state) AND NOT is_over(v_state) THEN
    v_bytes := v_bytes - let_go(p_context, p_turn, NULL, false, v_now);
  END IF;
  IF v_next_status <> v_status OR v_next_at <> v_status_at THEN
    PERFORM count_status(p_context, c.scope, c.subject, v_status, v_status_at, -1);
    INSERT INTO changes (context, scope, subject, status, bucket, turns, bytes, day, agent, tokens, cost_usd)
    SELECT
      p_context, c.scope, c.subject, v_next_status, bucket_of(v_next_at), 1, v_bytes, floor(v_now / 86400000.0), s.agent,
      t.tokens, t.cost_usd
    FROM turns t JOIN scopes s ON s.scope = t.scope
    WHERE t.context = p_context AND t.turn = p_turn AND is_over(v_next_state) AND NOT is_over(v_state)
    UNION ALL SELECT p_context, c.scope, c.subject, v_next_status, bucket_of(v_next_at), 1, v_bytes, NULL, NULL, NULL, NULL
    WHERE is_over(v_state) OR NOT is_over(v_next_state);
  ELSIF v_bytes <> 0 THEN
    PERFORM count_sums(p_context, c.scope, c.subject, 0, 0, v_bytes);
  END IF;
  IF p_digest IS NOT NULL THEN
    INSERT INTO messages AS m (digest, context, turn, content_hash, forget_at)
    VALUES (p_digest, p_context, p_turn, p_hash, v_now + p_dedupe_ms)
    ON CONFLICT (digest) DO UPDATE
    SET context = excluded.context, turn = excluded.turn, content_hash = excluded.content_hash, forget_at = excluded.forget_at;
  END IF;

  IF v_pushes > 0 AND cardinality(p_change_kinds) > 0 THEN
    PERFORM tell(p_context, p_turn, p_change_kinds, p_change_heads, p_change_tails, p_change_soft, v_next_at, v_now);
  END IF;
  IF p_push_id IS NOT NULL THEN
    PERFORM put_config(p_context, p_turn, p_push_id, p_push_origin, p_push_target, v_now);
  END IF;

  kind := 'committed';
  at_state := v_next_state;
  CASE p_then
    WHEN 'go on' THEN NULL;
    WHEN 'wake' THEN
      IF c.runner IS NULL AND c.active = p_turn THEN
        IF c.ready_at IS NULL THEN
          PERFORM make_due(p_context, least(coalesce(c.due_at, v_now), v_now), v_deaths, v_now);
        END IF;
        due := true;
      END IF;
    WHEN 'park' THEN
      IF p_due_at IS NULL THEN
        UPDATE contexts SET runner = NULL, ready_at = NULL, place = NULL, due_at = NULL WHERE context = p_context;
        IF c.ready_at IS NOT NULL THEN PERFORM count_sums(p_context, c.scope, c.subject, 0, -1, 0); END IF;
      ELSE
        PERFORM make_due(p_context, p_due_at, v_deaths, v_now);
        due := true;
      END IF;
    WHEN 'end' THEN
      IF c.active IS DISTINCT FROM p_turn THEN
        UPDATE contexts SET queued = queued - 1 WHERE context = p_context;
        PERFORM count_sums(p_context, c.scope, c.subject, -1, 0, 0);
      ELSIF p_epoch IS NULL AND c.runner IS NOT NULL THEN
        -- The function still runs; the next turn starts when it has settled (E16).
        UPDATE contexts SET epoch = epoch + 1, due_at = v_now + p_grace_ms WHERE context = p_context;
        due := true;
      ELSE
        SELECT g.next_turn, g.next_epoch, g.due INTO next_turn, next_epoch, due
        FROM go_on(p_context, v_now, p_node, p_lease_ms, p_token) g;
      END IF;
  END CASE;
END $$;

CREATE FUNCTION drained(p_context bigint, p_turn bigint, p_now bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  c contexts%ROWTYPE;
  v_due boolean;
BEGIN
  SELECT * INTO c FROM contexts WHERE context = p_context FOR UPDATE;
  IF NOT FOUND OR c.active IS DISTINCT FROM p_turn THEN RETURN false; END IF;
  IF NOT EXISTS (SELECT 1 FROM turns WHERE context = p_context AND turn = p_turn AND is_over(state)) THEN RETURN false; END IF;
  SELECT g.due INTO v_due FROM go_on(p_context, clock(p_now), NULL, 0, NULL) g;
  RETURN v_due;
END $$;

-- Puts in line whose time has come: a lease or a grace is over, or a sleep. Returns how many.
CREATE FUNCTION promote(p_node text, p_limit integer, p_now bigint) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  c record;
  v_state text;
  v_deaths integer;
  v_count integer := 0;
BEGIN
  -- A node's own contexts are in its hands, however long its event loop was busy: they are never due to itself, unless the active
  -- turn was ended by somebody else. A suspect is one that nobody runs: whoever ran it until now has yet to be counted.
  FOR c IN
    SELECT x.context, x.active, x.runner, x.due_at
    FROM contexts x LEFT JOIN turns t ON t.context = x.context AND t.turn = x.active
    WHERE x.due_at <= p_now
      AND (x.runner IS DISTINCT FROM p_node OR is_over(t.state))
      AND (x.runner IS NOT NULL OR t.deaths IS NULL OR t.deaths < 2 OR is_over(t.state))
    ORDER BY x.due_at, x.context LIMIT p_limit
    FOR UPDATE OF x SKIP LOCKED
  LOOP
    v_count := v_count + 1;
    -- Looked up again: the lock may have come after a change.
    SELECT state, deaths INTO v_state, v_deaths FROM turns WHERE context = c.context AND turn = c.active;
    IF NOT FOUND OR is_over(v_state) THEN
      PERFORM go_on(c.context, p_now, NULL, 0, NULL);
    ELSE
      IF c.runner IS NOT NULL THEN
        v_deaths := v_deaths + 1;
        UPDATE turns SET deaths = v_deaths WHERE context = c.context AND turn = c.active;
      END IF;
      PERFORM make_due(c.context, c.due_at, v_deaths, p_now);
    END IF;
  END LOOP;
  RETURN v_count;
END $$;

-- What a write has claimed whose answer was lost.
CREATE FUNCTION claimed_by(p_node text, p_token uuid, p_longest_ms bigint, p_now bigint)
RETURNS TABLE (at_context bigint, at_turn bigint, at_epoch bigint) LANGUAGE sql VOLATILE AS $$
  SELECT context, active, epoch FROM contexts
  WHERE due_at <= clock(p_now) + p_longest_ms AND runner = p_node AND token = p_token
  ORDER BY due_at, context
$$;

-- See Store.claimDue. A row of no context: there is more that others may claim.
CREATE FUNCTION claim_due(
  p_limit integer, p_room bigint, p_most bigint, p_running jsonb,
  p_node text, p_lease_ms bigint, p_token uuid, p_retry boolean, p_now bigint
) RETURNS TABLE (at_context bigint, at_turn bigint, at_epoch bigint) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_now bigint := clock(p_now);
  v_promoted integer := 0;
  v_count integer;
  v_claims integer := 0;
  v_has bigint;
  v_full text[] := '{}';
  v_place bigint := -1;
  v_context bigint := 0;
  v_seen integer;
  r record;
BEGIN
  IF p_retry THEN
    RETURN QUERY SELECT * FROM claimed_by(p_node, p_token, p_lease_ms, p_now);
    IF FOUND THEN RETURN; END IF;
  END IF;
  FOR round IN 1..8 LOOP
    v_count := promote(p_node, 256, v_now);
    v_promoted := v_promoted + v_count;
    EXIT WHEN v_count < 256;
  END LOOP;
  <<line>>
  LOOP
    v_seen := 0;
    -- Not locked as they are read: more are read than are taken, and others may take those.
    FOR r IN
      SELECT c.context, c.place, c.scope, c.subject, u.name
      FROM contexts c JOIN subjects u ON u.subject = c.subject
      WHERE c.ready_at IS NOT NULL AND (c.place, c.context) > (v_place, v_context) AND u.name <> ALL (v_full)
      ORDER BY c.place, c.context LIMIT p_limit + 32
    LOOP
      EXIT line WHEN v_claims >= p_limit;
      v_seen := v_seen + 1;
      v_place := r.place;
      v_context := r.context;
      v_has := coalesce((p_running ->> r.name)::bigint, 0);
      -- hasShare. Who has their share has it for the rest of this call: there will be less room, not more.
      IF p_room <= v_claims OR v_has >= least(p_most, greatest(1, 3 * (p_room - v_claims))) THEN
        v_full := v_full || r.name;
        CONTINUE;
      END IF;
      SELECT active INTO at_turn FROM contexts
      WHERE context = r.context AND ready_at IS NOT NULL FOR UPDATE SKIP LOCKED;
      IF NOT FOUND THEN CONTINUE; END IF;
      at_context := r.context;
      at_epoch := take(at_context, at_turn, p_node, v_now + p_lease_ms, p_token);
      PERFORM count_sums(at_context, r.scope, r.subject, 0, -1, 0);
      p_running := jsonb_set(p_running, ARRAY[r.name], to_jsonb(v_has + 1));
      v_claims := v_claims + 1;
      RETURN NEXT;
      PERFORM setval('line', greatest(r.place, (SELECT last_value FROM line)));
    END LOOP;
    EXIT WHEN v_seen < p_limit + 32;
  END LOOP;
  IF v_promoted > v_claims THEN
    at_context := 0;
    RETURN NEXT;
  END IF;
END $$;

CREATE FUNCTION claim_suspect(p_node text, p_lease_ms bigint, p_token uuid, p_retry boolean, p_now bigint)
RETURNS TABLE (at_context bigint, at_turn bigint, at_epoch bigint) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_now bigint := clock(p_now);
BEGIN
  IF p_retry THEN
    RETURN QUERY SELECT * FROM claimed_by(p_node, p_token, p_lease_ms, p_now);
    IF FOUND THEN RETURN; END IF;
  END IF;
  SELECT c.context, c.active INTO at_context, at_turn
  FROM turns t JOIN contexts c ON c.context = t.context
  WHERE t.deaths >= 2 AND c.active = t.turn AND c.runner IS NULL AND c.due_at <= v_now
  ORDER BY t.turn LIMIT 1
  FOR UPDATE OF c SKIP LOCKED;
  IF NOT FOUND THEN RETURN; END IF;
  at_epoch := take(at_context, at_turn, p_node, v_now + p_lease_ms, p_token);
  RETURN NEXT;
END $$;

-- What a write claimed that nobody waits for any more is ready again. No process died.
CREATE FUNCTION disown(p_node text, p_token uuid, p_longest_ms bigint, p_now bigint) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_now bigint := clock(p_now);
  v_count integer := 0;
  r record;
  v_state text;
  v_deaths integer;
BEGIN
  FOR r IN SELECT * FROM claimed_by(p_node, p_token, p_longest_ms, p_now) ORDER BY at_context LOOP
    PERFORM 1 FROM contexts WHERE context = r.at_context AND runner = p_node AND token = p_token FOR UPDATE;
    IF NOT FOUND THEN CONTINUE; END IF;
    v_count := v_count + 1;
    SELECT state, deaths INTO v_state, v_deaths FROM turns WHERE context = r.at_context AND turn = r.at_turn;
    IF NOT FOUND OR is_over(v_state) THEN
      PERFORM go_on(r.at_context, v_now, NULL, 0, NULL);
    ELSE
      PERFORM make_due(r.at_context, v_now, v_deaths, v_now);
    END IF;
  END LOOP;
  RETURN v_count;
END $$;

-- Returns those that are lost.
CREATE FUNCTION renew(p_contexts bigint[], p_epochs bigint[], p_node text, p_lease_ms bigint, p_now bigint) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_until bigint := clock(p_now) + p_lease_ms;
  v_kept integer[] := '{}';
  r record;
BEGIN
  FOR r IN SELECT * FROM unnest(p_contexts, p_epochs) WITH ORDINALITY AS a (context, epoch, at) ORDER BY context, at LOOP
    UPDATE contexts SET due_at = v_until WHERE context = r.context AND epoch = r.epoch AND runner = p_node;
    IF FOUND THEN v_kept := v_kept || r.at::integer; END IF;
  END LOOP;
  RETURN coalesce((
    SELECT array_agg(a.context ORDER BY a.at) FROM unnest(p_contexts) WITH ORDINALITY AS a (context, at)
    WHERE a.at::integer <> ALL (v_kept)
  ), '{}');
END $$;

-- A turn that does not run is no more. Its context is locked.
CREATE FUNCTION drop_turn(p_context bigint, p_turn bigint, p_now bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  c contexts%ROWTYPE;
  v_state text;
  v_status smallint;
  v_status_at bigint;
  v_bytes bigint;
  v_config bigint;
BEGIN
  SELECT * INTO c FROM contexts WHERE context = p_context;
  FOR v_config IN SELECT config FROM push_configs WHERE context = p_context AND turn = p_turn ORDER BY config LOOP
    PERFORM drop_config(v_config);
  END LOOP;
  SELECT coalesce(sum(octet_length(body)), 0) INTO v_bytes FROM journal WHERE context = p_context AND turn = p_turn;
  v_bytes := v_bytes + let_go(p_context, p_turn, NULL, true, p_now);
  DELETE FROM journal WHERE context = p_context AND turn = p_turn;
  DELETE FROM turns WHERE context = p_context AND turn = p_turn
  RETURNING state, status, status_at,
    v_bytes + octet_length(message) + coalesce(octet_length(extension_data), 0) + octet_length(view)
  INTO v_state, v_status, v_status_at, v_bytes;
  PERFORM count_status(p_context, c.scope, c.subject, v_status, v_status_at, -1);
  PERFORM count_sums(p_context, c.scope, c.subject, CASE WHEN v_state = 'queued' THEN -1 ELSE 0 END, 0, -v_bytes);
  IF c.active = p_turn THEN
    PERFORM go_on(p_context, p_now, NULL, 0, NULL);
  ELSIF v_state = 'queued' THEN
    UPDATE contexts SET queued = queued - 1 WHERE context = p_context;
  END IF;
END $$;

-- With its last turn a context goes as well.
CREATE FUNCTION drop_idle(p_context bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM turns WHERE context = p_context) THEN RETURN; END IF;
  DELETE FROM names n USING contexts c
  WHERE c.context = p_context AND c.active IS NULL AND n.scope = c.scope AND n.name = c.name;
  DELETE FROM contexts WHERE context = p_context AND active IS NULL;
  IF FOUND THEN DELETE FROM outputs WHERE context = p_context; END IF;
END $$;

-- One step: see Store.erase. p_turn null: all of the context.
CREATE FUNCTION erase_turns(
  p_context bigint, p_turn bigint, p_limit integer, p_now bigint, OUT kind text, OUT turns integer, OUT more boolean
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  c contexts%ROWTYPE;
  v_state text;
  v_turn bigint;
BEGIN
  turns := 0;
  more := false;
  SELECT * INTO c FROM contexts WHERE context = p_context FOR UPDATE;
  IF NOT FOUND OR NOT EXISTS (SELECT 1 FROM turns t WHERE t.context = p_context AND t.turn = coalesce(p_turn, t.turn)) THEN
    kind := 'unknown';
    RETURN;
  END IF;
  SELECT t.state INTO v_state FROM turns t WHERE t.context = p_context AND t.turn = c.active;
  IF (p_turn IS NULL OR c.active = p_turn) AND (c.runner IS NOT NULL OR v_state = 'running') THEN
    kind := 'running';
    RETURN;
  END IF;
  kind := 'erased';
  -- Those that wait go first, so that none of them begins.
  FOR v_turn IN
    SELECT t.turn FROM turns t WHERE t.context = p_context AND t.turn = coalesce(p_turn, t.turn)
    ORDER BY t.status, t.status_at, t.turn LIMIT p_limit
  LOOP
    PERFORM drop_turn(p_context, v_turn, clock(p_now));
    turns := turns + 1;
  END LOOP;
  more := p_turn IS NULL AND turns = p_limit;
  PERFORM drop_idle(p_context);
END $$;

-- Erases a subject that has no contexts any more. False: it has.
CREATE FUNCTION erase_subject(p_subject bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  -- Waits for messages that are being taken, and keeps others away.
  PERFORM 1 FROM subjects WHERE subject = p_subject FOR UPDATE;
  IF EXISTS (SELECT 1 FROM names n JOIN scopes s ON s.scope = n.scope WHERE s.subject = p_subject) THEN RETURN false; END IF;
  -- What is not folded yet counts for all together. First, as who folds locks these first, too.
  UPDATE changes SET scope = -1, subject = -1 WHERE subject = p_subject;
  DELETE FROM tallies WHERE scope IN (SELECT scope FROM scopes WHERE subject = p_subject);
  DELETE FROM sums WHERE subject = p_subject;
  DELETE FROM usage WHERE subject = p_subject;
  DELETE FROM scopes WHERE subject = p_subject;
  DELETE FROM subjects WHERE subject = p_subject;
  RETURN true;
END $$;

-- One step: see Store.forget. Turns stand in the order in which they began: one that began too late cannot have ended in time.
CREATE FUNCTION forget_turns(
  p_journals boolean, p_before bigint, p_after bigint, p_limit integer, OUT forgotten integer, OUT next bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  r record;
  v_seen integer := 0;
  v_rows integer;
  v_bytes bigint;
  v_freed bigint := 0;
  v_active bigint;
BEGIN
  forgotten := 0;
  FOR r IN
    -- Put together, so that each kind has its own index. What is yet to be told of a turn is told first.
    EXECUTE 'SELECT t.context, t.turn, t.scope, t.created_at, t.status_at,
        is_over(t.state) AND t.status_at < $1 AND NOT t.troubled'
      || CASE WHEN p_journals THEN '' ELSE ' AND (t.pushes = 0 OR NOT EXISTS (
        SELECT 1 FROM push_configs p WHERE p.context = t.context AND p.turn = t.turn AND p.due_at IS NOT NULL))' END
      || ' AS is_past FROM turns t WHERE t.turn > $2' || CASE WHEN p_journals THEN ' AND t.journaled' ELSE '' END
      || ' ORDER BY t.turn LIMIT $3'
    USING p_before, p_after, p_limit
  LOOP
    v_seen := v_seen + 1;
    IF r.created_at >= p_before THEN next := NULL; RETURN; END IF;
    next := r.turn;
    IF NOT r.is_past THEN CONTINUE; END IF;
    SELECT active INTO v_active FROM contexts WHERE context = r.context FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN CONTINUE; END IF;
    -- Others may have been faster. A terminal state is final, but an operator may have to see it by now.
    PERFORM 1 FROM turns WHERE context = r.context AND turn = r.turn AND NOT troubled AND (NOT p_journals OR journaled);
    IF NOT FOUND THEN CONTINUE; END IF;
    IF p_journals THEN
      WITH gone AS (DELETE FROM journal WHERE context = r.context AND turn = r.turn RETURNING octet_length(body) AS bytes)
      SELECT count(*), coalesce(sum(bytes), 0) INTO v_rows, v_bytes FROM gone;
      UPDATE turns SET journaled = false WHERE context = r.context AND turn = r.turn;
      PERFORM count_sums(r.context, r.scope, (SELECT subject FROM contexts WHERE context = r.context), 0, 0, -v_bytes);
      forgotten := forgotten + v_rows;
      v_freed := v_freed + v_bytes;
      EXIT WHEN v_freed > 4194304;
    ELSIF v_active IS NULL THEN
      -- The turns of a context are there for its next ones to look at, until it comes to rest.
      PERFORM drop_turn(r.context, r.turn, r.status_at);
      PERFORM drop_idle(r.context);
      forgotten := forgotten + 1;
    END IF;
  END LOOP;
  IF v_seen < p_limit AND v_freed <= 4194304 THEN next := NULL; END IF;
END $$;
