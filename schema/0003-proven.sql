-- Which figures may be quoted, said once for all who ask: a time whose evidence passed, of a checkpoint that stands, with tuning parameters
-- that failed nowhere on this device, neither at this size nor at another one. What refutes comes later as often as not.

-- Parameters are written inputs first, so what is behind the sizes is the tuning part.
CREATE INDEX validation_failed ON validation (checkpoint_id, device, substr(params, length(sizes) + 1)) WHERE verdict = 'failed';

CREATE VIEW measurement_proven AS
SELECT m.id FROM measurement m
WHERE m.status = 'ok' AND m.median_ns IS NOT NULL
      AND EXISTS (SELECT 1 FROM validation v WHERE v.id = m.validation_id AND v.verdict = 'passed')
      AND NOT EXISTS (SELECT 1 FROM checkpoint c WHERE c.id = m.checkpoint_id AND c.status = 'failed')
      AND NOT EXISTS (SELECT 1 FROM validation f
                      WHERE f.checkpoint_id = m.checkpoint_id AND f.device = m.device AND f.verdict = 'failed'
                            AND substr(f.params, length(f.sizes) + 1) = substr(m.params, length(m.sizes) + 1));

-- As for measurements: evidence of the same checkpoint, device and parameters, on either side.
CREATE TRIGGER comparison_evidence BEFORE INSERT ON comparison
WHEN (NEW.a_validation IS NOT NULL AND NOT EXISTS (
	SELECT 1 FROM validation v
	WHERE v.id = NEW.a_validation AND v.checkpoint_id = NEW.a_id AND v.device = NEW.device AND v.params = NEW.a_params))
     OR (NEW.b_validation IS NOT NULL AND NOT EXISTS (
	SELECT 1 FROM validation v
	WHERE v.id = NEW.b_validation AND v.checkpoint_id = NEW.b_id AND v.device = NEW.device AND v.params = NEW.b_params))
BEGIN
	SELECT RAISE(ABORT, 'the validation named as evidence is of another checkpoint, device or parameters');
END;

PRAGMA user_version = 3;
