-- Times are milliseconds since 1970. Keys are integers in the order of time, so that inserts stay at the right edge of
-- each tree. The context is on every table: it is what rows belong together by.

-- Who calls: what a subject has, and where it stands in line. Keys are not used twice: a cache may outlive the row.
CREATE TABLE subjects (
  subject INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  queued INTEGER NOT NULL DEFAULT 0, -- turns that wait for an earlier one of their context
  ready INTEGER NOT NULL DEFAULT 0, -- contexts that wait for a node
  bytes INTEGER NOT NULL DEFAULT 0, -- of messages, views, journals and files
  place INTEGER -- in the line of subjects with contexts that are ready: each is served in its turn
);
CREATE INDEX subjects_line ON subjects (place) WHERE place IS NOT NULL;

-- Whose it is: one subject with one agent.
CREATE TABLE scopes (
  scope INTEGER PRIMARY KEY AUTOINCREMENT,
  subject INTEGER NOT NULL REFERENCES subjects,
  agent TEXT NOT NULL,
  UNIQUE (subject, agent)
);

-- How many turns a scope has of each status; the scope 0 is all of them together.
CREATE TABLE tallies (
  scope INTEGER NOT NULL,
  status INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (scope, status)
) WITHOUT ROWID;

-- How many turns of a scope (context 0), or of one context of it, ended with a status before a moment: one row for about a
-- thousand turns, so that those from a moment on are counted without going through them.
CREATE TABLE milestones (
  scope INTEGER NOT NULL,
  context INTEGER NOT NULL,
  status INTEGER NOT NULL,
  at INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (scope, context, status, at)
) WITHOUT ROWID;

