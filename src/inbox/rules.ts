import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';
import { type Author, recordAudit } from '../accounts/audit.ts';
import type { Actor } from '../core/actor.ts';
import { bigint, rowsOf, text, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, maybeOne, plainArray, type RowOf, sql } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, type FieldError, invalidFields } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { type Job, job } from '../core/jobs.ts';
import { knownFieldsOf, orNull } from '../core/schema.ts';
import { type Clock, DAY_MS, HOUR_MS, isTimeZone, localTimeOf } from '../core/time.ts';
import type { Accept } from '../messages/accept.ts';
import type { ReceivedMessage } from '../messages/inbound.ts';
import { listRulesOf } from '../messages/keyword-store.ts';
import { findRule } from '../messages/keywords.ts';
import type { Draft } from '../messages/read-send.ts';
import { publishAssigned, publishInboxChanges } from './conversations.ts';
import { composeReply, insertReply } from './reply.ts';
import {
  CHANGED_CONVERSATION,
  type ChangedConversation,
  claimInboxes,
  findAssignableUser,
  findEndpoints,
} from './store.ts';

const Minute = (description: string) => Type.Integer({ minimum: 0, maximum: 1440, description });

const ASSIGNMENTS = ['MANUAL', 'ROUND_ROBIN'] as const;

export const InboxSettings = Type.Object({
  assignment: Type.Enum([...ASSIGNMENTS], {
    type: 'string',
    description:
      'ROUND_ROBIN: an unassigned conversation goes to the available user who has waited longest, when the person writes.',
  }),
  closedAnswer: orNull(
    Type.String({
      minLength: 1,
      maxLength: 1000,
      pattern: String.raw`\S`,
      'x-message': 'must not be empty',
      description:
        'The automatic answer outside the opening hours, once for each conversation and closed period. Automatic messages ' +
        'and messages such as STOP are not answered. Null: none.',
    }),
  ),
  autoRead: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'True: people see that their messages were read when an agent opens the conversation (WhatsApp, RCS).',
    }),
  ),
  timeZone: Type.String({ maxLength: 64, description: 'Of the IANA database, such as Europe/Rome.' }),
  openHours: Type.Array(
    Type.Object({
      weekday: Type.Integer({ minimum: 1, maximum: 7, description: '1 is Monday, 7 Sunday.' }),
      from: Minute('The minute of the day at which it opens.'),
      to: Minute('The minute of the day at which it closes; 1440 is the end of the day.'),
    }),
    { maxItems: 50, description: 'Opening hours of the account. None: always open.' },
  ),
});
export type InboxSettings = Static<typeof InboxSettings>;

const Availability = Type.Object({
  available: Type.Boolean({ description: 'True if the rule may assign new conversations to you.' }),
});

const INBOX = '/api/partner-gateway/v1/inbox';
const tags = ['Inbox'];
const DEFAULTS: InboxSettings = {
  assignment: 'MANUAL',
  closedAnswer: null,
  autoRead: false,
  timeZone: 'UTC',
  openHours: [],
};

/** Registers the routes for the rules of an inbox: assignment, opening hours, and the availability of users. */
export function ruleRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(`${INBOX}/settings`, {
    onRequest: requireScope('inbox'),
    schema: {
      tags,
      operationId: 'findInboxSettings',
      summary: 'Get the settings of the inbox',
      description:
        'How conversations are assigned, when the account is open, and its automatic answer while it is closed.',
      response: { 200: InboxSettings },
    },
    handler: async ({ actor }) => {
      const row = await findSettings(tenant(pool, actor), { accountId: actor.accountId });
      if (!row) return DEFAULTS;
      const { accountId: _, ...settings } = row;
      return settings;
    },
  });

  app.put(`${INBOX}/settings`, {
    // As for keyword rules: changing them makes the account answer automatically.
    onRequest: [requireScope('inbox'), requireScope('webhooks')],
    schema: {
      tags,
      operationId: 'changeInboxSettings',
      summary: 'Change the settings of the inbox',
      description: 'Replaces all of them. Also needs the scope `webhooks`.',
      body: withExamples(InboxSettings, {
        assignment: 'ROUND_ROBIN',
        closedAnswer: 'We are closed now and answer from 9 on.',
        timeZone: 'Europe/Rome',
        openHours: [{ weekday: 1, from: 540, to: 1080 }],
      }),
      response: { 200: InboxSettings },
    },
    handler: ({ actor, body }) => tenantTransaction(pool, actor, (tx) => changeSettings(tx, actor, body)),
  });

  app.get(`${INBOX}/availability`, {
    onRequest: requireScope('inbox'),
    schema: {
      tags,
      operationId: 'findAvailability',
      summary: 'Get your availability for new conversations',
      response: { 200: Availability },
    },
    handler: async ({ actor: { accountId, userId }, actor }) => ({
      available: userId !== null && (await isAvailable(tenant(pool, actor), { accountId, userId })),
    }),
  });

  app.put(`${INBOX}/availability`, {
    onRequest: requireScope('inbox'),
    schema: {
      tags,
      operationId: 'changeAvailability',
      summary: 'Set your availability for new conversations',
      description: 'For users of the account who may reply; others and API keys get 403.',
      body: withExamples(Availability, { available: true }),
      response: { 204: Type.Null({ description: 'Done' }) },
    },
    handler: ({ actor, body }) => tenantTransaction(pool, actor, (tx) => setAvailable(tx, actor, body.available)),
  });
}

