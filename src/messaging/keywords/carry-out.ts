import type { Pool } from 'pg';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import type { Log } from '../../platform/lib/log.ts';
import { toE164 } from '../../platform/lib/phone/phone.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { DAY_MS } from '../../platform/lib/time.ts';
import { mailOrDrop } from '../../platform/mail/queue.ts';
import type { Poster, PostResult } from '../../platform/outbound/post.ts';
import type { Accept } from '../sending/accept.ts';
import { type Draft, newDraft, REFUSALS } from '../sending/draft.ts';
import { retryDelayMs } from '../webhooks/delivery/retry-delay.ts';
import { openSecrets } from '../webhooks/secrets.ts';
import { signedHeaders, timestampOf } from '../webhooks/sign.ts';
import { type Endpoint, findEndpoint } from '../webhooks/sql.ts';
import * as db from './sql.ts';

/** An accepted reply to the sender of an inbound message, with its text. */
export type Answered = { readonly accountId: number; readonly messageId: string; readonly draft: Draft };

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

const CLAIMED = 20;
/** Copies to URLs of one account at a time: they wait for their receiver, and those of other accounts must not. */
const POSTS_PER_ACCOUNT = 5;
/** Longer than a POST may take, and than a transaction. */
const LEASE_SECONDS = 60;
const MAIL_VALID_MS = DAY_MS;

/** The kinds that leave with a transaction, and those that wait for a receiver outside. */
export const INNER_KINDS: readonly db.ActionKind[] = ['answer', 'sms', 'mail'];
export const OUTER_KINDS: readonly db.ActionKind[] = ['post'];

/**
 * Carries out the replies and copies of these kinds that are due, and returns how many there were. A reply and a copy
 * by SMS are made in the transaction that deletes them, so each is made once, whatever fails and however many workers
 * try; so is an email. A copy to a URL is posted at least once, and for about two days.
 */
export async function carryOutActions(deps: KeywordDeps, kinds: readonly db.ActionKind[]): Promise<number> {
  const perAccount = kinds.includes('post') ? POSTS_PER_ACCOUNT : CLAIMED;
  const claim = { kinds, perAccount, limit: CLAIMED, leaseSeconds: LEASE_SECONDS };
  const actions = await db.claimActions(deps.pool, claim);
  const results = await Promise.allSettled(actions.map((action) => carryOut(deps, action)));
  for (const result of results)
    if (result.status === 'rejected') deps.log.error({ err: result.reason }, 'an answer to a keyword failed');
  return actions.length;
}

function carryOut(deps: KeywordDeps, action: db.Action): Promise<void> {
  if (action.kind === 'mail') return mailCopy(deps, action);
  return action.kind === 'post' ? postCopy(deps, action) : sendMessage(deps, action);
}

/** Matches a full phone number; shorter ones are short codes, even if they begin like a country code. */
const LONG_NUMBER = /^\d{9,15}$/;

/** Sends a reply, or a copy by SMS, from the number that was written to. */
async function sendMessage({ accept, onAnswer }: KeywordDeps, action: db.Action): Promise<void> {
  const { accountId, target: destination, answer, source, body, destination: number } = action;
  // A copy goes to a colleague, and belongs to no conversation.
  const isAnswer = action.kind === 'answer';
  const draft = newDraft({
    channel: 'SMS',
    source: 'INBOX',
    destination,
    isKnownNumber: true,
    sender: LONG_NUMBER.test(number) ? (toE164(number) ?? number) : number,
    body: answer ?? `+${source}: ${body}`,
  });
  await accept.once({ accountId, keyId: null, userId: null }, [draft], {
    async claim(tx) {
      if (isAnswer) await onAnswer.claim(tx, { accountId });
      return (await db.deleteAction(tx, action)) === 1;
    },
    async record(tx, [verdict]) {
      if (verdict?.kind === 'refused') await noteFault(tx, action, REFUSALS[verdict.refusal]);
      if (verdict?.kind === 'accepted' && isAnswer)
        await onAnswer.record(tx, { accountId, messageId: verdict.messageId, draft });
    },
  });
}

const noteFault = (to: Db, { accountId, ruleId }: db.Action, fault: string) =>
  db.updateFault(to, { accountId, id: ruleId, fault });

/** Queues a copy by email; one above the limit is dropped, and its rule shows that. */
async function mailCopy(deps: KeywordDeps, action: db.Action): Promise<void> {
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
    if ((await db.deleteAction(tx, action)) === 0) return;
    const usedUp = await mailOrDrop(tx, deps, mail);
    if (usedUp) await noteFault(tx, action, MAIL_FAULTS[usedUp.of]);
  });
}

const MAIL_FAULTS = {
  recipient: 'too many emails to this address: the copy was dropped',
  account: 'too many emails of the account in a day: the copy was dropped',
} as const;

async function postCopy(deps: KeywordDeps, action: db.Action): Promise<void> {
  const { pool } = deps;
  const posted = await post(deps, action);
  if (posted.kind === 'answered' && posted.status >= 200 && posted.status < 300) {
    await db.deleteAction(pool, action);
    return;
  }
  const fault = posted.kind === 'failed' ? posted.reason : `the receiver returned ${posted.status}`;
  const delayMs = retryDelayMs(action.failures + 1, posted.kind === 'answered' ? posted.retryAfterMs : null);
  await transaction(pool, async (tx) => {
    await noteFault(tx, action, fault);
    if (delayMs === null) await db.deleteAction(tx, action);
    else await db.moveActionToLater(tx, { ...action, delayMs });
  });
}

/**
 * Posts a copy, signed like the account's webhooks and with their secrets; without a webhook there is none to sign
 * with.
 */
async function post({ pool, poster, secretKey }: KeywordDeps, action: db.Action): Promise<PostResult> {
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

/** Makes the body of a copy to a URL. */
const toCopy = ({ inboundId, channel, source, destination, body, keyword, receivedAt }: db.Action) => ({
  messageId: inboundId,
  channel,
  from: toE164(source) ?? source,
  to: toE164(destination) ?? destination,
  text: body,
  keyword,
  receivedAt: receivedAt.toISOString(),
});
