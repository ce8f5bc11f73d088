-- What is being carried over from another store, and how far that is. Nobody serves meanwhile.
CREATE TABLE imports (
  source text PRIMARY KEY,
  done boolean NOT NULL
);
CREATE TABLE imported (
  name text PRIMARY KEY, -- of a table
  at_key text, -- JSON: of the last row
  rows bigint NOT NULL,
  done boolean NOT NULL
);

-- What follows from the rows that were carried over.
CREATE FUNCTION import_finished(p_context bigint, p_turn bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  r record;
BEGIN
  UPDATE contexts c SET place = l.place FROM (
    SELECT context, row_number() OVER (PARTITION BY subject ORDER BY ready_at, context) AS place FROM contexts WHERE ready_at IS NOT NULL
  ) l WHERE l.context = c.context;
  DELETE FROM tallies;
  INSERT INTO tallies (scope, status, bucket, turns)
  SELECT scope, status, bucket_of(status_at), count(*) FROM turns GROUP BY 1, 2, 3
  UNION ALL SELECT 0, status, 0, count(*) FROM turns GROUP BY status;
  DELETE FROM sums;
  INSERT INTO sums (subject, queued, ready, bytes)
  SELECT s.subject,
    coalesce((SELECT sum(c.queued) FROM contexts c WHERE c.subject = s.subject), 0),
    coalesce((SELECT count(*) FROM contexts c WHERE c.subject = s.subject AND c.ready_at IS NOT NULL), 0),
    coalesce(b.bytes, 0)
  FROM subjects s LEFT JOIN (
    SELECT subject, sum(bytes) AS bytes FROM (
      SELECT c.subject, octet_length(t.message) + coalesce(octet_length(t.extension_data), 0) + octet_length(t.view) AS bytes
      FROM turns t JOIN contexts c ON c.context = t.context
      UNION ALL SELECT c.subject, octet_length(j.body) FROM journal j JOIN contexts c ON c.context = j.context
      UNION ALL SELECT c.subject, b.size FROM holds h JOIN blobs b ON b.blob = h.blob JOIN contexts c ON c.context = h.context
      UNION ALL SELECT p.subject, octet_length(p.target) FROM push_configs p
      UNION ALL SELECT c.subject, octet_length(o.change) FROM outbox o JOIN contexts c ON c.context = o.context
    ) every GROUP BY subject
  ) b ON b.subject = s.subject;
  UPDATE totals SET value = (SELECT coalesce(sum(size), 0) FROM blobs) WHERE name = 'fileBytes';
  -- Keys are not used twice.
  PERFORM setval('context_keys', greatest(p_context, 1)), setval('turn_keys', greatest(p_turn, 1));
  PERFORM setval('line', greatest((SELECT max(place) FROM contexts), 1));
  FOR r IN
    SELECT * FROM (VALUES ('subjects', 'subject'), ('scopes', 'scope'), ('api_keys', 'key'), ('blobs', 'blob'),
      ('push_configs', 'config'), ('outbox', 'delivery')) AS keyed (name, key)
  LOOP
    EXECUTE format('SELECT setval(pg_get_serial_sequence(%L, %L), greatest((SELECT max(%I) FROM %I), 1))',
      r.name, r.key, r.key, r.name);
  END LOOP;
END $$;
