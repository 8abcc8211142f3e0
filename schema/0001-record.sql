-- The record: jobs and their events, contexts and texts by hash, checkpoints with their evidence, workflows, exchanges
-- with models, half-done transformations, facts of devices. Migrations are append-only: to change the schema, add
-- schema/0002-*.sql; each file runs in one transaction and ends by raising user_version to its own number.
-- Times are wall-clock milliseconds since 1970, durations nanoseconds. Keep to ASCII.

PRAGMA application_id = 0x5045414b; -- "PEAK": how a database of peakd's is told from others

-- Content by its SHA-256 in hexadecimal: contexts, transformation texts, prompts, replies.
CREATE TABLE blob (
	hash TEXT PRIMARY KEY CHECK (length(hash) = 64),
	data BLOB NOT NULL
) STRICT;

CREATE TABLE job (
	id TEXT PRIMARY KEY,
	kind TEXT NOT NULL,
	request TEXT NOT NULL,
	state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled', 'interrupted')),
	cancel INTEGER NOT NULL DEFAULT 0,
	created_ms INTEGER NOT NULL,
	started_ms INTEGER NOT NULL DEFAULT 0,
	ended_ms INTEGER NOT NULL DEFAULT 0,
	result TEXT,
	error_code TEXT,
	error_text TEXT
) STRICT;
CREATE INDEX job_by_state ON job (state);
CREATE INDEX job_by_time ON job (created_ms);

