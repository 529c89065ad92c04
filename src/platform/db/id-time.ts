import { type Sql, sql } from './query.ts';

/**
 * Returns the SQL expression of the time at which an id was created, which `timeOfId` reads outside the database. It is
 * written out because `uuid_extract_timestamp` is too new: PostgreSQL 16 lacks it, and that of 17 does not support
 * UUIDv7.
 */
export const timeOf = (id: Sql): Sql =>
  sql`to_timestamp(('x' || translate(left(${id}::text, 13), '-', ''))::bit(48)::bigint / 1000.0)`;
