import { mapInSlices } from '../core/background.ts';
import { bytea, bigint, insertRows, rowsOf, text, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, many, type RowOf, sql } from '../core/db/query.ts';
import type { Prepared } from './prepare.ts';
import { contentHash, type Verdict } from './read-send.ts';

/**
 * Returns the client id that a message claims. One that follows another message has that message's id and claims none.
 */
export const claimedId = ({ message, draft }: Prepared): string | null => (draft.isFollowing ? null : message.clientId);

export const accepted = ({ message, unicode, hold }: Prepared): Verdict => ({
  kind: 'accepted',
  messageId: message.id,
  parts: message.parts,
  unicode,
  ...(message.askedSender !== null && { sender: message.sender }),
  ...(hold && { hold }),
});

/**
 * Claims client ids and finds repeats, inside the batch and among the stored messages: a client id in use yields the
 * first message again when the content is the same, and a conflict when it differs.
 */
export async function claimClientIds(
  tx: Db,
  items: readonly Prepared[],
): Promise<{ fresh: readonly Prepared[]; verdicts: Verdict[] }> {
  const claims = new Map<string, Claim>();
  await mapInSlices(items, (item) => addClaim(claims, item));
  if (claims.size === 0) return { fresh: items, verdicts: items.map(accepted) };
  const holders = await holdersOf(tx, [...claims.values()]);
  const verdicts = await mapInSlices(items, (item) => verdictOn(item, holders));
  const fresh = items.filter(
    (item) => claimedId(item) === null || holders.get(keyOf(item))?.messageId === item.message.id,
  );
  return { fresh, verdicts };
}

type Claim = ClientIdClaim & { readonly parts: number };
type Holder = { readonly messageId: string; readonly contentHash: Uint8Array; readonly parts: number };

export const keyOf = ({ message }: Prepared): string => `${message.accountId}/${message.clientId}`;

function addClaim(claims: Map<string, Claim>, item: Prepared): void {
  const { accountId, id, parts } = item.message;
  const clientId = claimedId(item);
  const key = keyOf(item);
  if (clientId !== null && !claims.has(key))
    claims.set(key, { accountId, clientId, messageId: id, contentHash: contentHash(item.draft), parts });
}

async function holdersOf(tx: Db, claims: readonly Claim[]): Promise<Map<string, Holder>> {
  const won = await insertClientIds(tx, claims);
  const lost = claims.filter((claim) => !won.has(claim.messageId));
  const held = lost.length > 0 ? await listClientIds(tx, lost) : [];
  const winners = claims.filter((claim) => won.has(claim.messageId));
  return new Map([...winners, ...held].map((h) => [`${h.accountId}/${h.clientId}`, h]));
}

function verdictOn(item: Prepared, holders: ReadonlyMap<string, Holder>): Verdict {
  const holder = claimedId(item) === null ? undefined : holders.get(keyOf(item));
  if (!holder || holder.messageId === item.message.id) return accepted(item);
  const same = Buffer.compare(holder.contentHash, contentHash(item.draft)) === 0;
  return same
    ? { kind: 'accepted', messageId: holder.messageId, parts: holder.parts, unicode: item.unicode }
    : { kind: 'conflict' };
}

/** A client id that a message takes for 24 hours. `contentHash` shows whether a repeat requests the same message. */
export type ClientIdClaim = {
  readonly accountId: number;
  readonly clientId: string;
  readonly messageId: string;
  readonly contentHash: Uint8Array;
};

/**
 * Takes client ids for 24 hours. Returns the message ids whose client id was free or had been taken more than 24 hours
 * ago; `listClientIds` finds the holders of the others. No client id may occur twice in one call.
 */
export async function insertClientIds(db: Db, claims: readonly ClientIdClaim[]): Promise<Set<string>> {
  const rows = await many<{ messageId: string }>(
    db,
    sql`${insertRows(
      'client_message_id AS c',
      claims,
      { accountId: bigint, clientId: text, messageId: uuid, contentHash: bytea },
      { created_at: sql`now()` },
    )}
        ORDER BY u.account_id, u.client_id
        ON CONFLICT (account_id, client_id) DO UPDATE
          SET message_id = excluded.message_id, content_hash = excluded.content_hash, created_at = excluded.created_at,
              newest_id = NULL
          WHERE c.created_at < now() - interval '24 hours'
        RETURNING c.message_id AS "messageId"`,
  );
  return new Set(rows.map((row) => row.messageId));
}

const CLIENT_ID_HOLDER = columns({
  accountId: as<number>('c.account_id'),
  clientId: as<string>('c.client_id'),
  messageId: as<string>('c.message_id'),
  contentHash: as<Buffer>('c.content_hash'),
  parts: as<number>('m.parts'),
});
type ClientIdHolder = RowOf<typeof CLIENT_ID_HOLDER>;

/**
 * Lists the messages that hold these client ids. Ids that were taken more than 24 hours ago are omitted. Each id is
 * looked up by its keys, whatever the planner expects: for an account that the statistics do not know yet it joined all
 * ids of the account with all its messages, which took a minute for 10,000.
 */
export const listClientIds = (
  db: Db,
  keys: readonly { accountId: number; clientId: string }[],
): Promise<ClientIdHolder[]> =>
  many(
    db,
    sql`SELECT ${CLIENT_ID_HOLDER}
        FROM ${rowsOf(keys, {
          account_id: bigint((k) => k.accountId),
          client_id: text((k) => k.clientId),
        })} AS u
        CROSS JOIN LATERAL (
          SELECT * FROM client_message_id i WHERE i.account_id = u.account_id AND i.client_id = u.client_id
            AND i.created_at >= now() - interval '24 hours' OFFSET 0) AS c
        CROSS JOIN LATERAL (
          SELECT k.parts FROM message k WHERE k.account_id = c.account_id AND k.id = c.message_id OFFSET 0) AS m`,
  );
