import { CHANNEL, CHANNELS, type Channel } from '../core/channels.ts';
import { type Db, exec, sql } from '../core/db/query.ts';
import { isUserId, personOf, toE164 } from '../core/phone.ts';
import { ALL_MESSAGES, type ConsentChange, changeConsent, type OptOut, optIn, senderKey } from './consent.ts';
import { answerTo, loadConsentSettings, revokesAll, type SettingsOf, wordsAt } from './consent-settings.ts';
import { type Said, saidIn } from './consent-words.ts';
import { deleteErased, type HashOfPerson } from './erased.ts';
import { type Key, messagesByKey } from './store.ts';

/** A text from a handset. `source` is the person's number and `destination` ours, as the carrier writes them. */
export type InboundText = {
  readonly accountId: number;
  readonly channel: Channel;
  readonly source: string;
  readonly destination: string;
  readonly body: string;
};

/** What a message says about further messages by the words of its account, and the answer that it gets. */
export type Heard = { readonly said: Said | null; readonly answer: string | null };

/** Adds to messages what they say about further messages, in the transaction that stores them. */
export async function hear<M extends InboundText>(tx: Db, messages: readonly M[]) {
  const settingsOf = await loadConsentSettings(
    tx,
    messages.map(({ accountId }) => accountId),
  );
  const heard = messages.map((message): M & Heard => {
    const settings = settingsOf(message.accountId);
    const said = saidIn(message.body, wordsAt(settings, message.destination));
    return { ...message, said, answer: said && answerTo(settings, said, message.destination) };
  });
  return { heard, settingsOf };
}

type Spoken = Omit<InboundText, 'body'> & Pick<Heard, 'said'>;

/**
 * Applies STOP and START in the transaction that stores the messages. If one number sent several, the last one counts.
 */
export async function applyConsentWords(
  tx: Db,
  messages: readonly Spoken[],
  settingsOf: SettingsOf,
  now = new Date(),
): Promise<void> {
  const last = new Map<string, OptOut & { readonly says: string }>();
  for (const { accountId, channel, source, destination, said } of messages) {
    const phoneNumber = said && numberOf({ channel, source });
    if (phoneNumber === null || said === null || said.says === 'HELP') continue;
    const sender = settingsOf(accountId).scope === 'sender' ? senderKey(destination) : '*';
    const row = { accountId, phoneNumber, channel, sender, source: said.says, says: said.says } as const;
    last.set(`${accountId}/${personOf(phoneNumber)}/${channel}/${sender}`, row);
  }
  const { STOP = [], START = [] } = Object.groupBy([...last.values()], ({ says }) => says);
  await changeConsent(tx, stopsOf(STOP, settingsOf, now));
  await optIn(tx, START, { asOptIn: true });
}

/** Returns the changes that follow from a STOP: of the channel and, where the rules say so, of all marketing. */
export function stopsOf(stops: readonly OptOut[], settingsOf: SettingsOf, now: Date): ConsentChange[] {
  const changes = stops.flatMap(({ accountId, phoneNumber, channel, source, sender = '*' }): ConsentChange[] => {
    const person = { accountId, phoneNumber, source, state: 'OPTED_OUT', since: null, proof: null } as const;
    const all = revokesAll(settingsOf(accountId), phoneNumber, now) ? CHANNELS : [];
    return [
      { ...person, channel, ...ALL_MESSAGES, sender },
      ...all.map((each) => ({ ...person, channel: each, purpose: 'marketing', sender: '*' }) as const),
    ];
  });
  const keyed = changes.map(
    (row) =>
      [JSON.stringify([row.accountId, personOf(row.phoneNumber), row.channel, row.purpose, row.sender]), row] as const,
  );
  return [...new Map(keyed).values()];
}

/**
 * Returns the number of a person in E.164, or the user id of a person without a visible number; null for anything else.
 */
export const numberOf = ({ channel, source }: Pick<InboundText, 'channel' | 'source'>): string | null =>
  toE164(source) ?? (CHANNEL[channel].userIds && isUserId(source) ? source : null);

