import type { Pool } from 'pg';
import { every, type Task } from '../core/background.ts';
import type { Channel, Purpose } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { foldText } from '../core/fold.ts';
import { type Job, job, type Outcome } from '../core/jobs.ts';
import type { Log } from '../core/log.ts';
import { mailOrDrop } from '../core/mail.ts';
import type { Poster, PostResult } from '../core/outbound-post.ts';
import { personOf, toE164 } from '../core/phone.ts';
import type { SecretKey } from '../core/secrets.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';
import { type Endpoint, findEndpoint, openSecrets } from '../webhooks/endpoints.ts';
import { retryDelayMs, signedHeaders, timestampOf } from '../webhooks/send.ts';
import type { Accept } from './accept.ts';
import { type Said, saidIn } from './consent-words.ts';
import * as db from './keyword-store.ts';
import { deleteOldCounts } from './keyword-store.ts';
import { type Draft, newDraft, REFUSALS } from './read-send.ts';

/** A whole message from a person to a number of an account. */
type Received = {
  readonly accountId: number;
  readonly id: string;
  readonly channel: Channel;
  /** The person, and the number that they wrote to, both as the carrier writes them, without a plus. */
  readonly source: string;
  readonly destination: string;
  readonly body: string;
  /** Omitted: what it says by the words that every account has. */
  readonly said?: Said | null;
};

/** Messages that keywords make for one person and number in an hour: stops two machines that reply to each other. */
export const MAX_PER_HOUR = 5;

/**
 * Queues the replies and copies that inbound messages request by their keywords, in the transaction that stores them. A
 * STOP message has no keyword: it gets no reply. Replies go to SMS from numbers only.
 */
export async function reactToKeywords(tx: Db, received: readonly Received[], now = new Date()): Promise<void> {
  const accountIds = [...new Set(received.map(({ accountId }) => accountId))];
  if (accountIds.length === 0) return;
  const rules = Map.groupBy(await db.listRulesOf(tx, { accountIds }), ({ accountId }) => accountId);
  if (rules.size === 0) return;
  const actions = received.flatMap((message) => actionsOf(message, rules.get(message.accountId) ?? []));
  const allowed = await withinLimit(tx, actions, now);
  const jobs = allowed.map(({ action }) => ({ accountId: action.accountId, key: null, payload: action }));
  await keywordReply.add(tx, ...jobs.filter(({ payload }) => payload.kind !== 'post'));
  await keywordPost.add(tx, ...jobs.filter(({ payload }) => payload.kind === 'post'));
}

/** A reply or a copy of a rule. */
type Action = {
  readonly accountId: number;
  readonly inboundId: string;
  readonly kind: 'answer' | TargetKind;
  readonly ruleId: number;
  readonly keyword: string;
  /** The person, or the target of the copy. */
  readonly target: string;
  /** The text of a reply; null for a copy. */
  readonly answer: string | null;
  readonly purpose: Purpose;
};
type Wanted = { readonly action: Action; readonly pair: db.Pair };

function actionsOf(message: Received, rules: readonly db.KeywordRule[]): Wanted[] {
  const { accountId, id: inboundId, channel, source, destination: number, body } = message;
  if ((message.said ?? saidIn(body))?.says === 'STOP') return [];
  const rule = findRule(rules, { number, text: body });
  if (rule === undefined) return [];
  const { id: ruleId, keyword, answer, forwardTo, purpose } = rule;
  const common = { accountId, inboundId, ruleId, keyword, purpose };
  const person = toE164(source);
  const isAnswered = answer !== null && channel === 'SMS' && person !== null;
  // A copy to the sender would come back.
  const isCopied = forwardTo !== null && (person === null || personOf(forwardTo) !== personOf(person));
  const pair = { accountId, number, person: person === null ? source : personOf(person) };
  return [
    ...(isAnswered ? [{ pair, action: { ...common, kind: 'answer' as const, target: person, answer } }] : []),
    ...(isCopied
      ? [{ pair, action: { ...common, kind: kindOfTarget(forwardTo), target: forwardTo, answer: null } }]
      : []),
  ];
}

/** True if an action sends a message, to which a machine may reply. */
const isMessage = ({ action }: Wanted): boolean => action.kind === 'answer' || action.kind === 'sms';

/** Omits messages beyond the limit of their pair. All count, so that workers need not wait for one another. */
async function withinLimit(tx: Db, wanted: readonly Wanted[], now: Date): Promise<Wanted[]> {
  const counted = Map.groupBy(wanted.filter(isMessage), ({ pair }) => keyOf(pair));
  if (counted.size === 0) return [...wanted];
  const hour = new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS);
  const own = [...counted.values()].flatMap((list) => {
    const [first] = list;
    return first ? [{ ...first.pair, messages: list.length }] : [];
  });
  const counts = await db.insertCounts(tx, { counts: own.toSorted(byKey), hour });
  const left = new Map(
    counts.map((row) => {
      const before = row.messages - (counted.get(keyOf(row))?.length ?? 0);
      return [keyOf(row), MAX_PER_HOUR - before];
    }),
  );
  return wanted.filter((one) => {
    if (!isMessage(one)) return true;
    const rest = left.get(keyOf(one.pair)) ?? 0;
    left.set(keyOf(one.pair), rest - 1);
    return rest > 0;
  });
}

