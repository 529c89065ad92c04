import { type Db, exec, raw } from './query.ts';

/**
 * Makes sure that there is a function `uuidv7`, which PostgreSQL has since version 18 and which the defaults of some
 * columns call. Checked at every start rather than in a migration, because it depends on the server: a backup of
 * PostgreSQL 18 that is restored on 17 lacks the function.
 *
 * As in PostgreSQL 18, the twelve bits after the milliseconds are their fraction (RFC 9562, section 6.2, method 3), and
 * the ids of a session ascend: before it returns, the function waits for the next microsecond of the clock, so that no
 * other call sees the same one. That is slow, but its rows stand for batches. If the clock is put back, ids go back
 * with it.
 */
export const ensureUuidv7 = (db: Db): Promise<number> => exec(db, ENSURE);

const ENSURE = raw(`
  DO $do$
  BEGIN
    IF to_regprocedure('uuidv7(interval)') IS NULL THEN
      CREATE FUNCTION uuidv7(shift interval DEFAULT '0') RETURNS uuid LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
      DECLARE
        now constant timestamptz := clock_timestamp();
        -- 4096 units of a millisecond: three hexadecimal digits behind the twelve of the milliseconds.
        units constant bigint := (extract(epoch FROM now + shift) * 1000000)::bigint * 512 / 125;
      BEGIN
        WHILE clock_timestamp() = now LOOP
        END LOOP;
        -- The version, and of a random UUID the half that begins with the variant.
        RETURN overlay(lpad(to_hex(units), 15, '0') PLACING '7' FROM 13 FOR 0) || right(gen_random_uuid()::text, 18);
      END $$;
    END IF;
  END $do$`);