type Placed = ReceivedMessage & { readonly chatId: string };
type Arrived = {
  readonly messages: readonly Placed[];
  readonly changed: readonly ChangedConversation[];
  readonly now: Date;
};

/**
 * Applies the rules of accounts to conversations in which people have written: assigns unassigned ones, and queues the
 * automatic answers of closed accounts. Runs in the transaction that stores the messages, which has claimed the
 * inboxes.
 */
export async function applyRules(tx: Db, { messages, changed, now }: Arrived): Promise<void> {
  const accountIds = [...new Set(changed.map(({ accountId }) => accountId))];
  for (const settings of await listSettings(tx, { accountIds })) {
    const { accountId } = settings;
    const conversations = changed.filter((one) => one.accountId === accountId);
    if (settings.assignment === 'ROUND_ROBIN') await assignInTurn(tx, { accountId, conversations });
    const own = messages.filter((one) => one.accountId === accountId);
    await queueAutoAnswers(tx, settings, { messages: own, now });
  }
}

async function queueAutoAnswers(
  tx: Db,
  settings: SettingsRow,
  { messages, now }: Pick<Arrived, 'messages' | 'now'>,
): Promise<void> {
  const { accountId, closedAnswer } = settings;
  const period = findClosedPeriod(settings, now);
  if (closedAnswer === null || period === null) return;
  const rules = await listRulesOf(tx, { accountIds: [accountId] });
  const isAnsweredByKeyword = ({ destination: number, text }: Placed): boolean =>
    (findRule(rules, { number, text })?.answer ?? null) !== null;
  const asking = messages.filter(
    (one) => one.answer === null && mayBeAnswered(one, closedAnswer) && !isAnsweredByKeyword(one),
  );
  const rows = [...new Set(asking.map(({ chatId }) => chatId))].map((chatId) => ({ accountId, chatId, period }));
  if (rows.length === 0) return;
  const first = await moveToAnswered(tx, rows);
  const answers = rows.filter(({ chatId }) => first.has(chatId));
  const jobs = answers.map(({ chatId }) => ({ accountId, key: chatId, payload: { chatId, text: closedAnswer } }));
  await autoAnswer.add(tx, ...jobs);
}

/**
 * Assigns unassigned conversations of an account to its available users in turn, the one who has waited longest first.
 * The caller has claimed the inbox of the account, so that two conversations never count as the same turn.
 */
async function assignInTurn(
  tx: Db,
  { accountId, conversations }: { readonly accountId: number; readonly conversations: readonly ChangedConversation[] },
): Promise<void> {
  const free = conversations.filter(({ assigneeId }) => assigneeId === null);
  if (free.length === 0) return;
  const agents = await listAvailableAgents(tx, { accountId });
  const turns = free.flatMap(({ chatId }, place) => {
    const userId = agents[place % Math.max(1, agents.length)];
    return userId === undefined ? [] : [{ accountId, chatId, userId }];
  });
  if (turns.length === 0) return;
  const assigned = await moveToAgents(tx, turns);
  await updateTurns(tx, turns);
  await publishAssigned(tx, assigned);
}

