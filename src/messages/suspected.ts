import { type Static, Type } from 'typebox';
import { updateHasOptOuts } from '../accounts/accounts.ts';
import { type Author, recordAudit } from '../accounts/audit.ts';
import type { Channel } from '../core/channels.ts';
import { bigint, boolean, insertRows, text, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, many, one, type RowOf, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { channelName, instant, orNull } from '../core/schema.ts';
import { DAY_MS } from '../core/time.ts';
import { publishFacts } from '../webhooks/outbox.ts';
import { changeConsent, senderKey } from './consent.ts';
import { loadConsentSettings } from './consent-settings.ts';
import { wishIn } from './consent-words.ts';
import { underOtherAddresses } from './person-aliases.ts';
import { type Heard, type InboundText, numberOf, stopsOf } from './stops.ts';

/** A message that may be a wish for no more messages. */
type Wish = InboundText & Pick<Heard, 'said'> & { readonly id: string };

/**
 * Notes messages that probably ask for no more messages in other words than the usual ones, in the transaction that
 * stores them: marketing to their persons waits until a user decides, for 48 hours at most.
 */
export async function noteWishes(tx: Db, messages: readonly Wish[]): Promise<void> {
  const wishes = messages.flatMap(({ accountId, id, channel, source, destination, said, body }) => {
    const phoneNumber = said === null && accountId > 0 && wishIn(body) !== null ? numberOf({ channel, source }) : null;
    return phoneNumber === null ? [] : [{ accountId, id, phoneNumber, channel, sender: senderKey(destination) }];
  });
  if (wishes.length === 0) return;
  const own = wishes.map((row) => ({ ...row, isAlias: false }));
  const others = (await underOtherAddresses(tx, own)).map((row) => ({ ...row, isAlias: true }));
  const noted = await many<{ id: string }>(
    tx,
    sql`${insertRows('suspected_opt_out', [...own, ...others], {
      accountId: bigint,
      id: uuid,
      phoneNumber: text,
      channel: text,
      sender: text,
      isAlias: boolean,
    })}
        ORDER BY u.account_id, person_of(u.phone_number), u.channel, u.is_alias
        ON CONFLICT (account_id, person, channel) WHERE decided_at IS NULL DO NOTHING RETURNING id`,
  );
  const isNew = new Set(noted.map(({ id }) => id));
  const fresh = wishes.filter(({ id }) => isNew.has(id));
  await updateHasOptOuts(tx, {
    accountIds: [...new Set(fresh.map(({ accountId }) => accountId))].sort((a, b) => a - b),
  });
  await publishFacts(
    tx,
    fresh.map(({ accountId, id, phoneNumber, channel }) => ({
      accountId,
      type: 'consent.suspected',
      about: phoneNumber,
      data: { messageId: id, phoneNumber, channel },
    })),
  );
}

const Suspected = Type.Object({
  messageId: Type.String({ format: 'uuid' }),
  to: Type.String({ description: 'The person: a number in E.164, or a user ID.' }),
  channel: channelName(),
  text: orNull(Type.String({ description: 'What the person wrote; null: it was deleted.' })),
  chatId: orNull(Type.String({ format: 'uuid' })),
  since: instant(),
  holdsUntil: instant('Marketing to the person waits until then.'),
  decideBy: instant('The end of ten business days, within which such a wish has to be honoured in the United States.'),
});
const Decision = Type.Object({
  decision: Type.Enum(['OPT_OUT', 'DISMISS'], {
    type: 'string',
    description: 'OPT_OUT: as if the person had written STOP. DISMISS: it was not a wish for no more messages.',
  }),
});

const PATH = '/api/partner-gateway/v1/consents/suspected';
const tags = ['Contacts'];
/** The most that are listed: a person can have one for each channel. */
const MAX_LISTED = 1000;

/** Registers the routes for messages that probably ask for no more messages. */
export function suspectedRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;

  app.get(PATH, {
    onRequest: requireScope('inbox'),
    schema: {
      tags,
      operationId: 'listSuspectedOptOuts',
      summary: 'List the messages that probably ask for no more messages, the oldest first',
      description: `Undecided ones, at most ${MAX_LISTED}.`,
      response: { 200: Type.Array(Suspected) },
    },
    handler: async ({ actor }) => (await listOpen(tenant(pool, actor), actor)).map(toSuspectedOut),
  });

  app.post(`${PATH}/:messageId`, {
    onRequest: requireScope('inbox'),
    schema: {
      tags,
      operationId: 'decideSuspectedOptOut',
      summary: 'Decide whether a message asks for no more messages',
      params: Type.Object({ messageId: Type.String({ format: 'uuid' }) }),
      body: withExamples(Decision, { decision: 'OPT_OUT' }),
      response: { 200: withExamples(Decision, { decision: 'OPT_OUT' }) },
    },
    handler: idempotentTx(deps, 200, ({ actor, params, body }, tx) => decide(tx, actor, { ...params, ...body })),
  });
}

