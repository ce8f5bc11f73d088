-- Webhooks: see PushStore. A change of a turn and the deliveries that tell of it are one transaction (I8).

-- Something has come to be due for a webhook: who made the call is told, once it is committed.
CREATE FUNCTION announce() RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT set_config('nylorun.announced', 'yes', true)
$$;
CREATE FUNCTION announced() RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(current_setting('nylorun.announced', true), '') = 'yes'
$$;

-- Adds what a config has to be told. The config is locked.
CREATE FUNCTION add_delivery(p_config bigint, p_kind text, p_change text, p_soft boolean, p_now bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  p push_configs%ROWTYPE;
  v_freed bigint := 0;
BEGIN
  SELECT * INTO p FROM push_configs WHERE config = p_config;
  IF p_soft THEN
    -- What has been tried may have arrived: that comes first, and again.
    WITH gone AS (
      DELETE FROM outbox WHERE config = p_config AND given_up_at IS NULL AND soft AND attempts = 0
      RETURNING octet_length(change) AS bytes
    ) SELECT coalesce(sum(bytes), 0) INTO v_freed FROM gone;
  END IF;
  INSERT INTO outbox (context, id, config, turn, change, kind, soft, created_at)
  VALUES (p.context, 'msg_' || replace(gen_random_uuid()::text, '-', ''), p_config, p.turn, p_change, p_kind, p_soft, p_now);
  PERFORM count_sums(p.context, p.scope, p.subject, 0, 0, octet_length(p_change) - v_freed);
  IF p.due_at IS NULL THEN
    UPDATE push_configs SET due_at = p_now WHERE config = p_config;
    PERFORM announce();
  END IF;
END $$;

-- Tells all configs of a turn of a change.
CREATE FUNCTION tell(
  p_context bigint, p_turn bigint, p_kinds text[], p_heads text[], p_tails text[], p_soft boolean[], p_status_at bigint, p_now bigint
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_config bigint;
BEGIN
  FOR v_config IN
    SELECT config FROM push_configs WHERE context = p_context AND turn = p_turn ORDER BY config FOR UPDATE
  LOOP
    FOR n IN 1..cardinality(p_kinds) LOOP
      PERFORM add_delivery(
        v_config, p_kinds[n], p_heads[n] || coalesce(p_status_at::text || p_tails[n], ''), p_soft[n], p_now);
    END LOOP;
  END LOOP;
END $$;

-- A turn that waited in line has begun: it has nothing else to show yet.
CREATE FUNCTION tell_begun(p_context bigint, p_turn bigint, p_now bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_state text;
  v_at bigint;
BEGIN
  SELECT state, status_at INTO v_state, v_at FROM turns WHERE context = p_context AND turn = p_turn;
  PERFORM tell(
    p_context, p_turn, ARRAY['status'], ARRAY[format('{"kind":"status","state":"%s","statusAt":', v_state)],
    ARRAY[',"view":{}}'], ARRAY[false], v_at, p_now);
END $$;

-- Whether another config finds room; 16: mostPushConfigs.
CREATE FUNCTION has_room(p_context bigint, p_turn bigint, p_id text) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT count(*) < 16 OR bool_or(id = p_id) FROM push_configs WHERE context = p_context AND turn = p_turn
$$;

-- Adds a config, or changes the one with this id. The context is locked.
CREATE FUNCTION put_config(p_context bigint, p_turn bigint, p_id text, p_origin text, p_target text, p_now bigint) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  p push_configs%ROWTYPE;
  t turns%ROWTYPE;
  v_due bigint;
BEGIN
  SELECT * INTO t FROM turns WHERE context = p_context AND turn = p_turn;
  IF NOT FOUND THEN RETURN 'unknown'; END IF;
  SELECT * INTO p FROM push_configs WHERE context = p_context AND turn = p_turn AND id = p_id FOR UPDATE;
  IF FOUND THEN
    -- Its backlog may go to the new place at once, unless an attempt is under way.
    v_due := CASE WHEN p.due_at IS NOT NULL AND p.runner IS NULL THEN p_now ELSE p.due_at END;
    UPDATE push_configs SET origin = p_origin, target = p_target, revision = revision + 1, failures = 0, due_at = v_due
    WHERE config = p.config;
    IF v_due IS NOT NULL THEN PERFORM announce(); END IF;
    PERFORM count_sums(p_context, p.scope, p.subject, 0, 0, octet_length(p_target) - octet_length(p.target));
    RETURN 'put';
  END IF;
  IF NOT has_room(p_context, p_turn, p_id) THEN RETURN 'full'; END IF;
  INSERT INTO push_configs (context, turn, scope, subject, id, origin, target, created_at)
  SELECT p_context, p_turn, c.scope, c.subject, p_id, p_origin, p_target, p_now FROM contexts c WHERE c.context = p_context
  RETURNING * INTO p;
  UPDATE turns SET pushes = pushes + 1 WHERE context = p_context AND turn = p_turn;
  PERFORM count_sums(p_context, p.scope, p.subject, 0, 0, octet_length(p_target));
  -- Who begins to listen to what has ended, or waits for its caller, is told of it as it is.
  IF t.status IN (3, 4, 5, 6, 7, 8) THEN
    PERFORM add_delivery(
      p.config, 'task', format('{"kind":"task","state":"%s","statusAt":%s,"view":%s}', t.state, t.status_at, t.view), false, p_now);
  END IF;
  RETURN 'put';
END $$;

CREATE FUNCTION push_put(p_context bigint, p_turn bigint, p_id text, p_origin text, p_target text, p_now bigint) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM 1 FROM contexts WHERE context = p_context FOR UPDATE;
  RETURN put_config(p_context, p_turn, p_id, p_origin, p_target, clock(p_now));
END $$;

-- With what it has not heard. The context is locked.
CREATE FUNCTION drop_config(p_config bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  p push_configs%ROWTYPE;
  v_freed bigint;
BEGIN
  SELECT * INTO p FROM push_configs WHERE config = p_config FOR UPDATE;
  WITH gone AS (DELETE FROM outbox WHERE config = p_config RETURNING octet_length(change) AS bytes)
  SELECT coalesce(sum(bytes), 0) INTO v_freed FROM gone;
  DELETE FROM push_configs WHERE config = p_config;
  UPDATE turns SET pushes = pushes - 1 WHERE context = p.context AND turn = p.turn;
  PERFORM count_sums(p.context, p.scope, p.subject, 0, 0, -v_freed - octet_length(p.target));
END $$;

CREATE FUNCTION push_remove(p_context bigint, p_turn bigint, p_id text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_config bigint;
BEGIN
  PERFORM 1 FROM contexts WHERE context = p_context FOR UPDATE;
  SELECT config INTO v_config FROM push_configs WHERE context = p_context AND turn = p_turn AND id = p_id;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM drop_config(v_config);
  RETURN true;
END $$;

-- See PushStore.claim. Origins are served one after another, from the one after p_after on: however many configs one of them has, it
-- is passed over in one step.
CREATE FUNCTION push_claim(
  p_limit integer, p_room bigint, p_rooms jsonb, p_after text, p_node text, p_lease_ms bigint, p_now bigint
) RETURNS TABLE (
  at_config bigint, at_delivery bigint, at_epoch bigint, at_revision integer, at_context bigint, at_turn bigint,
  id text, target text, change text, created_at bigint, attempts integer, failures integer, origin text
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_now bigint := clock(p_now);
  v_claims integer := 0;
  v_origin text := p_after;
  v_wrapped boolean := false;
  v_room bigint;
  r record;
BEGIN
  LOOP
    SELECT c.origin INTO v_origin FROM push_configs c
    WHERE c.due_at IS NOT NULL AND c.origin > v_origin AND (NOT v_wrapped OR c.origin <= p_after)
    ORDER BY c.origin LIMIT 1;
    IF NOT FOUND THEN
      EXIT WHEN v_wrapped;
      v_wrapped := true;
      v_origin := '';
      CONTINUE;
    END IF;
    v_room := least(p_limit - v_claims, coalesce((p_rooms ->> v_origin)::bigint, p_room));
    IF v_room <= 0 THEN CONTINUE; END IF;
    FOR r IN
      SELECT c.config, c.context, c.turn, c.target, c.failures FROM push_configs c
      WHERE c.origin = v_origin AND c.due_at <= v_now ORDER BY c.due_at, c.config LIMIT v_room FOR UPDATE SKIP LOCKED
    LOOP
      SELECT o.delivery, o.id, o.change, o.created_at, o.attempts + 1
      INTO at_delivery, push_claim.id, push_claim.change, push_claim.created_at, push_claim.attempts
      FROM outbox o WHERE o.config = r.config AND o.given_up_at IS NULL ORDER BY o.delivery LIMIT 1;
      IF NOT FOUND THEN
        UPDATE push_configs c SET due_at = NULL WHERE c.config = r.config;
        CONTINUE;
      END IF;
      UPDATE push_configs c SET runner = p_node, epoch = c.epoch + 1, due_at = v_now + p_lease_ms WHERE c.config = r.config
      RETURNING c.epoch, c.revision INTO at_epoch, at_revision;
      UPDATE outbox o SET attempts = o.attempts + 1 WHERE o.context = r.context AND o.delivery = at_delivery;
      at_config := r.config;
      at_context := r.context;
      at_turn := r.turn;
      push_claim.target := r.target;
      push_claim.failures := r.failures;
      push_claim.origin := v_origin;
      v_claims := v_claims + 1;
      RETURN NEXT;
    END LOOP;
    EXIT WHEN v_claims >= p_limit;
  END LOOP;
END $$;

-- See PushStore.settle.
CREATE FUNCTION push_settle(
  p_config bigint, p_delivery bigint, p_epoch bigint, p_revision integer, p_outcome text, p_error text, p_retry_at bigint, p_now bigint
) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  p push_configs%ROWTYPE;
  v_now bigint;
  v_changed boolean;
  v_freed bigint := 0;
  v_waits boolean;
BEGIN
  IF p_outcome = 'gone' THEN
    -- The turn's row says how many it has.
    PERFORM 1 FROM contexts WHERE context = (SELECT context FROM push_configs WHERE config = p_config) FOR UPDATE;
  END IF;
  SELECT * INTO p FROM push_configs WHERE config = p_config FOR UPDATE;
  IF NOT FOUND OR p.epoch <> p_epoch THEN RETURN false; END IF;
  v_now := clock(p_now);
  v_changed := p.revision <> p_revision;
  IF p_outcome = 'gone' AND NOT v_changed THEN
    PERFORM drop_config(p_config);
    RETURN true;
  END IF;
  IF p_outcome = 'delivered' THEN
    DELETE FROM outbox WHERE context = p.context AND delivery = p_delivery RETURNING octet_length(change) INTO v_freed;
    IF v_freed > 0 THEN PERFORM count_sums(p.context, p.scope, p.subject, 0, 0, -v_freed); END IF;
  ELSIF p_outcome IN ('failed', 'givenUp') THEN
    UPDATE outbox SET error = p_error, given_up_at = CASE WHEN p_outcome = 'givenUp' THEN v_now END
    WHERE context = p.context AND delivery = p_delivery;
  END IF;
  v_waits := EXISTS (SELECT 1 FROM outbox WHERE config = p_config AND given_up_at IS NULL);
  -- Where it leads now, nothing has failed yet.
  UPDATE push_configs
  SET runner = NULL, epoch = epoch + 1,
    due_at = CASE WHEN v_waits THEN CASE WHEN p_outcome = 'failed' AND NOT v_changed THEN p_retry_at ELSE v_now END END,
    failures = CASE WHEN p_outcome = 'delivered' OR v_changed THEN 0 ELSE failures + 1 END
  WHERE config = p_config;
  RETURN true;
END $$;

CREATE FUNCTION push_resend(p_delivery bigint, p_now bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_config bigint;
  v_now bigint;
BEGIN
  SELECT config INTO v_config FROM outbox WHERE delivery = p_delivery AND given_up_at IS NOT NULL;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM 1 FROM push_configs WHERE config = v_config FOR UPDATE;
  v_now := clock(p_now);
  UPDATE outbox SET given_up_at = NULL, attempts = 0, created_at = v_now WHERE delivery = p_delivery AND given_up_at IS NOT NULL;
  IF NOT FOUND THEN RETURN false; END IF;
  -- One attempt at a time: while another one is under way, it is the next.
  UPDATE push_configs SET due_at = v_now WHERE config = v_config AND runner IS NULL;
  PERFORM announce();
  RETURN true;
END $$;

CREATE FUNCTION forget_give_ups(p_before bigint, p_limit integer) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  r record;
  v_count integer := 0;
BEGIN
  FOR r IN
    SELECT o.context, o.delivery, o.config, octet_length(o.change) AS bytes FROM outbox o
    WHERE o.given_up_at < p_before ORDER BY o.given_up_at, o.delivery LIMIT p_limit
  LOOP
    PERFORM 1 FROM push_configs WHERE config = r.config FOR UPDATE;
    DELETE FROM outbox WHERE context = r.context AND delivery = r.delivery AND given_up_at < p_before;
    IF NOT FOUND THEN CONTINUE; END IF;
    v_count := v_count + 1;
    INSERT INTO changes (context, scope, subject, bytes)
    SELECT c.context, c.scope, c.subject, -r.bytes FROM contexts c WHERE c.context = r.context;
  END LOOP;
  RETURN v_count;
END $$;
