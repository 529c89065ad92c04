-- What campaigns need to be priced in one pass.

-- How many messages on the air a text takes: as countParts of src/carriers/smpp/text.ts, with which a property test
-- compares it. 160 or 153 septets in GSM 03.38, whose extension characters take two; else 70 or 67 UTF-16 units. No part
-- ends inside an escape pair or a surrogate pair, so long texts with any of those are walked part by part.
CREATE FUNCTION sms_parts(body text) RETURNS integer
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
  -- As many characters as units, and which of them must not end a part.
  units text;
  lead  text;
  total integer;
  most  integer;
  at    integer := 1;
  parts integer := 0;
BEGIN
  -- Nearly all texts end here: one pass over them, 2 µs.
  IF body ~ E'^[ -Z_a-z\n\r@£¥èéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà]*$' THEN
    total := length(body);
    RETURN CASE WHEN total <= 160 THEN 1 ELSE (total + 152) / 153 END;
  ELSIF body ~ E'^[ -~\n\r\f€@£¥èéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà]*$' AND strpos(body, '`') = 0 THEN
    units := regexp_replace(body, E'[\\^{}\\\\[~\\]|€\f]', E'\x1b\\&', 'g');
    total := length(units);
    IF total <= 160 THEN RETURN 1; END IF;
    most := 153;
    lead := E'\x1b';
  ELSE
    -- Characters beyond the basic plane take two units each.
    IF body !~ E'[\U00010000-\U0010ffff]' THEN
      total := length(body);
      RETURN CASE WHEN total <= 70 THEN 1 ELSE (total + 66) / 67 END;
    END IF;
    units := regexp_replace(
      regexp_replace(body, E'[^\U00010000-\U0010ffff]', 'x', 'g'), E'[\U00010000-\U0010ffff]', 'hl', 'g');
    total := length(units);
    IF total <= 70 THEN RETURN 1; END IF;
    most := 67;
    lead := 'h';
  END IF;
  WHILE at <= total LOOP
    parts := parts + 1;
    at := at + most - CASE WHEN substr(units, at + most - 1, 1) = lead THEN 1 ELSE 0 END;
  END LOOP;
  RETURN parts;
END
$$;

-- Of `numbers`, one for each: the country ('' for none) and the bits of the channels that its type can be reached on.
ALTER TABLE campaign ADD COLUMN number_countries text[] NOT NULL DEFAULT '{}';
ALTER TABLE campaign ADD COLUMN number_channels smallint[] NOT NULL DEFAULT '{}';
-- Of `destinations`: those that are no valid number.
ALTER TABLE campaign ADD COLUMN unreadable_numbers integer NOT NULL DEFAULT 0;

-- Of `ended`: recipients of combined modes that one of their messages was delivered to.
ALTER TABLE campaign_run ADD COLUMN delivered bigint NOT NULL DEFAULT 0;

-- Goals are calculated behind row-level security. Prices are no secret; of routes, which prefixes have one.
GRANT SELECT (id, channel, prefix, unit_micros, refund_undelivered) ON price TO heliograph_tenant;
GRANT SELECT (channel, prefix) ON route TO heliograph_tenant;
