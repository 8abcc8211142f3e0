-- Comparisons by energy, beside those of times: joules of one execution of A and B, weighed in alternating windows.

CREATE TABLE weighing (
	comparison_id INTEGER PRIMARY KEY REFERENCES comparison (id) ON DELETE CASCADE,
	objective TEXT NOT NULL CHECK (objective IN ('energy', 'edp')),
	verdict TEXT NOT NULL CHECK (verdict IN ('less', 'more', 'unclear')),
	ratio REAL NOT NULL, -- B / A
	low REAL NOT NULL,
	high REAL NOT NULL,
	a_joules REAL NOT NULL,
	b_joules REAL NOT NULL,
	time_ratio REAL NOT NULL,
	matched INTEGER NOT NULL,
	window_s REAL NOT NULL,
	samples BLOB NOT NULL, -- doubles, joules, little-endian: A and B in turn
	created_ms INTEGER NOT NULL
) STRICT;

PRAGMA user_version = 7;
