import type { Pool } from 'pg';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import type { Log } from '../../platform/lib/log.ts';
import { toE164 } from '../../platform/lib/phone/phone.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { DAY_MS } from '../../platform/lib/time.ts';
import { queueMail } from '../../platform/mail/queue.ts';
import type { Poster } from '../../platform/outbound/post.ts';
import type { Accept } from '../sending/accept.ts';
import { newDraft, REFUSALS } from '../sending/draft.ts';
import { retryDelayMs } from '../webhooks/delivery/retry-delay.ts';
import * as db from './sql.ts';

export type KeywordDeps = {
  readonly pool: Pool;
  readonly accept: Pick<Accept, 'once'>;
  readonly poster: Pick<Poster, 'post'>;
  readonly secretKey: SecretKey;
  readonly log: Log;
};

const CLAIMED = 20;
/** Longer than a POST may take, and than a transaction. */
const LEASE_SECONDS = 60;
const MAIL_VALID_MS = DAY_MS;

/**
 * Carries out the answers and copies that are due, and returns how many there were. An answer and a copy by SMS are made in
 * the transaction that deletes them, so each is made once, whatever fails and however many workers try; so is a mail. A copy
 * to a URL is posted at least once, and for about two days.
 */
export async function carryOutActions(deps: KeywordDeps): Promise<number> {
  const actions = await db.claimActions(deps.pool, { limit: CLAIMED, leaseSeconds: LEASE_SECONDS });
  const results = await Promise.allSettled(actions.map((action) => carryOut(deps, action)));
  for (const result of results)
    if (result.status === 'rejected') deps.log.error({ err: result.reason }, 'an answer to a keyword failed');
  return actions.length;
}

function carryOut(deps: KeywordDeps, action: db.Action): Promise<void> {
  if (action.kind === 'mail') return mailCopy(deps, action);
  return action.kind === 'post' ? postCopy(deps, action) : sendMessage(deps, action);
}

/** A full phone number; shorter ones are short codes, even if they begin like a country code. */
const LONG_NUMBER = /^\d{9,15}$/;

/** Sends an answer, or a copy by SMS, from the number that was written to. */
async function sendMessage({ accept }: KeywordDeps, action: db.Action): Promise<void> {
  const { accountId, target: destination, answer, source, body, destination: number } = action;
  const draft = newDraft({
    channel: 'SMS',
    source: 'INBOX',
    destination,
    isKnownNumber: true,
    sender: LONG_NUMBER.test(number) ? (toE164(number) ?? number) : number,
    body: answer ?? `+${source}: ${body}`,
  });
  await accept.once({ accountId, keyId: null, userId: null }, [draft], {
    claim: async (tx) => (await db.deleteAction(tx, action)) === 1,
    record: async (tx, [verdict]) => {
      if (verdict?.kind === 'refused') await noteFault(tx, action, REFUSALS[verdict.refusal]);
    },
  });
}

const noteFault = (to: Db, { accountId, ruleId }: db.Action, fault: string) =>
  db.updateFault(to, { accountId, id: ruleId, fault });

async function mailCopy({ pool, secretKey }: KeywordDeps, action: db.Action): Promise<void> {
  const { accountId, source, destination, body, target } = action;
  const mail = {
    to: target,
    subject: `SMS from ${source} to ${destination}`.replaceAll(/[\r\n]/g, ' '),
    text: body,
    accountId,
    expiresAt: new Date(Date.now() + MAIL_VALID_MS),
  };
  await transaction(pool, async (tx) => {
    if ((await db.deleteAction(tx, action)) === 1) await queueMail(tx, secretKey, mail);
  });
}

async function postCopy({ pool, poster }: KeywordDeps, action: db.Action): Promise<void> {
  const posted = await poster.post({
    url: action.target,
    headers: { 'content-type': 'application/json', 'idempotency-key': action.inboundId },
    body: JSON.stringify(toCopy(action)),
  });
  if (posted.kind === 'answered' && posted.status >= 200 && posted.status < 300) {
    await db.deleteAction(pool, action);
    return;
  }
  const fault = posted.kind === 'failed' ? posted.reason : `the receiver answered ${posted.status}`;
  const delayMs = retryDelayMs(action.failures + 1, posted.kind === 'answered' ? posted.retryAfterMs : null);
  await transaction(pool, async (tx) => {
    await noteFault(tx, action, fault);
    if (delayMs === null) await db.deleteAction(tx, action);
    else await db.moveActionToLater(tx, { ...action, delayMs });
  });
}

/** The body of a copy to a URL. */
const toCopy = ({ inboundId, channel, source, destination, body, keyword, receivedAt }: db.Action) => ({
  messageId: inboundId,
  channel,
  from: toE164(source) ?? source,
  to: toE164(destination) ?? destination,
  text: body,
  keyword,
  receivedAt: receivedAt.toISOString(),
});
