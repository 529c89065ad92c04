-- How people react to a template, as WhatsApp rates it: GREEN, YELLOW, RED or UNKNOWN; null on RCS, which rates nothing.
ALTER TABLE template ADD COLUMN quality text;
UPDATE template SET quality = 'UNKNOWN' WHERE channel = 'WHATSAPP';
