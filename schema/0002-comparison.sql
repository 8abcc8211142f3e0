-- Comparisons: two variants (or one and the vendor's library) timed alternately, with the verdict on B relative to A; and what the device
-- was like beside each sample of a measurement.

CREATE TABLE comparison (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	a_id INTEGER NOT NULL REFERENCES checkpoint (id) ON DELETE CASCADE,
	b_id INTEGER REFERENCES checkpoint (id) ON DELETE CASCADE, -- NULL: the library
	library TEXT,
	device TEXT NOT NULL,
	driver TEXT,
	sizes TEXT NOT NULL,
	a_params TEXT NOT NULL,
	b_params TEXT,
	verdict TEXT NOT NULL CHECK (verdict IN ('faster', 'slower', 'same', 'unclear')),
	a_ns REAL NOT NULL,
	b_ns REAL NOT NULL,
	ratio REAL NOT NULL, -- time of B / time of A
	low REAL NOT NULL,
	high REAL NOT NULL,
	confidence REAL NOT NULL,
	margin REAL NOT NULL,
	samples BLOB NOT NULL, -- doubles, nanoseconds, little-endian: A and B in turn
	discarded INTEGER NOT NULL,
	disturbed INTEGER NOT NULL,
	cold INTEGER NOT NULL,
	conditions TEXT,
	a_validation INTEGER REFERENCES validation (id),
	b_validation INTEGER REFERENCES validation (id),
	job_id TEXT,
	created_ms INTEGER NOT NULL,
	CHECK ((b_id IS NULL) = (library IS NOT NULL))
) STRICT;
CREATE INDEX comparison_by_a ON comparison (a_id, device, a_params);

CREATE TABLE measurement_condition (
	measurement_id INTEGER PRIMARY KEY REFERENCES measurement (id) ON DELETE CASCADE,
	conditions TEXT NOT NULL
) STRICT;

PRAGMA user_version = 2;
