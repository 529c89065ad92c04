-- How often the account has moved: a move that ends late does not undo a later one. Nothing waits here while one moves.
ALTER TABLE account_cell DROP COLUMN moving_since;
ALTER TABLE account_cell ADD COLUMN moves integer DEFAULT 0 NOT NULL;
