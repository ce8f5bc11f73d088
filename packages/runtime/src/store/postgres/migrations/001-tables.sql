-- Times are milliseconds since 1970, by this server's clock. Keys come from sequences: in the order of time, and never twice.
--
-- What belongs to a context carries its key, first in the table's own key: it is what rows are distributed by where one server is
-- not enough. Changes to a context, its turns and their journals lock the context's row first, and nothing else waits for another
-- context's: so no two of them wait for each other. There are no foreign keys: the functions keep the rows together.

-- Who calls. Small, and the same everywhere: a reference table, like scopes, api_keys and secrets.
CREATE TABLE subjects (
  subject bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE
);

-- Whose it is: one subject with one agent.
CREATE TABLE scopes (
  scope bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subject bigint NOT NULL,
  agent text NOT NULL,
  UNIQUE (subject, agent)
);

CREATE SEQUENCE context_keys;
CREATE SEQUENCE turn_keys;
-- The place in line of whoever was served last.
CREATE SEQUENCE line;

-- Contexts by the names that callers know them by. Apart, as the name is unique beyond any one context.
CREATE TABLE names (
  scope bigint NOT NULL,
  name text NOT NULL, -- the contextId on the wire
  context bigint NOT NULL,
  PRIMARY KEY (scope, name)
);