/** A person's choice by the network's own button; `source` is the number or user id as the network writes it. */
type Choice = Pick<InboundText, 'accountId' | 'channel' | 'source'> & {
  /** False: the person has stopped marketing messages. */
  readonly subscribed: boolean;
  /** The time of the choice, where the network tells it. */
  readonly at: Date | null;
};

/**
 * Applies choices about marketing in the caller's transaction: messages with another purpose are sent as before. Of
 * several choices of a person, the latest counts.
 */
export async function applyMarketingChoices(tx: Db, choices: readonly Choice[]): Promise<void> {
  const last = new Map<string, ConsentChange>();
  for (const { accountId, channel, source, subscribed, at } of choices.toSorted(byTime)) {
    const phoneNumber = numberOf({ channel, source });
    if (phoneNumber === null) continue;
    const person = { accountId, phoneNumber, channel };
    const state = subscribed ? 'OPTED_IN' : 'OPTED_OUT';
    last.set(`${accountId}/${personOf(phoneNumber)}/${channel}`, { ...person, ...MARKETING, state, since: at });
  }
  await changeConsent(tx, [...last.values()]);
}

const MARKETING = { purpose: 'marketing', sender: '*', source: 'NETWORK', proof: null } as const;

const byTime = (a: Choice, b: Choice): number => Number(a.at ?? 0) - Number(b.at ?? 0);

/**
 * Records that the recipients of WhatsApp messages have stopped marketing, because the network rejected the messages
 * for that reason, in the caller's transaction and with one statement. No event tells of it: each message has one.
 */
export async function recordMarketingStops(tx: Db, keys: readonly Key[]): Promise<void> {
  if (keys.length === 0) return;
  const { purpose, sender, source } = MARKETING;
  await exec(
    tx,
    sql`WITH refused AS (
          SELECT m.account_id, m.destination, person_of(m.destination) AS person FROM ${messagesByKey(keys)}
          WHERE m.channel = 'WHATSAPP'),
        addresses AS (
          SELECT account_id, destination AS address FROM refused
          UNION SELECT r.account_id, o FROM refused r CROSS JOIN LATERAL other_addresses(r.account_id, r.person) AS o),
        persons AS (
          SELECT DISTINCT ON (account_id, person_of(address)) account_id, address FROM addresses
          ORDER BY account_id, person_of(address)),
        stopped AS (
          INSERT INTO consent AS c (account_id, phone_number, channel, purpose, sender, state, source)
          SELECT account_id, address, 'WHATSAPP', ${purpose}, ${sender}, 'OPTED_OUT', ${source} FROM persons
          ON CONFLICT (account_id, person, channel, purpose, sender) DO UPDATE
            SET state = excluded.state, source = excluded.source, since = now(), proof = NULL WHERE c.state <> excluded.state
          RETURNING account_id, phone_number, channel, purpose, sender, state, source),
        noted AS (
          INSERT INTO consent_change (account_id, phone_number, channel, purpose, sender, state, source)
          SELECT * FROM stopped)
        UPDATE account SET has_opt_outs = true
        WHERE id IN (SELECT account_id FROM stopped) AND NOT has_opt_outs`,
  );
}

type Arrival = Pick<InboundText, 'accountId' | 'channel' | 'source'> & { readonly said?: Said | null };

/**
 * Lets erased persons be written to again when they write START themselves, in the transaction that stores the message;
 * then calls the other listener.
 */
export const withReturns =
  <A extends Arrival>(hashOf: HashOfPerson, next: (tx: Db, arrivals: readonly A[]) => Promise<void>) =>
  async (tx: Db, arrivals: readonly A[]): Promise<void> => {
    const returns = arrivals.flatMap(({ accountId, channel, source, said }) => {
      const phoneNumber = said?.says === 'START' ? numberOf({ channel, source }) : null;
      return phoneNumber === null ? [] : [{ accountId, phoneNumber, at: null }];
    });
    await deleteErased(tx, hashOf, returns);
    await next(tx, arrivals);
  };
