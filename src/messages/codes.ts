import type { Outcome } from '../channels/carrier.ts';
import { bigint, insertRows, rowsOf, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, plainArray, type RowOf, sql } from '../core/db/query.ts';
import { open, type SecretKey, seal } from '../core/secrets.ts';
import type { Job } from '../dispatch/held.ts';
import type { Chunk } from '../dispatch/store.ts';

/**
 * A message that carries the code of a verification. Its text and content are stored with bullets in place of the code:
 * exports, events, the console, logs and backups have no other form of it. The code itself is put in on the way to the
 * carrier, from a sealed row that is deleted when the verification ends.
 */
export type Coded = {
  readonly verificationId: string;
  /** The code, where it is at hand; otherwise the sealed row has it. */
  readonly code?: string;
};

const BULLET = '•';
/** The bullets that stand for a code, which has 4 to 10 characters. */
const MASK = /•{4,10}/g;

/** Returns the bullets that stand for a code of this length. */
export const maskOf = (length: number): string => BULLET.repeat(length);

/** Returns a text as long as the one with the code, and in its alphabet: codes have digits and plain letters only. */
export const withDigits = (body: string): string => body.replaceAll(BULLET, '0');

type MaybeCoded = { readonly coded?: Coded | undefined };

/** Returns the text of a message by which its parts are counted. */
export const countedText = (body: string, { coded }: MaybeCoded): string => (coded ? withDigits(body) : body);

/** Returns the code of a message that is at hand, as a field of its row in memory. */
export const codeIn = ({ coded }: MaybeCoded): { readonly code?: string } =>
  coded?.code === undefined ? {} : { code: coded.code };

/** Returns a text with the code in place of the bullets. */
export const revealText = (text: string, code: string): string => text.replace(MASK, code);

/** Returns the message as the carrier gets it. */
function reveal(job: Job, code: string): Job {
  const body = revealText(job.body, code);
  return job.content ? { ...job, body, content: revealIn(job.content, code) } : { ...job, body };
}

/** Recursion is safe: these are our own stored contents, about ten levels deep. */
function revealIn<T>(value: T, code: string): T {
  if (typeof value === 'string') return revealText(value, code) as T & string;
  if (Array.isArray(value)) return value.map((item: unknown) => revealIn(item, code)) as T & unknown[];
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revealIn(item, code)])) as T & object;
}

const CODE_GONE: Outcome = {
  kind: 'refused',
  status: 'EXPIRED',
  code: 'CODE_GONE',
  text: 'the verification has ended, and its code is deleted',
  carrierIds: [],
};

/**
 * Puts the codes into the messages of chunks that were read from the queue. One look-up for a batch with bullets in its
 * texts, and none for any other. A message whose verification has ended is rejected.
 */
export async function withCodes(
  db: Db,
  secretKey: SecretKey,
  chunks: readonly Pick<Chunk, 'accountId'>[],
  jobs: (Job | undefined)[][],
): Promise<(Job | undefined)[][]> {
  const masked = chunks.flatMap(({ accountId }, i) =>
    (jobs[i] ?? []).flatMap((job) => (job?.body.includes(BULLET) ? [{ accountId, id: job.messageId }] : [])),
  );
  if (masked.length === 0) return jobs;
  const found = new Map((await listCodes(db, masked)).map((row) => [row.messageId, row]));
  return jobs.map((own) =>
    own.map((job) => {
      const coded = job && found.get(job.messageId);
      if (!coded) return job;
      return coded.sealed === null ? { ...job, refusal: CODE_GONE } : reveal(job, openCode(secretKey, coded));
    }),
  );
}

type Place = { readonly accountId: number; readonly verificationId: string };

/** The context to which a sealed code is bound. */
const placeOf = ({ accountId, verificationId }: Place): string => `verification_code/${accountId}/${verificationId}`;

/** Opens a code. Throws when it was sealed with another SECRET_KEY. */
export const openCode = (key: SecretKey, code: Place & { readonly sealed: Buffer | null }): string =>
  open(key, code.sealed ?? Buffer.alloc(0), placeOf(code)).toString();

type NewCode = Place & { readonly code: string; readonly expiresAt: Date };

/** Stores the code of a verification, sealed, in place of the one that it has. */
export async function insertCode(db: Db, key: SecretKey, { code, expiresAt, ...place }: NewCode): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO verification_code (account_id, verification_id, sealed, expires_at)
        VALUES (${place.accountId}, ${place.verificationId}, ${seal(key, code, placeOf(place))}, ${expiresAt})
        ON CONFLICT (account_id, verification_id) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at`,
  );
}

/** Deletes the codes of verifications that have ended. */
export async function deleteCodes(db: Db, accountId: number, verificationIds: readonly string[]): Promise<void> {
  if (verificationIds.length === 0) return;
  await exec(
    db,
    sql`DELETE FROM verification_code
        WHERE account_id = ${accountId} AND verification_id = ANY(${plainArray(verificationIds)}::uuid[])`,
  );
}

/** Deletes codes past their end. Returns how many there were. */
export const deleteExpiredCodes = (db: Db, now: Date): Promise<number> =>
  exec(db, sql`DELETE FROM verification_code WHERE expires_at <= ${now}`);

const CODE = columns({
  accountId: as<number>('c.account_id'),
  verificationId: as<string>('c.verification_id'),
  sealed: as<Buffer>('c.sealed'),
});

/** Lists the sealed codes of these verifications of an account. */
export const listOpenCodes = (
  db: Db,
  accountId: number,
  verificationIds: readonly string[],
): Promise<RowOf<typeof CODE>[]> =>
  many(
    db,
    sql`SELECT ${CODE} FROM verification_code c
        WHERE c.account_id = ${accountId} AND c.verification_id = ANY(${plainArray(verificationIds)}::uuid[])`,
  );

const MESSAGE_CODE = columns({
  messageId: as<string>('m.message_id'),
  accountId: as<number>('m.account_id'),
  verificationId: as<string>('m.verification_id'),
  /** Null: deleted. */
  sealed: as<Buffer | null>('c.sealed'),
});

const listCodes = (
  db: Db,
  messages: readonly { readonly accountId: number; readonly id: string }[],
): Promise<RowOf<typeof MESSAGE_CODE>[]> =>
  many(
    db,
    sql`SELECT ${MESSAGE_CODE}
        FROM ${rowsOf(messages, { account_id: bigint((m) => m.accountId), id: uuid((m) => m.id) })} AS u
        JOIN verification_message m ON m.account_id = u.account_id AND m.message_id = u.id
        JOIN verification v ON v.account_id = m.account_id AND v.id = m.verification_id
        LEFT JOIN verification_code c ON c.account_id = m.account_id AND c.verification_id = m.verification_id`,
  );

type Link = { readonly accountId: number; readonly messageId: string; readonly verificationId: string };

/**
 * Records which messages carry the code of which verification, or passed the guard by which decision. Sent before this returns,
 * as a `burst` needs it.
 */
export async function insertCodedMessages(db: Db, rows: readonly Link[]): Promise<void> {
  await exec(
    db,
    insertRows('verification_message', rows, { accountId: bigint, messageId: uuid, verificationId: uuid }),
  );
}
