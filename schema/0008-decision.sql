-- What an optimize job decided and why, a row each, in order. An experiment's child jobs are named as soon as they begin, so that a job
-- which was killed finds what is done. checkpoint_id is where the experiment starts, made_id what it became.

CREATE TABLE decision (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	search TEXT NOT NULL, -- the optimize job
	seq INTEGER NOT NULL CHECK (seq > 0),
	policy TEXT NOT NULL,
	kind TEXT NOT NULL CHECK (kind IN ('measure', 'experiment', 'mend', 'question', 'stop')),
	checkpoint_id INTEGER NOT NULL REFERENCES checkpoint (id) ON DELETE CASCADE,
	reference_id INTEGER REFERENCES checkpoint (id) ON DELETE CASCADE,
	made_id INTEGER REFERENCES checkpoint (id) ON DELETE CASCADE,
	transformation TEXT,
	expected_low REAL,
	expected_high REAL,
	novelty REAL,
	reviewed INTEGER NOT NULL DEFAULT 0,
	reason TEXT NOT NULL,
	transform_job TEXT,
	tune_job TEXT,
	profile_job TEXT,
	pending TEXT, -- the half-done transformation that it left
	outcome TEXT NOT NULL,
	gain REAL, -- times as fast as the checkpoint that it started from, timed in pairs; the geometric mean over sizes
	low REAL,
	high REAL,
	note TEXT, -- what came of it in words; a question's answer
	seconds REAL,
	device_seconds REAL,
	calls INTEGER NOT NULL DEFAULT 0,
	tokens_in INTEGER NOT NULL DEFAULT 0,
	tokens_out INTEGER NOT NULL DEFAULT 0,
	created_ms INTEGER NOT NULL,
	ended_ms INTEGER NOT NULL DEFAULT 0,
	UNIQUE (search, seq)
) STRICT;
CREATE INDEX decision_by_checkpoint ON decision (checkpoint_id);
CREATE INDEX decision_by_reference ON decision (reference_id);
CREATE INDEX decision_by_made ON decision (made_id);

PRAGMA user_version = 8;