/** Ten business days are fourteen days at least. */
const DECIDE_MS = 14 * DAY_MS;
const HOLD_MS = 2 * DAY_MS;

const toSuspectedOut = ({ since, ...row }: OpenRow): Static<typeof Suspected> => ({
  ...row,
  since: since.toISOString(),
  holdsUntil: new Date(since.getTime() + HOLD_MS).toISOString(),
  decideBy: new Date(since.getTime() + DECIDE_MS).toISOString(),
});

/** Records the decision on a message. Errors: 404 if there is none to make. */
async function decide(
  tx: Db,
  author: Author,
  { messageId, decision }: { readonly messageId: string } & Static<typeof Decision>,
): Promise<Static<typeof Decision>> {
  const { accountId } = author;
  const decided = await updateDecision(tx, { accountId, messageId, decision });
  const [one] = decided.filter(({ isAlias }) => !isAlias);
  if (!one) throw new AppError('not_found');
  if (decision === 'OPT_OUT') {
    const settingsOf = await loadConsentSettings(tx, [accountId]);
    const sender = settingsOf(accountId).scope === 'sender' ? one.sender : '*';
    const stop = {
      accountId,
      phoneNumber: one.phoneNumber,
      channel: one.channel,
      sender,
      source: 'SUSPECTED' as const,
    };
    await changeConsent(tx, stopsOf([stop], settingsOf, new Date()));
  }
  const detail = { decision, channel: one.channel };
  await recordAudit(tx, author, { action: 'consent.decide', subject: `number:${one.phoneNumber}`, detail });
  return { decision };
}

const OPEN = columns({
  messageId: as<string>('s.id'),
  to: as<string>('s.phone_number'),
  channel: as<Channel>('s.channel'),
  text: as<string | null>('m.body'),
  chatId: as<string | null>('t.chat_id'),
  since: as<Date>('s.since'),
});
type OpenRow = RowOf<typeof OPEN>;

const listOpen = (db: Db, { accountId }: { accountId: number }): Promise<OpenRow[]> =>
  many(
    db,
    sql`SELECT ${OPEN} FROM suspected_opt_out s
        LEFT JOIN inbound_message m ON m.account_id = ${accountId} AND m.id = s.id
        LEFT JOIN inbox_message t ON t.account_id = ${accountId} AND t.id = s.id
        WHERE s.account_id = ${accountId} AND s.decided_at IS NULL AND NOT s.is_alias
        ORDER BY s.since LIMIT ${MAX_LISTED}`,
  );

const UNDECIDED = columns({
  subject: as<string>('a.name'),
  subjectId: as<number>('a.id'),
  count: as<number>('count(*)::int'),
  since: as<Date>('min(s.since)'),
});

/** Lists up to 20 accounts whose users have not decided about wishes for more than `days`. */
export const listUndecided = (db: Db, { days }: { readonly days: number }): Promise<RowOf<typeof UNDECIDED>[]> =>
  many(
    db,
    sql`SELECT ${UNDECIDED} FROM suspected_opt_out s JOIN account a ON a.id = s.account_id AND a.status = 'active'
        WHERE s.decided_at IS NULL AND NOT s.is_alias AND s.since < now() - ${days} * interval '1 day'
        GROUP BY a.id, a.name ORDER BY min(s.since), a.id LIMIT 20`,
  );

/** Counts the wishes of all accounts that wait for a decision, and returns the age of the oldest in seconds. */
export const countUndecided = (db: Db): Promise<{ count: number; oldestSeconds: number }> =>
  one(
    db,
    sql`SELECT count(*)::int AS count, coalesce(extract(epoch FROM now() - min(since)), 0)::int AS "oldestSeconds"
        FROM suspected_opt_out WHERE decided_at IS NULL AND NOT is_alias`,
  );

const DECIDED = columns({
  phoneNumber: as<string>('phone_number'),
  channel: as<Channel>('channel'),
  sender: as<string>('sender'),
  isAlias: as<boolean>('is_alias'),
});

const updateDecision = (
  tx: Db,
  { accountId, messageId, decision }: { accountId: number; messageId: string; decision: string },
): Promise<RowOf<typeof DECIDED>[]> =>
  many(
    tx,
    sql`UPDATE suspected_opt_out SET decided_at = now(), decision = ${decision}
        WHERE account_id = ${accountId} AND id = ${messageId} AND decided_at IS NULL
        RETURNING ${DECIDED}`,
  );
