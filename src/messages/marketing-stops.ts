import { updateHasOptOuts } from '../accounts/accounts.ts';
import type { Channel } from '../core/channels.ts';
import { bigint, insertRows, rowsOf, text, timestamptz } from '../core/db/columns.ts';
import { type Db, exec, type Sql, sql } from '../core/db/query.ts';
import { personOf } from '../core/phone.ts';
import { numberOf } from './consent.ts';
import { underOtherAddresses } from './person-aliases.ts';
import { type Key, messagesByKey } from './store.ts';

/**
 * People who have stopped the marketing messages of an account on a channel, by the network's own button: messages with
 * another purpose are sent to them. Opt-outs of a whole channel are in consent.ts.
 */
type Stop = {
  readonly accountId: number;
  readonly phoneNumber: string;
  readonly channel: Channel;
  readonly purpose: 'marketing';
  readonly source: 'NETWORK';
  readonly createdAt: Date;
};

/** A person's choice; `source` is the number or user id as the network writes it. */
type Choice = {
  readonly accountId: number;
  readonly channel: Channel;
  readonly source: string;
  /** False: the person has stopped marketing messages. */
  readonly subscribed: boolean;
  /** The time of the choice, where the network tells it. */
  readonly at: Date | null;
};

/** Applies choices in the caller's transaction. Of several choices of a person, the latest counts. */
export async function applyMarketingChoices(tx: Db, choices: readonly Choice[]): Promise<void> {
  const last = new Map<string, { readonly stop: Stop; readonly subscribed: boolean }>();
  for (const { accountId, channel, source, subscribed, at } of choices.toSorted(byTime)) {
    const phoneNumber = numberOf({ channel, source });
    if (phoneNumber === null) continue;
    const stop: Stop = {
      accountId,
      phoneNumber,
      channel,
      purpose: 'marketing',
      source: 'NETWORK',
      createdAt: at ?? new Date(),
    };
    last.set(`${accountId}/${personOf(phoneNumber)}/${channel}`, { stop, subscribed });
  }
  const rows = (wanted: boolean) => [...last.values()].flatMap((one) => (one.subscribed === wanted ? [one.stop] : []));
  await insertStops(tx, await withOthers(tx, rows(false)));
  await deleteStops(tx, await withOthers(tx, rows(true)));
}

/** A choice holds for every address of a person. */
const withOthers = async (tx: Db, rows: readonly Stop[]): Promise<Stop[]> => [
  ...rows,
  ...(await underOtherAddresses(tx, rows)),
];

const byTime = (a: Choice, b: Choice): number => Number(a.at ?? 0) - Number(b.at ?? 0);

async function insertStops(tx: Db, rows: readonly Stop[]): Promise<void> {
  if (rows.length === 0) return;
  await exec(
    tx,
    sql`${insertRows('purpose_opt_out', rows, {
      accountId: bigint,
      phoneNumber: text,
      channel: text,
      purpose: text,
      source: text,
      createdAt: timestamptz,
    })}
        ORDER BY u.account_id, person_of(u.phone_number) ON CONFLICT DO NOTHING`,
  );
  await updateHasOptOuts(tx, { accountIds: sortedIds(rows) });
}

async function deleteStops(tx: Db, rows: readonly Stop[]): Promise<void> {
  if (rows.length === 0) return;
  const keys = rowsOf(rows, {
    account_id: bigint((r) => r.accountId),
    person: text((r) => personOf(r.phoneNumber)),
    channel: text((r) => r.channel),
  });
  await exec(
    tx,
    sql`DELETE FROM purpose_opt_out o USING ${keys} AS u
        WHERE o.account_id = u.account_id AND o.person = u.person AND o.channel = u.channel`,
  );
}

/**
 * Records that the recipients of WhatsApp messages have stopped marketing, because the network rejected the messages
 * for that reason, in the caller's transaction and with one statement.
 */
export async function recordMarketingStops(tx: Db, keys: readonly Key[]): Promise<void> {
  if (keys.length === 0) return;
  await exec(
    tx,
    sql`WITH refused AS (
          SELECT m.account_id, m.destination, person_of(m.destination) AS person FROM ${messagesByKey(keys)}
          WHERE m.channel = 'WHATSAPP'),
        addresses AS (
          SELECT account_id, destination AS address FROM refused
          UNION SELECT r.account_id, o FROM refused r CROSS JOIN LATERAL other_addresses(r.account_id, r.person) AS o),
        stopped AS (
          INSERT INTO purpose_opt_out (account_id, phone_number, channel, purpose, source)
          SELECT account_id, address, 'WHATSAPP', 'marketing', 'NETWORK' FROM addresses
          ORDER BY account_id, person_of(address) ON CONFLICT DO NOTHING
          RETURNING account_id)
        UPDATE account SET has_opt_outs = true
        WHERE id IN (SELECT account_id FROM stopped) AND NOT has_opt_outs`,
  );
}

const sortedIds = (rows: readonly { readonly accountId: number }[]): number[] =>
  [...new Set(rows.map(({ accountId }) => accountId))].sort((a, b) => a - b);

/**
 * A SELECT of the persons of an account, each once, who want no messages on a channel; with `isMarketing`, also of those
 * who want no marketing.
 */
export function refusingPersonsSql(accountId: number, channel: Channel, isMarketing: boolean): Sql {
  const all = sql`SELECT person FROM opt_out WHERE account_id = ${accountId} AND channel = ${channel}`;
  return isMarketing
    ? sql`${all} UNION SELECT person FROM purpose_opt_out WHERE account_id = ${accountId} AND channel = ${channel}`
    : all;
}
