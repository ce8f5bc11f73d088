-- Files: see FileStore. Blobs are everybody's, and locked in the order of their hashes.

-- A turn lets go of what it holds: unless p_all, of what is no output; p_seq: for that entry alone. Returns what its subject has less.
CREATE FUNCTION let_go(p_context bigint, p_turn bigint, p_seq integer, p_all boolean, p_now bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_blobs bigint[];
  v_kept boolean[];
  v_bytes bigint;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM holds WHERE context = p_context AND turn = p_turn) THEN RETURN 0; END IF;
  PERFORM 1 FROM blobs WHERE blob IN (
    SELECT h.blob FROM holds h
    WHERE h.context = p_context AND h.turn = p_turn AND h.seq = coalesce(p_seq, h.seq) AND (p_all OR NOT h.kept)
  ) ORDER BY sha256, blob FOR UPDATE;
  WITH gone AS (
    DELETE FROM holds h
    WHERE h.context = p_context AND h.turn = p_turn AND h.seq = coalesce(p_seq, h.seq) AND (p_all OR NOT h.kept)
    RETURNING h.blob, h.kept
  ) SELECT array_agg(blob), array_agg(kept) INTO v_blobs, v_kept FROM gone;
  SELECT coalesce(sum(b.size), 0) INTO v_bytes FROM unnest(v_blobs) AS f (blob) JOIN blobs b ON b.blob = f.blob;
  -- Locked, and so seen as others have left it: none of them thinks that another one still has it.
  UPDATE blobs b SET free_at = CASE WHEN f.kept THEN p_now ELSE p_now + 86400000 END -- leftoverMs
  FROM (SELECT blob, bool_or(kept) AS kept FROM unnest(v_blobs, v_kept) AS g (blob, kept) GROUP BY blob) f
  WHERE b.blob = f.blob AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.blob = b.blob);
  RETURN v_bytes;
END $$;

-- Versions that a change of a turn has brought; p_entries: whose bytes are kept from now on.
CREATE FUNCTION keep_outputs(p_context bigint, p_turn bigint, p_paths text[], p_versions integer[], p_entries integer[])
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO outputs AS o (context, path, version)
  SELECT p_context, v.path, max(v.version) FROM unnest(p_paths, p_versions) AS v (path, version) GROUP BY v.path
  ON CONFLICT (context, path) DO UPDATE SET version = greatest(o.version, excluded.version);
  UPDATE holds SET kept = true WHERE context = p_context AND turn = p_turn AND seq = ANY (p_entries);
END $$;

-- See FileStore.hold. at_blobs: in the order of p_hashes.
CREATE FUNCTION hold(
  p_context bigint, p_turn bigint, p_seq integer, p_anew boolean, p_hashes text[], p_sizes bigint[],
  p_most_total bigint, p_most_subject bigint, p_now bigint, OUT kind text, OUT at_blobs bigint[]
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  c contexts%ROWTYPE;
  v_now bigint;
  v_added bigint;
  v_needed bigint;
  v_total bigint;
  v_has bigint;
  v_freed bigint := 0;
  v_blob bigint;
  v_size bigint;
  v_new bigint := 0;
  r record;
BEGIN
  SELECT * INTO c FROM contexts WHERE context = p_context FOR UPDATE;
  IF NOT FOUND OR NOT EXISTS (
    SELECT 1 FROM turns WHERE context = p_context AND turn = p_turn AND NOT is_over(state)
  ) THEN kind := 'ended'; RETURN; END IF;
  v_now := clock(p_now);
  SELECT coalesce(sum(size), 0) INTO v_needed FROM unnest(p_sizes) AS size;
  SELECT coalesce(sum(a.size), 0) INTO v_added FROM (
    SELECT sha256, max(size) AS size FROM unnest(p_hashes, p_sizes) AS g (sha256, size) GROUP BY sha256
  ) a WHERE NOT EXISTS (SELECT 1 FROM blobs b WHERE b.sha256 = a.sha256 AND NOT b.condemned);
  v_total := file_bytes();
  IF v_added > 0 AND v_total + v_added > p_most_total THEN kind := 'full'; RETURN; END IF;
  SELECT coalesce(sum(s.bytes), 0) INTO v_has FROM (
    SELECT bytes FROM sums WHERE subject = c.subject UNION ALL SELECT bytes FROM changes WHERE subject = c.subject
  ) s;
  IF v_has + v_needed > p_most_subject THEN kind := 'subjectFull'; RETURN; END IF;

  IF p_anew THEN v_freed := let_go(p_context, p_turn, p_seq, false, v_now); END IF;
  v_needed := 0;
  FOR r IN
    SELECT sha256, max(size) AS size FROM unnest(p_hashes, p_sizes) AS g (sha256, size) GROUP BY sha256 ORDER BY sha256
  LOOP
    LOOP
      SELECT b.blob, b.size INTO v_blob, v_size FROM blobs b WHERE b.sha256 = r.sha256 AND NOT b.condemned FOR UPDATE;
      EXIT WHEN FOUND;
      INSERT INTO blobs (sha256, size, created_at) VALUES (r.sha256, r.size, v_now) ON CONFLICT DO NOTHING;
      IF FOUND THEN v_new := v_new + r.size; END IF;
    END LOOP;
    IF v_size <> r.size THEN RAISE EXCEPTION '% has % bytes, not %', r.sha256, v_size, r.size USING ERRCODE = 'data_exception'; END IF;
    UPDATE blobs SET free_at = NULL WHERE blob = v_blob AND free_at IS NOT NULL;
    INSERT INTO holds (context, turn, seq, blob) VALUES (p_context, p_turn, p_seq, v_blob) ON CONFLICT DO NOTHING;
    IF FOUND THEN v_needed := v_needed + r.size; END IF;
  END LOOP;
  INSERT INTO changes (context, scope, subject, bytes, file_bytes) VALUES (p_context, c.scope, c.subject, v_needed - v_freed, v_new);
  kind := 'held';
  SELECT array_agg(b.blob ORDER BY g.at) INTO at_blobs
  FROM unnest(p_hashes) WITH ORDINALITY AS g (sha256, at) JOIN blobs b ON b.sha256 = g.sha256 AND NOT b.condemned;
END $$;

CREATE FUNCTION file_bytes() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT (SELECT value FROM totals WHERE name = 'fileBytes') + (SELECT coalesce(sum(file_bytes), 0) FROM changes WHERE file_bytes <> 0)
$$;

-- See FileStore.condemn. One that somebody is about to need is locked: it is passed over.
CREATE FUNCTION condemn(p_limit integer, p_now bigint) RETURNS TABLE (at_blob bigint, at_sha256 text, at_size bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  r record;
BEGIN
  FOR r IN
    SELECT blob, sha256, size, free_at FROM blobs WHERE free_at <= clock(p_now) ORDER BY free_at, blob LIMIT p_limit
    FOR UPDATE SKIP LOCKED
  LOOP
    UPDATE blobs SET condemned = true WHERE blob = r.blob;
    at_blob := r.blob;
    at_sha256 := r.sha256;
    at_size := r.size;
    RETURN NEXT;
  END LOOP;
END $$;

CREATE FUNCTION gone(p_blobs bigint[]) RETURNS void LANGUAGE sql VOLATILE AS $$
  WITH dropped AS (DELETE FROM blobs WHERE blob = ANY (p_blobs) AND condemned RETURNING size)
  INSERT INTO changes (context, scope, subject, file_bytes) SELECT 0, -1, -1, -sum(size) FROM dropped HAVING count(*) > 0
$$;
