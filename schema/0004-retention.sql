-- Rows by the names of their columns: a checkpoint with the numbers of its parents, in their order.

CREATE VIEW checkpoint_parents AS
SELECT c.*, (SELECT group_concat(parent_id, ' ')
             FROM (SELECT parent_id FROM checkpoint_parent WHERE checkpoint_id = c.id ORDER BY ord)) AS parents
FROM checkpoint c;

PRAGMA user_version = 4;