-- Rows are changed at each claim: there is room for that on their own page.
CREATE TABLE contexts (
  context bigint PRIMARY KEY,
  scope bigint NOT NULL,
  subject bigint NOT NULL,
  name text NOT NULL,
  created_at bigint NOT NULL,
  active bigint, -- the turn that holds the context (I2)
  queued integer NOT NULL DEFAULT 0,
  epoch bigint NOT NULL DEFAULT 0, -- of the last claim
  runner text, -- the node that holds the lease
  ready_at bigint, -- since when it waits for a node
  place bigint, -- in the line of those that do
  due_at bigint, -- when it will; while a node runs it: when its lease ends
  token uuid -- of the write that made the last claim
) WITH (fillfactor = 80);
CREATE INDEX contexts_line ON contexts (place, context) WHERE ready_at IS NOT NULL;
CREATE INDEX contexts_of_subject ON contexts (subject, place) WHERE ready_at IS NOT NULL;
CREATE INDEX contexts_ready ON contexts (ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX contexts_due ON contexts (due_at, context) WHERE due_at IS NOT NULL;

CREATE TABLE turns (
  context bigint NOT NULL,
  turn bigint NOT NULL,
  scope bigint NOT NULL,
  state text NOT NULL,
  status smallint NOT NULL, -- the state that callers are shown: its number in A2A's enum
  waits_for text, -- the view's own, as are these: what JSON may hold, PostgreSQL may not read (\u0000)
  tokens double precision,
  cost_usd double precision,
  status_at bigint NOT NULL,
  created_at bigint NOT NULL,
  length integer NOT NULL DEFAULT 0, -- of its journal
  revision integer NOT NULL DEFAULT 0, -- changes so far
  deaths integer NOT NULL DEFAULT 0, -- processes that died while they ran it
  troubled boolean NOT NULL DEFAULT false, -- held, or with lost effects
  journaled boolean NOT NULL DEFAULT false, -- its journal is kept
  pushes integer NOT NULL DEFAULT 0, -- push configs
  agent_version text NOT NULL,
  traceparent text NOT NULL,
  message text NOT NULL, -- JSON, without extension data
  extension_data text, -- JSON, by extension URI
  view text NOT NULL DEFAULT '{}', -- JSON: what readers are shown
  token uuid, -- of the last write
  PRIMARY KEY (context, turn)
) WITH (fillfactor = 80);
-- A list of all states merges its ranges, so that neither index needs a twin without the status.
CREATE INDEX turns_listed ON turns (scope, status, status_at, turn);
CREATE INDEX turns_of_context ON turns (context, status, status_at, turn);
CREATE INDEX turns_queued ON turns (context, turn) WHERE state = 'queued';
CREATE INDEX turns_begun ON turns (turn);
CREATE INDEX turns_open ON turns (turn) WHERE state IN ('running', 'waiting', 'uncertain', 'held');
CREATE INDEX turns_journaled ON turns (turn) WHERE journaled;
CREATE INDEX turns_suspect ON turns (turn) WHERE deaths >= 2;
CREATE INDEX turns_troubled ON turns (turn) WHERE troubled;

-- What a turn asked for and what came back, in the order in which it happened.
CREATE TABLE journal (
  context bigint NOT NULL,
  turn bigint NOT NULL,
  seq integer NOT NULL, -- from 0
  kind text NOT NULL,
  body text NOT NULL, -- JSON
  at bigint NOT NULL,
  token uuid NOT NULL, -- of the write that appended it
  PRIMARY KEY (context, turn, seq)
);

-- Message ids seen, for as long as a retry of theirs is known again (I3). Unique beyond any one context: one that names none makes a new one.
CREATE TABLE messages (
  digest text PRIMARY KEY, -- of subject, agent, context and message id
  context bigint NOT NULL,
  turn bigint NOT NULL,
  content_hash text NOT NULL,
  forget_at bigint NOT NULL
);
CREATE INDEX messages_forget ON messages (forget_at);

-- What each write changes in the sums below. Only ever added to, so that no write waits for another one's sum; folded into them
-- later. A sum is what is folded and what is not yet.
CREATE TABLE changes (
  context bigint NOT NULL,
  change bigint GENERATED ALWAYS AS IDENTITY,
  scope bigint NOT NULL,
  subject bigint NOT NULL,
  status smallint, -- null: no turn's status has changed
  bucket integer, -- of the time of that status
  turns integer NOT NULL DEFAULT 0,
  queued integer NOT NULL DEFAULT 0, -- turns that wait for an earlier one of their context
  ready integer NOT NULL DEFAULT 0, -- contexts that wait for a node
  bytes bigint NOT NULL DEFAULT 0, -- of messages, views, journals, files, and what webhooks have not heard
  file_bytes bigint NOT NULL DEFAULT 0, -- of all blobs together
  day integer, -- since 1970, UTC: on which a turn ended; null: none has
  agent text, -- its, and what it used
  tokens double precision,
  cost_usd double precision,
  PRIMARY KEY (context, change)
);
CREATE INDEX changes_of_subject ON changes (subject);
CREATE INDEX changes_made ON changes (change);

-- Turns by scope, status and time. The scope 0 is all of them together, at no time.
CREATE TABLE tallies (
  scope bigint NOT NULL,
  status smallint NOT NULL,
  bucket integer NOT NULL,
  turns bigint NOT NULL,
  PRIMARY KEY (scope, status, bucket)
);

CREATE TABLE sums (
  subject bigint PRIMARY KEY,
  queued bigint NOT NULL,
  ready bigint NOT NULL,
  bytes bigint NOT NULL
);

-- What turns that ended used, by day: of each subject; of the subject 0, which is all of them together. It outlives the turns.
CREATE TABLE usage (
  subject bigint NOT NULL,
  day integer NOT NULL,
  agent text NOT NULL,
  turns integer NOT NULL,
  tokens double precision, -- null: none of them reported any
  cost_usd double precision,
  PRIMARY KEY (subject, day, agent)
);
CREATE INDEX usage_days ON usage (day);

-- Of everybody together.
CREATE TABLE totals (
  name text PRIMARY KEY,
  value bigint NOT NULL
);
INSERT INTO totals VALUES ('fileBytes', 0);

-- Who hears of a turn.
CREATE TABLE push_configs (
  context bigint NOT NULL,
  turn bigint NOT NULL,
  config bigint GENERATED ALWAYS AS IDENTITY,
  scope bigint NOT NULL,
  subject bigint NOT NULL,
  id text NOT NULL,
  origin text NOT NULL,
  target text NOT NULL, -- JSON
  created_at bigint NOT NULL,
  epoch bigint NOT NULL DEFAULT 0, -- of the last claim
  revision integer NOT NULL DEFAULT 0, -- changes so far
  failures integer NOT NULL DEFAULT 0, -- attempts that failed since the last one that did not
  runner text, -- the node that tries a delivery
  due_at bigint, -- when there is something to deliver; while a node tries: when its lease ends
  PRIMARY KEY (context, turn, id)
);
CREATE INDEX push_configs_key ON push_configs (config);
CREATE INDEX push_configs_of_origin ON push_configs (origin, due_at, config) WHERE due_at IS NOT NULL;
CREATE INDEX push_configs_due ON push_configs (due_at) WHERE due_at IS NOT NULL;

-- What must be announced, written in the transaction of the change itself (I8). A config's row is locked before these.
CREATE TABLE outbox (
  context bigint NOT NULL,
  delivery bigint GENERATED ALWAYS AS IDENTITY,
  id text NOT NULL,
  config bigint NOT NULL,
  turn bigint NOT NULL,
  change text NOT NULL, -- JSON
  kind text NOT NULL, -- the change's own
  soft boolean NOT NULL, -- a newer one takes its place
  created_at bigint NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  error text,
  given_up_at bigint,
  PRIMARY KEY (context, delivery)
);
CREATE INDEX outbox_waiting ON outbox (config, delivery) WHERE given_up_at IS NULL;
CREATE INDEX outbox_of_config ON outbox (config);
CREATE INDEX outbox_in_order ON outbox (delivery);
CREATE INDEX outbox_given_up ON outbox (given_up_at, delivery) WHERE given_up_at IS NOT NULL;

-- Bytes that are kept. One that is condemned is nobody's, and about to go.
CREATE TABLE blobs (
  blob bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sha256 text NOT NULL,
  size bigint NOT NULL,
  created_at bigint NOT NULL,
  condemned boolean NOT NULL DEFAULT false,
  free_at bigint -- since when nobody needs it, or from when on
);
CREATE UNIQUE INDEX blobs_live ON blobs (sha256) WHERE NOT condemned;
CREATE INDEX blobs_free ON blobs (free_at) WHERE free_at IS NOT NULL;

-- Which turn needs which, for which entry of its journal.
CREATE TABLE holds (
  context bigint NOT NULL,
  turn bigint NOT NULL,
  seq integer NOT NULL,
  blob bigint NOT NULL,
  kept boolean NOT NULL DEFAULT false, -- for as long as the turn is stored
  PRIMARY KEY (context, turn, seq, blob)
);
CREATE INDEX holds_of_blob ON holds (blob);

-- The last version of each output of a context.
CREATE TABLE outputs (
  context bigint NOT NULL,
  path text NOT NULL,
  version integer NOT NULL,
  PRIMARY KEY (context, path)
);

CREATE TABLE api_keys (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash text NOT NULL UNIQUE,
  role text NOT NULL, -- subject, operator
  subject text,
  created_at bigint NOT NULL,
  revoked_at bigint
);

-- Browsers that are signed in: a hash of what the browser has, and what only that opens.
CREATE TABLE sessions (
  hash text PRIMARY KEY,
  sealed bytea NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX sessions_over ON sessions (expires_at);

-- What the Runtime makes for itself: the key of task ids, …
CREATE TABLE secrets (
  name text PRIMARY KEY,
  value bytea NOT NULL,
  created_at bigint NOT NULL
);
