-- What a bind has done, as its process last reported it: for the operator's list of binds.
ALTER TABLE smpp_bind ADD COLUMN interface_version smallint NOT NULL DEFAULT 52;
ALTER TABLE smpp_bind ADD COLUMN submits bigint NOT NULL DEFAULT 0;
ALTER TABLE smpp_bind ADD COLUMN throttled bigint NOT NULL DEFAULT 0;
-- Messages a second since the report before.
ALTER TABLE smpp_bind ADD COLUMN per_second integer NOT NULL DEFAULT 0;
-- deliver_sm that it has not answered.
ALTER TABLE smpp_bind ADD COLUMN unanswered integer NOT NULL DEFAULT 0;
