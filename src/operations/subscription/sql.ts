import { type Db, exec, one, sql } from '../../platform/db/query.ts';

/** Finds the channels of an account's plan, as bits (src/platform/lib/channel.ts). */
export async function findChannels(db: Db, { accountId }: { accountId: number }): Promise<number> {
  return (await one<{ bits: number }>(db, sql`SELECT channels AS bits FROM account WHERE id = ${accountId}`)).bits;
}

/** Sets the channels of an account's plan, as bits. */
export const updateChannels = (db: Db, { accountId, bits }: { accountId: number; bits: number }): Promise<number> =>
  exec(db, sql`UPDATE account SET channels = ${bits} WHERE id = ${accountId}`);
