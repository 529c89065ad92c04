import { createHash, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';
import { recordAudit } from '../accounts/audit.ts';
import { every, type Task } from '../core/background.ts';
import type { Actor } from '../core/actor.ts';
import type { Purpose } from '../core/channels.ts';
import { bigint, rowsOf, text } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, maybeOne, one, raw, type RowOf, sql } from '../core/db/query.ts';
import { tenant, transaction } from '../core/db/transaction.ts';
import { AppError, type FieldError, invalidFields } from '../core/errors.ts';
import { type App, ErrorOut, type PlatformDeps, ref, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentHandler } from '../core/http/idempotency.ts';
import { newId } from '../core/ids.ts';
import { NUMBER_FAULTS, personOf, readNumber } from '../core/phone.ts';
import { instant, orNull, purposeSchema } from '../core/schema.ts';
import { foldText } from '../core/fold.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';
import type { Accept } from './accept.ts';
import { changeConsent, senderKey } from './consent.ts';
import { wordIn } from './consent-words.ts';
import { CONSENT_PAGES, consentPath } from './opt-out-links.ts';
import { newDraft, reasonOf } from './read-send.ts';
import { type InboundText, numberOf } from './stops.ts';

const PATH = '/api/partner-gateway/v1/opt-ins';
const tags = ['Contacts'];
/** Days after which a request that got no answer is over. */
const DAYS = 7;
/** Questions of one purpose to one person within 30 days: one, and a reminder. */
const MAX_ASKED = 2;
const ASKED_DAYS = 30;
const LINK = '{{link}}';

const OptInIn = Type.Object({
  to: Type.String({ maxLength: 50, description: 'The number with its country code.' }),
  purpose: Type.Optional(purposeSchema('What the person agrees to; by default `marketing`.')),
  mode: Type.Enum(['keyword', 'page'], {
    type: 'string',
    description:
      'How the person confirms: by a reply such as YES to the number that asked, or on a page whose link replaces `{{link}}` in the text.',
  }),
  text: Type.String({ minLength: 1, maxLength: 480, description: 'The question, as SMS.' }),
  sender: Type.Optional(Type.String({ maxLength: 64, description: 'A number that can be answered, for `keyword`.' })),
});
const STATES = ['PENDING', 'CONFIRMED', 'DECLINED', 'EXPIRED'] as const;
type State = (typeof STATES)[number];
const OptInOut = Type.Object({
  optInId: Type.String({ format: 'uuid' }),
  to: Type.String(),
  purpose: purposeSchema('What the person agrees to.'),
  state: Type.Enum([...STATES], { type: 'string' }),
  messageId: Type.String({ format: 'uuid', description: 'The message with the question.' }),
  askedAt: instant(),
  expiresAt: instant(`${DAYS} days later.`),
  decidedAt: orNull(instant()),
  proof: orNull(
    Type.Record(Type.String(), Type.Unknown(), { description: 'The question and the answer, with their times.' }),
  ),
});

type Deps = PlatformDeps & { readonly accept: Pick<Accept, 'once'> };

/** Registers the routes that ask people for their consent, and show what became of it. */
export function optInRoutes(app: App, deps: Deps): void {
  app.post(PATH, {
    onRequest: [requireScope('contacts'), requireScope('SMS')],
    schema: {
      tags,
      operationId: 'askForOptIn',
      summary: 'Ask a person to confirm an opt-in (double opt-in)',
      description:
        'Sends the question, and records the answer as a consent with its proof. 409 if the person has opted out or has ' +
        `agreed already, was asked ${MAX_ASKED} times within ${ASKED_DAYS} days, or if the message is rejected.`,
      body: withExamples(OptInIn, {
        to: '+393331234570',
        mode: 'keyword',
        text: 'Acme: reply YES to get our offers by SMS, up to 4 a month. STOP ends them.',
      }),
      response: { 201: OptInOut, 409: ref(ErrorOut) },
    },
    handler: idempotentHandler(deps, async ({ actor, body }, reply, pendingAnswer) => {
      const optInId = await ask(deps, actor, body);
      const row = await findOptIn(tenant(deps.pool, actor), { accountId: actor.accountId, optInId });
      if (!row) throw new AppError('unavailable');
      const out = toOut(row);
      reply.code(201);
      if (pendingAnswer) await deps.answers.storeSoon(pendingAnswer.seal(out));
      return out;
    }),
  });

  app.get(`${PATH}/:optInId`, {
    onRequest: requireScope('contacts'),
    schema: {
      tags,
      operationId: 'findOptIn',
      summary: 'Get what became of a question for an opt-in',
      params: Type.Object({ optInId: Type.String({ format: 'uuid' }) }),
      response: { 200: OptInOut },
    },
    handler: async ({ actor, params }) => {
      const row = await findOptIn(tenant(deps.pool, actor), { accountId: actor.accountId, ...params });
      if (!row) throw new AppError('not_found');
      return toOut(row);
    },
  });
}

