-- Ratios of speed come from pairs alone. Which parameters of A a pair was timed with, where these are the ones that its tuning starts with;
-- and what others did meanwhile on a CPU that is the device.

ALTER TABLE comparison ADD COLUMN a_start INTEGER NOT NULL DEFAULT 0;
ALTER TABLE comparison ADD COLUMN load TEXT;
CREATE INDEX comparison_by_pair ON comparison (b_id, a_id, device);

-- As measurement_proven: both sides passed, stand, and have tuning parameters that failed nowhere on this device.
CREATE VIEW comparison_proven AS
SELECT c.id FROM comparison c
WHERE c.disturbed = 0
      AND EXISTS (SELECT 1 FROM validation v WHERE v.id = c.a_validation AND v.verdict = 'passed')
      AND (c.b_id IS NULL OR EXISTS (SELECT 1 FROM validation v WHERE v.id = c.b_validation AND v.verdict = 'passed'))
      AND NOT EXISTS (SELECT 1 FROM checkpoint k WHERE k.id IN (c.a_id, c.b_id) AND k.status = 'failed')
      AND NOT EXISTS (SELECT 1 FROM validation f
                      WHERE f.checkpoint_id = c.a_id AND f.device = c.device AND f.verdict = 'failed'
                            AND substr(f.params, length(f.sizes) + 1) = substr(c.a_params, length(c.sizes) + 1))
      AND NOT EXISTS (SELECT 1 FROM validation f
                      WHERE f.checkpoint_id = c.b_id AND f.device = c.device AND f.verdict = 'failed'
                            AND substr(f.params, length(f.sizes) + 1) = substr(c.b_params, length(c.sizes) + 1));

PRAGMA user_version = 6;
