-- The cell that this database is: its ids begin at number * 2^40, so that those of two cells never meet.
CREATE TABLE cell (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  number smallint NOT NULL CHECK (number BETWEEN 0 AND 8190)
);
COMMENT ON TABLE cell IS 'shared';