const byKey = (a: db.Pair, b: db.Pair): number => (keyOf(a) < keyOf(b) ? -1 : 1);

const keyOf = ({ accountId, number, person }: db.Pair): string => JSON.stringify([accountId, number, person]);

/** An accepted reply to the sender of an inbound message, with its text. */
type Answered = { readonly accountId: number; readonly messageId: string; readonly draft: Draft };

/** A listener for replies, called in the transaction that makes one. `claim` acquires its locks before any others. */
export type OnAnswer = {
  claim(tx: Db, account: { readonly accountId: number }): Promise<unknown>;
  record(tx: Db, answered: Answered): Promise<unknown>;
};

export type KeywordDeps = {
  readonly pool: Pool;
  readonly onAnswer: OnAnswer;
  readonly accept: Pick<Accept, 'once'>;
  readonly poster: Pick<Poster, 'post'>;
  readonly secretKey: SecretKey;
  readonly log: Log;
};

const MAIL_VALID_MS = DAY_MS;

const PATIENT = { concurrency: 20, pausable: true, activeOnly: true, maxAgeMs: 3 * DAY_MS };

/**
 * Replies, and copies by SMS and email. Each is made in the transaction that ends its job, so it is made once, whatever
 * fails and however many workers try.
 */
export const keywordReply = job<Action, KeywordDeps>('keyword.reply', PATIENT, async (deps, { payload, end }) => {
  const message = await db.findReceived(deps.pool, payload);
  if (message === undefined) return;
  const due = { ...payload, ...message, end };
  await (payload.kind === 'mail' ? mailCopy(deps, due) : sendMessage(deps, due));
});

/**
 * Copies to URLs, each posted at least once, and for about two days. They wait for their receiver, and those of other
 * accounts must not.
 */
export const keywordPost = job<Action, KeywordDeps>(
  'keyword.post',
  { ...PATIENT, perAccount: 5 },
  async (deps, { payload, tries }) => {
    const message = await db.findReceived(deps.pool, payload);
    return message && postCopy(deps, { ...payload, ...message }, tries);
  },
);

type Copied = Action & db.Received;
type Due = Copied & Pick<Job<Action>, 'end'>;

/** Matches a full phone number; shorter ones are short codes, even if they begin like a country code. */
const LONG_NUMBER = /^\d{9,15}$/;

/** Sends a reply, or a copy by SMS, from the number that was written to. */
async function sendMessage({ accept, onAnswer }: KeywordDeps, action: Due): Promise<void> {
  const { accountId, target: destination, answer, source, body, destination: number } = action;
  // A copy goes to a colleague, and belongs to no conversation.
  const isAnswer = action.kind === 'answer';
  const draft = newDraft({
    channel: 'SMS',
    source: 'INBOX',
    destination,
    isKnownNumber: true,
    sender: LONG_NUMBER.test(number) ? (toE164(number) ?? number) : number,
    // The words of a person are data: an `{{optout}}` in them is not a link.
    body: answer ?? '{{copy}}',
    ...(answer === null && { values: { copy: `+${source}: ${body}` } }),
    purpose: isAnswer ? action.purpose : 'service',
  });
  await accept.once({ accountId, keyId: null, userId: null }, [draft], {
    async claim(tx) {
      if (isAnswer) await onAnswer.claim(tx, { accountId });
      return action.end(tx);
    },
    async record(tx, [verdict]) {
      if (verdict?.kind === 'refused') await noteFault(tx, action, REFUSALS[verdict.refusal]);
      if (verdict?.kind === 'accepted' && isAnswer)
        await onAnswer.record(tx, { accountId, messageId: verdict.messageId, draft });
    },
  });
}

const noteFault = (to: Db, { accountId, ruleId }: Action, fault: string) =>
  db.updateFault(to, { accountId, id: ruleId, fault });

/** Queues a copy by email; one above the limit is dropped, and its rule shows that. */
async function mailCopy(deps: KeywordDeps, action: Due): Promise<void> {
  const { accountId, source, destination, body, target } = action;
  const mail = {
    kind: 'copy' as const,
    to: target,
    subject: `SMS from ${source} to ${destination}`.replaceAll(/[\r\n]/g, ' '),
    text: body,
    accountId,
    expiresAt: new Date(Date.now() + MAIL_VALID_MS),
  };
  await transaction(deps.pool, async (tx) => {
    if (!(await action.end(tx))) return;
    const usedUp = await mailOrDrop(tx, deps, mail);
    if (usedUp) await noteFault(tx, action, MAIL_FAULTS[usedUp.of]);
  });
}

