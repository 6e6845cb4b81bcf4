-- Those who write beside one schema take turns.
SELECT 1 FROM schemas WHERE id = $1::uuid AND deleted_at IS NULL FOR NO KEY UPDATE
