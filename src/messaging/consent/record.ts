import { updateHasOptOuts } from '../../identity/accounts/sql.ts';
import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { toE164 } from '../../platform/lib/phone/phone.ts';
import { isUserId } from '../../platform/lib/phone/user-id.ts';
import { type ConsentWord, consentWordOf } from './words.ts';
import * as db from './sql.ts';

/**
 * Records opt-outs of numbers from channels, in the caller's transaction: sends to them are rejected once it is
 * committed. An existing opt-out keeps its source and time. Returns the new ones.
 */
export async function optOut(tx: Db, rows: readonly db.OptOut[]): Promise<db.Consent[]> {
  if (rows.length === 0) return [];
  const added = await db.insertOptOuts(tx, [...new Map(rows.map((row) => [keyOf(row), row])).values()]);
  const accountIds = [...new Set(rows.map((row) => row.accountId))].sort((a, b) => a - b);
  await updateHasOptOuts(tx, { accountIds });
  return added;
}

/** Removes opt-outs, whatever their origin, in the caller's transaction. Returns those that existed. */
export const optIn = (tx: Db, rows: readonly db.Consent[]): Promise<db.Consent[]> =>
  rows.length === 0 ? Promise.resolve([]) : db.deleteOptOuts(tx, rows);

/**
 * Opts a number out of exactly these channels and into all others. Changes are recorded in the audit log. Call it in a
 * transaction.
 */
export async function setOptOuts(
  tx: Db,
  author: Author,
  input: { phoneNumber: string; channels: readonly Channel[]; source: db.OptOutSource },
): Promise<void> {
  const { phoneNumber, channels, source } = input;
  const { accountId } = author;
  const current = (await db.listOptOutsOf(tx, { accountId, phoneNumber })).map((row) => row.channel);
  const out = channels.filter((channel) => !current.includes(channel));
  const back = current.filter((channel) => !channels.includes(channel));
  if (out.length + back.length === 0) return;
  await optOut(
    tx,
    out.map((channel) => ({ accountId, phoneNumber, channel, source })),
  );
  await optIn(
    tx,
    back.map((channel) => ({ accountId, phoneNumber, channel })),
  );
  const detail = { optedOut: out, optedIn: back };
  await recordAudit(tx, author, { action: 'consent.update', subject: `number:${phoneNumber}`, detail });
}

/** A text from a handset; `source` is the number as the carrier writes it. */
export type InboundText = {
  readonly accountId: number;
  readonly channel: Channel;
  readonly source: string;
  readonly body: string;
};

/**
 * Applies STOP and START in the transaction that stores the messages. If one number sent several, the last one counts.
 * Other messages cost an in-memory look-up.
 */
export async function applyConsentWords(tx: Db, messages: readonly InboundText[]): Promise<void> {
  const last = new Map<string, { row: db.Consent; word: ConsentWord }>();
  for (const message of messages) {
    const word = consentWordOf(message.body);
    const phoneNumber = word && personOf(message);
    if (word === null || phoneNumber === null) continue;
    const row = { accountId: message.accountId, phoneNumber, channel: message.channel };
    last.set(keyOf(row), { row, word });
  }
  const rows = (wanted: ConsentWord) => [...last.values()].flatMap(({ row, word }) => (word === wanted ? [row] : []));
  await optOut(
    tx,
    rows('stop').map((row) => ({ ...row, source: 'STOP' as const })),
  );
  await optIn(tx, rows('start'));
}

/**
 * Returns the number of a person in E.164, or the user id of a person without a visible number; null for anything else.
 */
const personOf = ({ channel, source }: InboundText): string | null =>
  toE164(source) ?? (channel === 'WHATSAPP' && isUserId(source) ? source : null);

const keyOf = ({ accountId, phoneNumber, channel }: db.Consent): string => `${accountId}/${phoneNumber}/${channel}`;
