-- The program knows its kinds of connections (src/network/connections/kinds): a list of them here would have to be migrated
-- for every new carrier protocol.
ALTER TABLE connection DROP CONSTRAINT connection_kind_check;
