-- Trajectories and resumed jobs find a half-done transformation by the job that took it last.

CREATE INDEX pending_by_job ON pending (job_id);

PRAGMA user_version = 9;
