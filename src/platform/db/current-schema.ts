import { sql } from './query.ts';

/** The oid of the schema that holds the tables of this program: the first one in `search_path` that exists. */
export const CURRENT_SCHEMA = sql`(SELECT oid FROM pg_namespace WHERE nspname = current_schema())`;
