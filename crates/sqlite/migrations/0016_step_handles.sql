-- The exit that a visit left by. Null: by none, or the step is older than this column.
ALTER TABLE execution_steps ADD COLUMN handle TEXT;