const faultsOf = ({ mode, text, sender = '' }: Static<typeof OptInIn>): FieldError[] => [
  ...(mode === 'page' && !text.includes(LINK) ? [{ field: 'text', message: `must contain ${LINK}` }] : []),
  ...(mode === 'keyword' && /[^+\d]/.test(sender)
    ? [{ field: 'sender', message: 'must be a number: nobody can reply to a name' }]
    : []),
];

/** Sends a question and stores it, both or none. Errors: 400, 409. */
async function ask({ accept, config }: Deps, actor: Actor, input: Static<typeof OptInIn>): Promise<string> {
  const { mode, text, purpose = 'marketing', sender = '' } = input;
  const read = readNumber(input.to, actor.numberRules);
  const faults = [
    ...('fault' in read ? [{ field: 'to', message: NUMBER_FAULTS[read.fault] }] : []),
    ...faultsOf(input),
  ];
  if ('fault' in read || faults.length > 0) throw invalidFields(faults);
  const { accountId } = actor;
  const optInId = newId();
  const token = mode === 'page' ? randomBytes(16).toString('base64url') : null;
  const body = token === null ? text : text.replaceAll(LINK, `${config.publicUrl}${consentPath(accountId, token)}`);
  const draft = newDraft({ channel: 'SMS', source: 'API', destination: read.e164, sender, body, purpose: 'service' });
  const [verdict] = (await accept.once(actor, [draft], {
    claim: async (tx) => {
      await refuseDecided(tx, { accountId, phoneNumber: read.e164, purpose });
      return true;
    },
    async record(tx, [made]) {
      if (made?.kind !== 'accepted') return;
      const asked = {
        accountId,
        optInId,
        phoneNumber: read.e164,
        purpose,
        text,
        token,
        messageId: made.messageId,
      };
      await insertOptIn(tx, asked);
      const proof = { optInId, asked: text };
      const key = { accountId, phoneNumber: read.e164, channel: 'SMS', purpose, sender: '*' } as const;
      await changeConsent(tx, [{ ...key, state: 'PENDING', source: 'API', since: null, proof }]);
      await recordAudit(tx, actor, { action: 'consent.ask', subject: `opt-in:${optInId}`, detail: { mode, purpose } });
    },
  })) ?? [undefined];
  if (verdict?.kind !== 'accepted')
    throw new AppError('conflict', {
      message: verdict?.kind === 'refused' ? reasonOf(verdict) : 'The message was rejected',
    });
  return optInId;
}

type Asked = { readonly accountId: number; readonly phoneNumber: string; readonly purpose: Purpose };

/** Throws 409 if a person has already said yes or no to messages of a purpose, or was asked often enough. */
async function refuseDecided(tx: Db, { accountId, phoneNumber, purpose }: Asked): Promise<void> {
  const [decided] = await many<{ state: string }>(
    tx,
    sql`SELECT state FROM consent
        WHERE account_id = ${accountId} AND person = ${personOf(phoneNumber)} AND channel = 'SMS' AND sender = '*'
          AND purpose IN ('*', ${purpose}) AND state <> 'PENDING'
        ORDER BY state DESC LIMIT 1`,
  );
  if (decided)
    throw new AppError('conflict', {
      message: decided.state === 'OPTED_OUT' ? 'The person has opted out' : 'The person has agreed already',
    });
  // The count would miss a question that another transaction asks meanwhile.
  const lock = `opt-in ${accountId} ${personOf(phoneNumber)} ${purpose}`;
  await exec(tx, sql`SELECT pg_advisory_xact_lock(hashtextextended(${lock}, 0))`);
  const { count } = await one<{ count: number }>(
    tx,
    sql`SELECT count(*) AS count FROM opt_in
        WHERE account_id = ${accountId} AND person = ${personOf(phoneNumber)} AND purpose = ${purpose}
          AND asked_at > now() - make_interval(days => ${ASKED_DAYS})`,
  );
  if (count >= MAX_ASKED)
    throw new AppError('conflict', { message: `The person was asked ${MAX_ASKED} times within ${ASKED_DAYS} days` });
}

