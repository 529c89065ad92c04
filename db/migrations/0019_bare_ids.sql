-- Receipts spell ids in other cases and with other numbers of zeros than the answers to the submits: whatever width a
-- carrier fills them to, the bare form (src/carriers/smpp/receipts.ts) is one, so the look-up is by that. "C" because
-- upper case is then a matter of ASCII, as in the program, and takes a third of the time.
DROP INDEX message_state_carrier;
CREATE INDEX message_state_carrier ON message_state (connection_id, ltrim(upper(carrier_id COLLATE "C"), '0'));
DROP INDEX message_part_carrier;
CREATE INDEX message_part_carrier ON message_part (connection_id, ltrim(upper(carrier_id COLLATE "C"), '0'));