/**
 * Takes the conversations of a user who is being removed back to no one, and the user out of the rule, in the caller's
 * transaction.
 */
export async function removeAgent(tx: Db, agent: Agent): Promise<void> {
  const { accountId } = agent;
  await claimInboxes(tx, { accountIds: [accountId] });
  await deleteAgent(tx, agent);
  const changed = await moveToUnassigned(tx, agent);
  await publishAssigned(
    tx,
    changed.map(({ chatId }) => ({ accountId, chatId, userId: null })),
  );
  const events = changed.map(({ chatId }) => ({ accountId, kind: 'conversation', chatId, messageId: null }) as const);
  await publishInboxChanges(tx, { changed, events });
}

/** Beginnings of automatic messages, in the languages of their phones. */
const AUTOMATIC =
  /^\W*(auto(matic|mated)?[ -]?(reply|response|answer)|out of (the )?office|i'?m driving|risposta automatica|fuori ufficio|respuesta autom[aá]tica|r[eé]ponse automatique|automatische antwort|abwesenheitsnotiz|resposta autom[aá]tica)/i;

/** A full phone number; shorter ones and names are services, which no person reads. */
const PERSON = /^\+?\d{9,15}$/;

type Written = Pick<ReceivedMessage, 'channel' | 'source' | 'text' | 'said'>;

/**
 * Returns true if an inbound message may get an automatic answer: not one about consent such as STOP, nor one that
 * appears to be automatic, nor one that repeats the automatic answer itself.
 */
export function mayBeAnswered({ channel, source, text, said }: Written, answer: string): boolean {
  if (said !== null && said.says !== 'HELP') return false;
  if (channel === 'SMS' && !PERSON.test(source)) return false;
  return !AUTOMATIC.test(text) && text.trim() !== answer.trim();
}

/** Replaces the settings of an inbox. Errors: 400 naming the invalid fields. */
async function changeSettings(tx: Db, author: Author, settings: InboxSettings): Promise<InboxSettings> {
  const faults: FieldError[] = [
    ...(isTimeZone(settings.timeZone) ? [] : [{ field: 'timeZone', message: 'is not a time zone' }]),
    ...settings.openHours.flatMap(({ from, to }, at) =>
      from < to ? [] : [{ field: `openHours[${at}].to`, message: 'must be later than from' }],
    ),
    ...(settings.closedAnswer !== null && settings.openHours.length === 0
      ? [{ field: 'openHours', message: 'are required for an automatic answer' }]
      : []),
  ];
  if (faults.length > 0) throw invalidFields(faults);
  const { assignment, closedAnswer, autoRead = false, timeZone } = settings;
  const changed = { ...knownFieldsOf(InboxSettings, settings), autoRead };
  await insertSettings(tx, { ...changed, accountId: author.accountId });
  const detail = { assignment, answers: closedAnswer !== null, autoRead, timeZone };
  await recordAudit(tx, author, { action: 'inbox-settings.change', subject: `account:${author.accountId}`, detail });
  return changed;
}

/**
 * Sets whether the caller gets new conversations by the rule. Errors: 403 unless the caller is a user of the account
 * who may reply.
 */
async function setAvailable(tx: Db, actor: Actor, available: boolean): Promise<void> {
  const { accountId, userId, kind } = actor;
  if (kind !== 'user' || userId === null || !(await findAssignableUser(tx, { accountId, userId })))
    throw new AppError('forbidden', { message: 'Only users of the account who may reply can be available' });
  await insertAvailability(tx, { accountId, userId, available });
}

/** A time of the week at which an account is open, in minutes of the day; `to` is up to 1440, the end of the day. */
export type OpenHours = {
  /** 1 is Monday, 7 Sunday. */
  readonly weekday: number;
  readonly from: number;
  readonly to: number;
};

type Opening = { readonly timeZone: string; readonly openHours: readonly OpenHours[] };

/**
 * Returns the closed period that contains an instant, by the local day and minute of its beginning; null while open. An
 * account without hours is never closed. The same period has the same name at each of its instants, also if the clocks
 * change within it.
 */
export function findClosedPeriod({ timeZone, openHours }: Opening, at: Date): string | null {
  if (openHours.length === 0) return null;
  const { weekday, minute } = localTimeOf(timeZone, at);
  const today = openHours.filter((hours) => hours.weekday === weekday);
  if (today.some(({ from, to }) => minute >= from && minute < to)) return null;
  for (let daysAgo = 0; daysAgo <= 7; daysAgo++) {
    const day = ((weekday - 1 - daysAgo + 7) % 7) + 1;
    const ends = openHours
      .filter((hours) => hours.weekday === day && (daysAgo > 0 || hours.to <= minute))
      .map(({ to }) => to);
    if (ends.length > 0) return `${dayBefore(timeZone, at, daysAgo)}/${Math.max(...ends)}`;
  }
  return null;
}

/** Returns the local date of an instant, or of a day some days before it. */
function dayBefore(timeZone: string, at: Date, days: number): string {
  const today = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).format(at);
  return new Date(Date.parse(`${today}T00:00:00Z`) - days * DAY_MS).toISOString().slice(0, 10);
}

