-- Of an account that arrives. Whether all of it is here, and not only what was copied while its former cell served it:
ALTER TABLE account_move ADD COLUMN is_complete boolean NOT NULL DEFAULT true;
-- Whether it had left this cell before: when the move is given up, it has left again.
ALTER TABLE account_move ADD COLUMN was_here boolean NOT NULL DEFAULT false;
