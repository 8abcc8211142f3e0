-- What retention deletes is looked for in every table that may point at it: an index for each such column.

CREATE INDEX checkpoint_by_text ON checkpoint (by_text);
CREATE INDEX exchange_by_prompt ON exchange (prompt);
CREATE INDEX exchange_by_reply ON exchange (reply);
CREATE INDEX pending_by_text ON pending (text);
CREATE INDEX pending_by_context ON pending (context);
CREATE INDEX pending_by_parent ON pending (parent_id);
CREATE INDEX pending_by_checkpoint ON pending (checkpoint_id);
CREATE INDEX measurement_by_validation ON measurement (validation_id);
CREATE INDEX comparison_by_b ON comparison (b_id);
CREATE INDEX comparison_by_validation ON comparison (a_validation);
CREATE INDEX comparison_by_b_validation ON comparison (b_validation);
CREATE INDEX workflow_by_head ON workflow (head_id);
CREATE INDEX workflow_by_root ON workflow (root_id);
CREATE INDEX workflow_move_by_to ON workflow_move (to_id);
CREATE INDEX workflow_move_by_from ON workflow_move (from_id);
CREATE INDEX workflow_tag_by_checkpoint ON workflow_tag (checkpoint_id);

PRAGMA user_version = 5;