/** A text that a conversation gets without a person. */
export type AutoAnswer = { readonly chatId: string; readonly text: string };
export type AutoAnswerDeps = { readonly pool: Pool; readonly accept: Pick<Accept, 'once'>; readonly clock: Clock };

/**
 * Automatic answers to conversations. An answer is made in the transaction that ends its job, so it is sent once,
 * whatever fails and however many workers try. Answers that cannot be sent, because the person has opted out or the
 * account lacks credit, are dropped.
 */
export const autoAnswer = job<AutoAnswer, AutoAnswerDeps>(
  'inbox.auto-answer',
  // An answer that comes later, as after a pause, confuses more than it helps.
  { concurrency: 20, pausable: true, activeOnly: true, maxAgeMs: HOUR_MS },
  (deps, one) => answerConversation(deps, one),
);

/** Sends an automatic answer in the transaction that ends its job. `more` overrides fields of the message. */
export async function answerConversation(
  { pool, accept, clock }: AutoAnswerDeps,
  { accountId, payload: { chatId, text }, end }: Job<AutoAnswer>,
  more: Partial<Draft> = {},
): Promise<void> {
  const ends = await findEndpoints(pool, { accountId, chatId });
  const composed =
    ends && (await composeReply({ pool, clock, findFile: noFile }, { accountId }, ends, { text }).catch(orInvalid));
  if (!ends || !composed) return;
  await accept.once({ accountId, keyId: null, userId: null }, [{ ...composed.draft, ...more }], {
    async claim(tx) {
      await claimInboxes(tx, { accountIds: [accountId] });
      return end(tx);
    },
    async record(tx, [verdict]) {
      if (verdict?.kind !== 'accepted') return;
      await insertReply(tx, { accountId, id: verdict.messageId, ends, composed, at: clock.now() });
    },
  });
}

const noFile = (): Promise<undefined> => Promise.resolve(undefined);

/** Drops an answer that the channel rejects, such as a text that is too long. */
function orInvalid(error: unknown): undefined {
  if (error instanceof AppError && error.code === 'invalid') return undefined;
  throw error;
}

type Of = { readonly accountId: number };

const SETTINGS = columns({
  accountId: as<number>('s.account_id'),
  assignment: as<InboxSettings['assignment']>('s.assignment'),
  closedAnswer: as<string | null>('s.closed_answer'),
  autoRead: as<boolean>('s.auto_read'),
  timeZone: as<string>('s.time_zone'),
  openHours: as<OpenHours[]>('s.open_hours'),
});
type SettingsRow = RowOf<typeof SETTINGS>;

const findSettings = (db: Db, { accountId }: Of): Promise<SettingsRow | undefined> =>
  maybeOne(db, sql`SELECT ${SETTINGS} FROM inbox_settings s WHERE s.account_id = ${accountId}`);

const listSettings = (db: Db, { accountIds }: { accountIds: readonly number[] }): Promise<SettingsRow[]> =>
  many(db, sql`SELECT ${SETTINGS} FROM inbox_settings s WHERE s.account_id = ANY(${plainArray(accountIds)}::bigint[])`);