CREATE TABLE contexts (
  context INTEGER PRIMARY KEY,
  scope INTEGER NOT NULL REFERENCES scopes,
  subject INTEGER NOT NULL,
  name TEXT NOT NULL, -- the contextId on the wire
  created_at INTEGER NOT NULL,
  active INTEGER, -- the turn that holds the context (I2)
  queued INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL DEFAULT 0, -- of the last claim
  runner TEXT, -- the node that holds the lease
  ready_at INTEGER, -- since when it waits for a node
  due_at INTEGER, -- when it will; while a node runs it: when its lease ends
  UNIQUE (scope, name)
);
CREATE INDEX contexts_ready ON contexts (subject, ready_at, context) WHERE ready_at IS NOT NULL;
CREATE INDEX contexts_due ON contexts (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE turns (
  turn INTEGER PRIMARY KEY,
  context INTEGER NOT NULL REFERENCES contexts,
  scope INTEGER NOT NULL REFERENCES scopes,
  state TEXT NOT NULL,
  status INTEGER NOT NULL, -- the state that callers are shown: its number in A2A's enum
  status_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  length INTEGER NOT NULL DEFAULT 0, -- of its journal
  revision INTEGER NOT NULL DEFAULT 0, -- changes so far
  deaths INTEGER NOT NULL DEFAULT 0, -- processes that died while they ran it
  troubled INTEGER NOT NULL DEFAULT 0, -- 1: held, or with lost effects
  pushes INTEGER NOT NULL DEFAULT 0, -- configs of those who hear of it
  agent_version TEXT NOT NULL,
  traceparent TEXT NOT NULL,
  message TEXT NOT NULL, -- JSON, without extension data
  extension_data TEXT, -- JSON, by extension URI
  view TEXT NOT NULL DEFAULT '{}' -- JSON: what readers are shown
);
-- A list of all states merges its ranges, so that neither index needs a twin without the status.
CREATE INDEX turns_listed ON turns (scope, status, status_at, turn);
CREATE INDEX turns_of_context ON turns (context, status, status_at, turn);
-- Those that wait for an earlier one of their context.
CREATE INDEX turns_queued ON turns (context, turn) WHERE state = 'queued';
CREATE INDEX turns_suspect ON turns (turn) WHERE deaths >= 2;
CREATE INDEX turns_troubled ON turns (turn) WHERE troubled = 1;

-- What a turn asked for and what came back, in the order in which it happened.
CREATE TABLE journal (
  entry INTEGER PRIMARY KEY,
  context INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  seq INTEGER NOT NULL, -- from 0
  kind TEXT NOT NULL,
  body TEXT NOT NULL, -- JSON
  at INTEGER NOT NULL
);
CREATE UNIQUE INDEX journal_turn ON journal (turn, seq);

-- Message ids seen, for as long as a retry of theirs is known again (I3).
CREATE TABLE messages (
  message INTEGER PRIMARY KEY,
  digest TEXT NOT NULL, -- of subject, agent, context and message id
  context INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  content_hash TEXT NOT NULL,
  forget_at INTEGER NOT NULL
);
CREATE INDEX messages_digest ON messages (digest);
CREATE INDEX messages_forget ON messages (forget_at);

-- Bytes that are kept outside, once for all who need them, under hash and number: a blob that is being removed is never the one that
-- somebody puts there anew.
CREATE TABLE blobs (
  blob INTEGER PRIMARY KEY AUTOINCREMENT,
  sha256 TEXT NOT NULL,
  size INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  free_at INTEGER, -- nobody needs it: from when on it may go
  condemned INTEGER NOT NULL DEFAULT 0 -- 1: it is being removed
);
CREATE UNIQUE INDEX blobs_live ON blobs (sha256) WHERE condemned = 0;
CREATE INDEX blobs_free ON blobs (free_at) WHERE free_at IS NOT NULL;

-- Which entry of which turn needs them.
CREATE TABLE holds (
  context INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  seq INTEGER NOT NULL, -- of the entry
  blob INTEGER NOT NULL REFERENCES blobs,
  kept INTEGER NOT NULL DEFAULT 0, -- 1: as an output, for as long as the turn is there
  PRIMARY KEY (turn, seq, blob)
) WITHOUT ROWID;
CREATE INDEX holds_blob ON holds (blob);

-- The last version of each output of a context.
CREATE TABLE outputs (
  context INTEGER NOT NULL,
  path TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (context, path)
) WITHOUT ROWID;

-- Who hears of a turn. Keys are not used twice, as a config that is no more may be claimed still.
CREATE TABLE push_configs (
  config INTEGER PRIMARY KEY AUTOINCREMENT,
  context INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  subject INTEGER NOT NULL,
  id TEXT NOT NULL,
  origin TEXT NOT NULL, -- of its URL
  target TEXT NOT NULL, -- JSON: where to, and what goes with it
  revision INTEGER NOT NULL DEFAULT 0, -- changes of the target so far
  created_at INTEGER NOT NULL,
  epoch INTEGER NOT NULL DEFAULT 0, -- of the last claim
  runner TEXT, -- the node that makes an attempt
  failures INTEGER NOT NULL DEFAULT 0, -- attempts since the last success
  due_at INTEGER, -- when its oldest delivery is to be tried; while it is: when the lease ends; null: nothing waits
  UNIQUE (turn, id)
);
CREATE INDEX push_configs_due ON push_configs (origin, due_at);
CREATE INDEX push_configs_claimed ON push_configs (config) WHERE runner IS NOT NULL;

-- None of an origin's configs is due before this moment.
CREATE TABLE push_origins (
  origin TEXT PRIMARY KEY,
  due_at INTEGER
) WITHOUT ROWID;
CREATE INDEX push_origins_due ON push_origins (due_at, origin) WHERE due_at IS NOT NULL;

-- What must be announced to whom, written in the transaction of the change itself (I8).
CREATE TABLE outbox (
  delivery INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL, -- as the webhook knows it
  config INTEGER NOT NULL,
  context INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  change TEXT NOT NULL, -- JSON
  soft INTEGER NOT NULL, -- 1: while it has not been tried, a newer one takes its place
  created_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  error TEXT, -- why the last one failed
  given_up_at INTEGER
);
CREATE INDEX outbox_waiting ON outbox (config, given_up_at, delivery);
CREATE INDEX outbox_given_up ON outbox (given_up_at, delivery) WHERE given_up_at IS NOT NULL;

CREATE TABLE api_keys (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  hash TEXT NOT NULL UNIQUE,
  role TEXT NOT NULL, -- subject, operator
  subject TEXT,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
);

-- What turns that ended used, by day: of each subject; of the subject 0, which is all of them together. It outlives the turns.
CREATE TABLE usage (
  subject INTEGER NOT NULL,
  day INTEGER NOT NULL, -- since 1970, UTC
  agent TEXT NOT NULL,
  turns INTEGER NOT NULL,
  tokens INTEGER, -- null: none of them reported any
  cost_usd REAL,
  PRIMARY KEY (subject, day, agent)
) WITHOUT ROWID;
CREATE INDEX usage_days ON usage (day);

-- Browsers that are signed in: a hash of what the browser has, and what only that opens.
CREATE TABLE sessions (
  hash TEXT PRIMARY KEY,
  sealed BLOB NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_over ON sessions (expires_at);

-- What the Runtime makes for itself: the key of task ids, …
CREATE TABLE secrets (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Up to where keys of contexts and turns may have been given out. Never lowered: a key is not used twice. And what all blobs take.
CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO counters VALUES ('context', 0), ('turn', 0), ('fileBytes', 0);
