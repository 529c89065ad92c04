import type { Pool } from 'pg';
import { listAccounts } from '../../identity/accounts/sql.ts';
import { operatorAuthor, operatorName } from '../../identity/audit/record.ts';
import { findUrlFault } from '../../messaging/webhooks/check-url.ts';
import { registerEndpoint } from '../../messaging/webhooks/endpoint.ts';
import { findEndpoint } from '../../messaging/webhooks/sql.ts';
import { transaction } from '../../platform/db/transaction.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import type { Guard } from '../../platform/outbound/guard.ts';
import type { Answers } from './answers.ts';
import type { Done } from './step.ts';

const NAME = 'webhook';

/**
 * Asks for the URL to which the events of the first account are posted, and checks it, unless that account has a webhook.
 * Returns it, or what there is to say instead. Errors: 400 for a URL that events may not be posted to.
 */
export async function askWebhook(pool: Pool, guard: Guard, answers: Answers): Promise<string | Done> {
  const [first] = await listAccounts(pool);
  const known = first && (await findEndpoint(pool, { accountId: first.id }));
  // Only the host: the rest of a URL often holds a token.
  if (known) return { step: NAME, changed: false, detail: `kept: ${new URL(known.url).host}` };
  const text = 'URL to which the events of the first account are posted (empty: later)';
  const url = await answers.text({ flag: 'webhookUrl', text, rule: urlOrNone(guard) });
  if (url === '') return { step: NAME, changed: false, detail: 'none yet: see docs/how-to/webhooks.md' };
  return url;
}

/** Accepts no answer, or a URL that may be posted to. */
export const urlOrNone =
  (guard: Guard) =>
  async (answer: string): Promise<void> => {
    const fault = answer === '' ? null : await findUrlFault(guard, answer);
    if (fault !== null) throw new Error(fault);
  };

/** Registers a URL that `askWebhook` has returned for the first account; the secret that signs its events is in `secret` alone. */
export async function setUpWebhook(
  pool: Pool,
  secretKey: SecretKey,
  asked: string | Done,
): Promise<{ done: Done; secret: string | null }> {
  if (typeof asked !== 'string') return { done: asked, secret: null };
  const [first] = await listAccounts(pool);
  if (!first) throw new Error('the step before creates an account');
  const author = operatorAuthor(first.id, operatorName());
  const made = await transaction(pool, (tx) => registerEndpoint(tx, author, { url: asked, form: 'A', secretKey }));
  const detail = `of ${first.name}, at ${new URL(asked).host}`;
  return { done: { step: NAME, changed: true, detail }, secret: made.plainSecret };
}