CREATE TABLE job_event (
	job_id TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
	seq INTEGER NOT NULL CHECK (seq > 0),
	created_ms INTEGER NOT NULL,
	kind TEXT NOT NULL,
	progress REAL NOT NULL,
	total REAL NOT NULL,
	message TEXT NOT NULL,
	PRIMARY KEY (job_id, seq)
) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT: numbers are shown to people and never used again.
CREATE TABLE checkpoint (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
	context TEXT NOT NULL REFERENCES blob (hash),
	kernel TEXT NOT NULL,
	backend TEXT NOT NULL,
	by_name TEXT NOT NULL,
	by_text TEXT REFERENCES blob (hash),
	domain TEXT,
	status TEXT NOT NULL CHECK (status IN ('draft', 'accepted', 'failed')),
	note TEXT,
	created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX checkpoint_by_context ON checkpoint (context);

CREATE TABLE checkpoint_parent (
	checkpoint_id INTEGER NOT NULL REFERENCES checkpoint (id) ON DELETE CASCADE,
	ord INTEGER NOT NULL,
	parent_id INTEGER NOT NULL REFERENCES checkpoint (id),
	PRIMARY KEY (checkpoint_id, ord),
	CHECK (parent_id < checkpoint_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX checkpoint_by_parent ON checkpoint_parent (parent_id);

CREATE TABLE validation (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	checkpoint_id INTEGER NOT NULL REFERENCES checkpoint (id) ON DELETE CASCADE,
	validator TEXT NOT NULL,
	device TEXT NOT NULL,
	sizes TEXT NOT NULL,
	params TEXT NOT NULL,
	size_kind TEXT NOT NULL,
	seed_hash TEXT,
	verdict TEXT NOT NULL CHECK (verdict IN ('passed', 'failed', 'skipped')),
	reason TEXT,
	error REAL,
	tolerance REAL,
	details TEXT,
	took_ns INTEGER,
	job_id TEXT,
	created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX validation_by_params ON validation (checkpoint_id, device, params);

-- Evidence does not change after the fact.
CREATE TRIGGER validation_is_final BEFORE UPDATE ON validation
BEGIN
	SELECT RAISE(ABORT, 'a validation row is final: add a new one');
END;

CREATE TABLE measurement_run (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	checkpoint_id INTEGER NOT NULL REFERENCES checkpoint (id) ON DELETE CASCADE,
	device TEXT NOT NULL,
	strategy TEXT NOT NULL,
	settings TEXT NOT NULL,
	planned INTEGER,
	job_id TEXT,
	created_ms INTEGER NOT NULL,
	ended_ms INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX measurement_run_by_checkpoint ON measurement_run (checkpoint_id);
CREATE INDEX measurement_run_by_job ON measurement_run (job_id);

CREATE TABLE measurement (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	checkpoint_id INTEGER NOT NULL REFERENCES checkpoint (id) ON DELETE CASCADE,
	run_id INTEGER REFERENCES measurement_run (id),
	device TEXT NOT NULL,
	driver TEXT,
	sizes TEXT NOT NULL,
	params TEXT NOT NULL,
	status TEXT NOT NULL,
	median_ns REAL,
	min_ns REAL,
	rse REAL,
	samples BLOB, -- doubles, nanoseconds, little-endian
	cold INTEGER NOT NULL,
	compile_ns INTEGER,
	registers INTEGER,
	shared_bytes INTEGER,
	spill_bytes INTEGER,
	message TEXT,
	validation_id INTEGER REFERENCES validation (id),
	job_id TEXT,
	created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX measurement_by_checkpoint ON measurement (checkpoint_id, status);
CREATE INDEX measurement_by_run ON measurement (run_id);

-- No speed without evidence, and no evidence from elsewhere.
CREATE TRIGGER measurement_evidence BEFORE INSERT ON measurement
WHEN NEW.validation_id IS NOT NULL AND NOT EXISTS (
	SELECT 1 FROM validation v
	WHERE v.id = NEW.validation_id AND v.checkpoint_id = NEW.checkpoint_id AND v.device = NEW.device
	      AND v.params = NEW.params)
BEGIN
	SELECT RAISE(ABORT, 'the validation named as evidence is of another checkpoint, device or parameters');
END;

CREATE TABLE metric (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	checkpoint_id INTEGER NOT NULL REFERENCES checkpoint (id) ON DELETE CASCADE,
	device TEXT NOT NULL,
	params TEXT NOT NULL,
	name TEXT NOT NULL,
	value REAL,
	unit TEXT NOT NULL,
	source TEXT NOT NULL,
	job_id TEXT,
	created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX metric_by_checkpoint ON metric (checkpoint_id, device, params, name);

CREATE TABLE workflow (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL UNIQUE,
	root_id INTEGER NOT NULL REFERENCES checkpoint (id),
	head_id INTEGER NOT NULL REFERENCES checkpoint (id),
	created_ms INTEGER NOT NULL,
	moved_ms INTEGER NOT NULL
) STRICT;

-- The reflog: every move of a head, never deleted.
CREATE TABLE workflow_move (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	workflow_id INTEGER NOT NULL REFERENCES workflow (id),
	action TEXT NOT NULL CHECK (action IN ('create', 'branch', 'append', 'restore')),
	from_id INTEGER REFERENCES checkpoint (id),
	to_id INTEGER NOT NULL REFERENCES checkpoint (id),
	created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX workflow_move_by_workflow ON workflow_move (workflow_id);

CREATE TABLE workflow_tag (
	name TEXT PRIMARY KEY,
	checkpoint_id INTEGER NOT NULL REFERENCES checkpoint (id),
	created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- context and text_hash are not references: recordings are imported without the contexts that they are about.
CREATE TABLE exchange (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	context TEXT NOT NULL,
	transformation TEXT NOT NULL,
	pass INTEGER NOT NULL,
	step TEXT NOT NULL,
	attempt INTEGER NOT NULL,
	text_hash TEXT,
	model TEXT NOT NULL,
	provider TEXT NOT NULL,
	prompt TEXT NOT NULL REFERENCES blob (hash),
	reply TEXT REFERENCES blob (hash),
	finish TEXT,
	outcome TEXT,
	tokens_in INTEGER,
	tokens_out INTEGER,
	tokens_cached INTEGER,
	tokens_reasoning INTEGER,
	latency_ms INTEGER,
	job_id TEXT,
	created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX exchange_by_key ON exchange (context, transformation, pass, step, attempt);
CREATE INDEX exchange_by_transformation ON exchange (transformation);
CREATE INDEX exchange_by_job ON exchange (job_id);

CREATE TABLE pending (
	id TEXT PRIMARY KEY,
	parent_id INTEGER NOT NULL REFERENCES checkpoint (id),
	workflow TEXT,
	transformation TEXT NOT NULL,
	text TEXT NOT NULL REFERENCES blob (hash),
	pass INTEGER NOT NULL,
	step INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	context TEXT NOT NULL REFERENCES blob (hash),
	state TEXT NOT NULL CHECK (state IN ('open', 'waiting', 'accepted', 'given-up', 'cancelled')),
	verdict TEXT,
	data TEXT,
	job_id TEXT,
	checkpoint_id INTEGER REFERENCES checkpoint (id),
	created_ms INTEGER NOT NULL,
	updated_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE fact (
	device TEXT NOT NULL,
	key TEXT NOT NULL,
	value TEXT NOT NULL,
	created_ms INTEGER NOT NULL,
	PRIMARY KEY (device, key)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 1;
