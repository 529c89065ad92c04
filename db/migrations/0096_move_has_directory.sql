-- Whether a directory stands in front of the cells: then an account has not arrived before the directory knows where it is.
ALTER TABLE account_move ADD COLUMN has_directory boolean NOT NULL DEFAULT false;