const wordsOf = (list: string): string[] => list.split(', ').map(foldText);
/** Replies that confirm or decline, each the whole message but for courtesies. */
const YES = new Set(
  wordsOf('yes, y, ok, okay, sì, si, sí, sim, oui, ja, tak, da, evet, ano, áno, igen, ναι, так, да, כן, نعم'),
);
const NO = new Set(wordsOf('no, n, non, não, nao, nein, nee, nie, nej, nei, ei, hayır, ne, nem, όχι, ні, нет, לא, لا'));

/**
 * Applies replies to questions for an opt-in, in the transaction that stores the messages. A word about all messages,
 * such as STOP, is none.
 */
export async function applyOptInReplies(
  tx: Db,
  messages: readonly (InboundText & { readonly said: unknown })[],
): Promise<void> {
  for (const { accountId, channel, source, destination, body, said } of messages) {
    const word = said === null && channel === 'SMS' && accountId > 0 ? wordIn(body) : null;
    const phoneNumber = word !== null && (YES.has(word) || NO.has(word)) ? numberOf({ channel, source }) : null;
    if (phoneNumber === null || word === null) continue;
    const open = await findAsked(tx, { accountId, phoneNumber, askedBy: senderKey(destination) });
    const isYes = YES.has(word);
    const decision = { isYes, source: isYes ? 'START' : 'STOP', by: { reply: body } } as const;
    if (open) await decide(tx, { accountId, ...open }, decision);
  }
}

/**
 * Finds the latest open question that a reply to one of our numbers answers. A name that asked takes no replies, and a
 * carrier may bring them under any number.
 */
const findAsked = (
  tx: Db,
  {
    accountId,
    phoneNumber,
    askedBy,
  }: { readonly accountId: number; readonly phoneNumber: string; readonly askedBy: string },
): Promise<{ optInId: string } | undefined> =>
  maybeOne(
    tx,
    sql`SELECT o.id AS "optInId" FROM opt_in o
        LEFT JOIN message m ON m.account_id = o.account_id AND m.id = o.message_id
        WHERE o.account_id = ${accountId} AND o.person = ${personOf(phoneNumber)} AND o.state = 'PENDING'
          AND o.token_hash IS NULL AND o.asked_at > now() - make_interval(days => ${DAYS})
          AND (m.id IS NULL OR m.sender !~ '^[+]?[0-9]+$' OR ltrim(m.sender, '+') = ${askedBy})
        ORDER BY o.id DESC LIMIT 1`,
  );

type Key = { readonly accountId: number; readonly optInId: string };
type Decision = {
  readonly isYes: boolean;
  readonly source: 'START' | 'STOP' | 'PAGE';
  readonly by: Readonly<Record<string, unknown>>;
};

/**
 * Records an answer, once, with its proof, and ends other open questions about the same. A yes counts only while nothing
 * else has been said since the question; a no always counts. Returns the state in which the question is then; undefined:
 * there is none.
 */
async function decide(tx: Db, key: Key, { isYes, source, by }: Decision): Promise<State | undefined> {
  const moved = await moveToDecided(tx, key, isYes ? 'CONFIRMED' : 'DECLINED', by);
  if (!moved) return (await findOptIn(tx, key))?.state;
  const { to: phoneNumber, purpose, proof } = moved;
  const { accountId } = key;
  const asked = { accountId, phoneNumber, purpose };
  await endOthers(tx, asked);
  const pending = await lockPending(tx, [asked]);
  if (isYes && (pending.length === 0 || (await hasOptedOut(tx, asked)))) {
    await updateState(tx, { ...key, state: 'EXPIRED' });
    return 'EXPIRED';
  }
  const state = isYes ? ('OPTED_IN' as const) : ('OPTED_OUT' as const);
  await changeConsent(tx, [{ ...asked, channel: 'SMS', sender: '*', source, since: null, state, proof }]);
  return moved.state;
}

