import type { Pool } from 'pg';
import { type Author, recordAudit } from '../accounts/audit.ts';
import { tagOf } from '../channels/message-tlvs.ts';
import { type Db, exec, many, plainArray, sql } from '../core/db/query.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { notifyRoutingChange } from './connection-store.ts';

/** Tags of the optional parameters that accounts may send over HTTP, in memory. */
export type TlvTags = {
  /** Returns the tags of an account; empty for most. */
  of(accountId: number): ReadonlySet<number>;
};

const NONE: ReadonlySet<number> = new Set();

/** Tags where no account may send any. */
export const NO_TLV_TAGS: TlvTags = { of: () => NONE };

/** Creates the tags in memory; `reload` them after each change. */
export function createTlvTags(pool: Pool): TlvTags & { reload(): Promise<void> } {
  let byAccount: ReadonlyMap<number, ReadonlySet<number>> = new Map();
  return {
    of: (accountId) => byAccount.get(accountId) ?? NONE,
    async reload() {
      byAccount = new Map((await listTlvTags(pool)).map(({ id, tags }) => [id, new Set(tags)]));
    },
  };
}

/** Finds the tags of an account; none if there is no such account. */
export async function findTlvTags(db: Db, { accountId }: { accountId: number }): Promise<number[]> {
  const [row] = await many<{ tags: number[] }>(db, sql`SELECT tlv_tags AS tags FROM account WHERE id = ${accountId}`);
  return row?.tags ?? [];
}

const listTlvTags = (db: Db): Promise<{ id: number; tags: number[] }[]> =>
  many(db, sql`SELECT id, tlv_tags AS tags FROM account WHERE tlv_tags <> '{}'`);

/**
 * Sets the tags of the parameters that an account may send over HTTP, such as 0x1400; running processes follow
 * immediately. Call it in a transaction. Errors: 400 naming a tag that is none, 404.
 */
export async function changeTlvTags(tx: Db, author: Author, texts: readonly string[]): Promise<void> {
  const tags = texts.map(tagOf);
  const wrong = tags.indexOf(null);
  if (wrong >= 0)
    throw invalidFields([
      { field: `tlvTags[${wrong}]`, message: 'must be a tag such as 0x1400 that the gateway does not use itself' },
    ]);
  const { accountId } = author;
  if ((await updateTlvTags(tx, { accountId, tags: tags.filter((tag) => tag !== null) })) === 0)
    throw new AppError('not_found');
  await recordAudit(tx, author, {
    action: 'account.tlv-tags',
    subject: `account:${accountId}`,
    detail: { tags: texts },
  });
  await notifyRoutingChange(tx);
}

const updateTlvTags = (db: Db, { accountId, tags }: { accountId: number; tags: readonly number[] }): Promise<number> =>
  exec(db, sql`UPDATE account SET tlv_tags = ${plainArray(tags)}::int[] WHERE id = ${accountId}`);