export const insertSettings = (db: Db, row: InboxSettings & Of): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO inbox_settings (account_id, assignment, closed_answer, auto_read, time_zone, open_hours)
        VALUES (${row.accountId}, ${row.assignment}, ${row.closedAnswer}, ${row.autoRead ?? false}, ${row.timeZone},
          ${JSON.stringify(row.openHours)}::jsonb)
        ON CONFLICT (account_id) DO UPDATE SET assignment = excluded.assignment, closed_answer = excluded.closed_answer,
          auto_read = excluded.auto_read, time_zone = excluded.time_zone, open_hours = excluded.open_hours`,
  );

type Agent = Of & { readonly userId: number };

/** Returns true if the rule may assign conversations to a user. */
async function isAvailable(db: Db, { accountId, userId }: Agent): Promise<boolean> {
  const row = await maybeOne<{ available: boolean }>(
    db,
    sql`SELECT available FROM inbox_agent WHERE account_id = ${accountId} AND user_id = ${userId}`,
  );
  return row?.available ?? false;
}

export const insertAvailability = (db: Db, agent: Agent & { readonly available: boolean }): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO inbox_agent (account_id, user_id, available)
        VALUES (${agent.accountId}, ${agent.userId}, ${agent.available})
        ON CONFLICT (account_id, user_id) DO UPDATE SET available = excluded.available`,
  );

/** Lists the users of an account who are available and may reply, the one who has waited longest first. */
export async function listAvailableAgents(db: Db, { accountId }: Of): Promise<number[]> {
  const rows = await many<{ userId: number }>(
    db,
    sql`SELECT g.user_id AS "userId" FROM inbox_agent g
        JOIN app_user u ON u.account_id = g.account_id AND u.id = g.user_id AND u.role <> 'viewer'
        WHERE g.account_id = ${accountId} AND g.available ORDER BY g.assigned_at NULLS FIRST, g.user_id`,
  );
  return rows.map(({ userId }) => userId);
}

type Turn = Agent & { readonly chatId: string };

/** Assigns unassigned conversations. Returns those that were. */
const moveToAgents = (db: Db, turns: readonly Turn[]): Promise<Turn[]> =>
  many(
    db,
    sql`UPDATE conversation c SET assignee_id = u.user_id
        FROM ${rowsOf(turns, {
          account_id: bigint((t) => t.accountId),
          chat_id: uuid((t) => t.chatId),
          user_id: bigint((t) => t.userId),
        })} AS u
        WHERE c.account_id = u.account_id AND c.chat_id = u.chat_id AND c.assignee_id IS NULL
        RETURNING c.account_id AS "accountId", c.chat_id AS "chatId", c.assignee_id AS "userId"`,
  );

const moveToUnassigned = (db: Db, { accountId, userId }: Agent): Promise<ChangedConversation[]> =>
  many(
    db,
    sql`UPDATE conversation c SET assignee_id = NULL
        WHERE c.account_id = ${accountId} AND c.assignee_id = ${userId} RETURNING ${CHANGED_CONVERSATION}`,
  );

const deleteAgent = (db: Db, { accountId, userId }: Agent): Promise<number> =>
  exec(db, sql`DELETE FROM inbox_agent WHERE account_id = ${accountId} AND user_id = ${userId}`);

/** Records that these users had their turn; the later one in the list waits longer. */
const updateTurns = (db: Db, turns: readonly Agent[]): Promise<number> =>
  exec(
    db,
    sql`UPDATE inbox_agent g SET assigned_at = clock_timestamp() + u.place * interval '1 microsecond'
        FROM (SELECT account_id, user_id, max(place) AS place FROM ${rowsOf(turns, {
          account_id: bigint((t) => t.accountId),
          user_id: bigint((t) => t.userId),
          place: bigint((t) => turns.indexOf(t)),
        })} AS v GROUP BY 1, 2) AS u
        WHERE g.account_id = u.account_id AND g.user_id = u.user_id`,
  );

/**
 * Records in conversations that they get the automatic answer of a closed period. Returns those that had not got it
 * yet.
 */
async function moveToAnswered(
  db: Db,
  rows: readonly (Of & { readonly chatId: string; readonly period: string })[],
): Promise<Set<string>> {
  const moved = await many<{ chatId: string }>(
    db,
    sql`UPDATE conversation c SET answered_period = u.period
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          chat_id: uuid((r) => r.chatId),
          period: text((r) => r.period),
        })} AS u
        WHERE c.account_id = u.account_id AND c.chat_id = u.chat_id AND c.answered_period IS DISTINCT FROM u.period
        RETURNING c.chat_id AS "chatId"`,
  );
  return new Set(moved.map(({ chatId }) => chatId));
}