/** Locks the records of persons who were asked and have said nothing else since, in the order of their keys. */
const lockPending = (tx: Db, asked: readonly Asked[]): Promise<Asked[]> =>
  many(
    tx,
    sql`SELECT c.account_id AS "accountId", c.phone_number AS "phoneNumber", c.purpose
        FROM consent c JOIN ${rowsOf(asked, {
          account_id: bigint((a) => a.accountId),
          person: text((a) => personOf(a.phoneNumber)),
          purpose: text((a) => a.purpose),
        })} AS u USING (account_id, person, purpose)
        WHERE c.channel = 'SMS' AND c.sender = '*' AND c.state = 'PENDING'
        ORDER BY c.account_id, c.person, c.channel, c.purpose, c.sender FOR UPDATE OF c`,
  );

const hasOptedOut = async (tx: Db, { accountId, phoneNumber, purpose }: Asked): Promise<boolean> =>
  (
    await many(
      tx,
      sql`SELECT FROM consent WHERE account_id = ${accountId} AND person = ${personOf(phoneNumber)} AND channel = 'SMS'
            AND purpose IN ('*', ${purpose}) AND state = 'OPTED_OUT' LIMIT 1`,
    )
  ).length > 0;

const endOthers = (tx: Db, { accountId, phoneNumber, purpose }: Asked): Promise<number> =>
  exec(
    tx,
    sql`UPDATE opt_in SET state = 'EXPIRED', decided_at = now()
        WHERE account_id = ${accountId} AND person = ${personOf(phoneNumber)} AND purpose = ${purpose} AND state = 'PENDING'`,
  );

const updateState = (tx: Db, { accountId, optInId, state }: Key & { readonly state: State }): Promise<number> =>
  exec(tx, sql`UPDATE opt_in SET state = ${state} WHERE account_id = ${accountId} AND id = ${optInId}`);

const BATCH = 500;

/** Ends questions that got no answer in time. Returns their number. */
export async function expireOptIns(pool: Pool): Promise<number> {
  let ended = 0;
  for (;;) {
    const count = await transaction(pool, expireSome);
    ended += count;
    if (count < BATCH) return ended;
  }
}

async function expireSome(tx: Db): Promise<number> {
  const over = await many<Asked>(
    tx,
    sql`UPDATE opt_in SET state = 'EXPIRED', decided_at = now() WHERE (account_id, id) IN (
          SELECT account_id, id FROM opt_in WHERE state = 'PENDING' AND asked_at < now() - make_interval(days => ${DAYS})
          LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
        RETURNING account_id AS "accountId", phone_number AS "phoneNumber", purpose`,
  );
  const ended = { channel: 'SMS', sender: '*', state: 'UNKNOWN', source: 'API', since: null, proof: null } as const;
  const silent = over.length > 0 ? await listUnasked(tx, await lockPending(tx, over)) : [];
  await changeConsent(
    tx,
    silent.map((one) => ({ ...one, ...ended })),
  );
  return over.length;
}

/** Lists those of these persons to whom no other question of the same purpose, such as a reminder, is open. */
const listUnasked = (tx: Db, asked: readonly Asked[]): Promise<Asked[]> =>
  many(
    tx,
    sql`SELECT u.account_id AS "accountId", u.phone_number AS "phoneNumber", u.purpose
        FROM ${rowsOf(asked, {
          account_id: bigint((a) => a.accountId),
          phone_number: text((a) => a.phoneNumber),
          purpose: text((a) => a.purpose),
        })} AS u
        WHERE NOT EXISTS (
          SELECT FROM opt_in o
          WHERE o.account_id = u.account_id AND o.person = person_of(u.phone_number) AND o.purpose = u.purpose
            AND o.state = 'PENDING' AND o.asked_at >= now() - make_interval(days => ${DAYS}))`,
  );