const MAIL_FAULTS = {
  recipient: 'too many emails to this address: the copy was dropped',
  account: 'too many emails of the account in a day: the copy was dropped',
} as const;

/** Posts a copy, and returns when it is posted again. */
async function postCopy(deps: KeywordDeps, copy: Copied, tries: number): Promise<Outcome<Action> | undefined> {
  const posted = await post(deps, copy);
  if (posted.kind === 'answered' && posted.status >= 200 && posted.status < 300) return undefined;
  await noteFault(deps.pool, copy, posted.kind === 'failed' ? posted.reason : `the receiver returned ${posted.status}`);
  const inMs = retryDelayMs(tries, posted.kind === 'answered' ? posted.retryAfterMs : null);
  return inMs === null ? undefined : { kind: 'retry', inMs };
}

/**
 * Posts a copy, signed like the account's webhooks and with their secrets; without a webhook there is none to sign
 * with.
 */
async function post({ pool, poster, secretKey }: KeywordDeps, action: Copied): Promise<PostResult> {
  const { accountId, inboundId: id, target: url } = action;
  const body = JSON.stringify(toCopy(action));
  const at = new Date();
  const endpoint = await findEndpoint(pool, { accountId });
  const secrets = endpoint ? secretsOf(secretKey, endpoint, at) : [];
  if (secrets === null)
    return { kind: 'failed', reason: 'the gateway cannot open its secret: rotate it', durationMs: 0 };
  const headers =
    secrets.length > 0
      ? signedHeaders({ id, timestamp: timestampOf(at), body, secrets })
      : { 'content-type': 'application/json' };
  return poster.post({ url, headers: { ...headers, 'idempotency-key': id }, body });
}

/** Returns null if they were sealed with another SECRET_KEY. */
function secretsOf(key: SecretKey, endpoint: Endpoint, at: Date): readonly string[] | null {
  try {
    return openSecrets(key, endpoint, at);
  } catch {
    return null;
  }
}

const toCopy = ({ inboundId, channel, source, destination, body, keyword, receivedAt }: Copied) => ({
  messageId: inboundId,
  channel,
  from: toE164(source) ?? source,
  to: toE164(destination) ?? destination,
  text: body,
  keyword,
  receivedAt: receivedAt.toISOString(),
});

/** The keyword of a rule for all messages that match no other keyword. */
export const ANY_KEYWORD = '*';

/** Scope of a rule. */
export type Matcher = {
  /** The number that was written to, without a plus; null: any. */
  readonly number: string | null;
  readonly keyword: string;
};

const BETWEEN = /\s+/gu;

/** Normalizes a keyword, or the text of a message, for comparison: folded, with single spaces. */
export const plainText = (text: string): string => foldText(text).replace(BETWEEN, ' ').trim();

/** Matches the end of a keyword in a message. */
const WORD_END = /^(?![\p{L}\p{M}\p{N}])/u;

const beginsWith = (text: string, keyword: string): boolean =>
  text.startsWith(keyword) && WORD_END.test(text.slice(keyword.length));

/**
 * Finds the rule for a message: first among those for its number, then among those for any number, the longest keyword
 * with which it begins, as a whole word; then the rule for all messages. Undefined if there is none. Keywords are in
 * `plainText`.
 */
export function findRule<R extends Matcher>(
  rules: readonly R[],
  { number, text }: { readonly number: string; readonly text: string },
): R | undefined {
  const plain = plainText(text);
  const rank = (rule: R): number => {
    const own = rule.number === null ? 0 : MAX_KEYWORD_LENGTH + 1;
    return own + (rule.keyword === ANY_KEYWORD ? 0 : rule.keyword.length);
  };
  return rules
    .filter((rule) => rule.number === null || rule.number === number)
    .filter(({ keyword }) => keyword === ANY_KEYWORD || beginsWith(plain, keyword))
    .toSorted((a, b) => rank(b) - rank(a))[0];
}

export const MAX_KEYWORD_LENGTH = 100;

const MAIL = /^[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)+$/;
const NUMBER = /^\+[1-9]\d{6,14}$/;

/** Kind of target for copies of inbound messages. */
type TargetKind = 'post' | 'mail' | 'sms';

/** Returns the kind of a target; a stored one always has one of these. */
export function kindOfTarget(target: string): TargetKind {
  if (NUMBER.test(target)) return 'sms';
  return MAIL.test(target) && !target.startsWith('https:') ? 'mail' : 'post';
}

/** Deletes the counts of past hours. */
export const keywordTasks = ({ pool, now }: { readonly pool: Pool; readonly now: () => Date }): Task[] => [
  {
    name: 'old keywords',
    work: every(HOUR_MS, () => deleteOldCounts(pool, { before: new Date(now().getTime() - HOUR_MS) })),
  },
];