/** The task that ends questions for an opt-in that got no answer. */
export const optInTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'unanswered opt-ins', work: every(HOUR_MS, () => expireOptIns(pool)) },
];

/** Records the answer from a page. Returns the state in which the question is then. */
export async function answerOnPage(
  tx: Db,
  asked: AskedOnPage,
  { isYes, ip }: { readonly isYes: boolean; readonly ip: string },
): Promise<State> {
  const by = { url: `${CONSENT_PAGES}${asked.optInId}`, ip };
  return (await decide(tx, asked, { isYes, source: 'PAGE', by })) ?? asked.state;
}

/** A question as its page shows it. */
export type AskedOnPage = Key & { readonly state: State; readonly account: string; readonly to: string };

/** State of a question now: the task that ends questions runs once an hour. */
const STATE_NOW = `CASE WHEN state = 'PENDING' AND asked_at <= now() - make_interval(days => ${DAYS}) THEN 'EXPIRED' ELSE state END`;

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Finds the question of a token; undefined: there is none. */
export const findByToken = (
  db: Db,
  { accountId, token }: { readonly accountId: number; readonly token: string },
): Promise<AskedOnPage | undefined> =>
  maybeOne(
    db,
    sql`SELECT o.account_id AS "accountId", o.id AS "optInId", ${raw(STATE_NOW.replaceAll('state', 'o.state'))} AS state, a.name AS account, o.phone_number AS "to"
        FROM opt_in o JOIN account a ON a.id = o.account_id AND a.status = 'active'
        WHERE o.token_hash = ${hashOf(token)} AND o.account_id = ${accountId}`,
  );

const OPT_IN = columns({
  optInId: as<string>('id'),
  to: as<string>('phone_number'),
  purpose: as<Purpose>('purpose'),
  state: as<State>(STATE_NOW),
  messageId: as<string>('message_id'),
  askedAt: as<Date>('asked_at'),
  decidedAt: as<Date | null>('decided_at'),
  proof: as<Record<string, unknown> | null>('proof'),
});
type Row = RowOf<typeof OPT_IN>;

const toOut = ({ askedAt, decidedAt, ...row }: Row): Static<typeof OptInOut> => ({
  ...row,
  askedAt: askedAt.toISOString(),
  expiresAt: new Date(askedAt.getTime() + DAYS * DAY_MS).toISOString(),
  decidedAt: decidedAt && decidedAt.toISOString(),
});

const findOptIn = (db: Db, { accountId, optInId }: Key): Promise<Row | undefined> =>
  maybeOne(db, sql`SELECT ${OPT_IN} FROM opt_in WHERE account_id = ${accountId} AND id = ${optInId}`);

type NewOptIn = Asked & Key & { readonly text: string; readonly token: string | null; readonly messageId: string };

const insertOptIn = (
  tx: Db,
  { accountId, optInId, phoneNumber, purpose, text, token, messageId }: NewOptIn,
): Promise<number> =>
  exec(
    tx,
    sql`INSERT INTO opt_in (account_id, id, phone_number, purpose, text, token_hash, message_id)
        VALUES (${accountId}, ${optInId}, ${phoneNumber}, ${purpose}, ${text}, ${token && hashOf(token)}, ${messageId})`,
  );

/** Moves an open question to its answer. Returns nothing if it is not open. */
const moveToDecided = (
  tx: Db,
  { accountId, optInId }: Key,
  state: State,
  by: Readonly<Record<string, unknown>>,
): Promise<Row | undefined> =>
  maybeOne(
    tx,
    sql`UPDATE opt_in SET state = ${state}, decided_at = now(), proof = jsonb_build_object(
            'optInId', id, 'asked', text, 'askedAt', asked_at, 'at', now(), 'number', phone_number)
          || ${JSON.stringify(by)}::jsonb
        WHERE account_id = ${accountId} AND id = ${optInId} AND state = 'PENDING'
          AND asked_at > now() - make_interval(days => ${DAYS})
          AND asked_at > now() - make_interval(days => ${DAYS})
        RETURNING ${OPT_IN}`,
  );
