import type { Pool } from 'pg';
import { operatorName } from '../../identity/audit/record.ts';
import { transaction } from '../../platform/db/transaction.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import type { Guard } from '../../platform/outbound/guard.ts';
import { isEmail } from '../../identity/mail-text.ts';
import { addTarget } from '../operator/alerts/targets/change.ts';
import { listTargets } from '../operator/alerts/targets/sql.ts';
import type { Answers } from './answers.ts';
import { urlOrNone } from './webhook.ts';
import type { Done } from './step.ts';

/** Every alert that warns, at any time of the day. The page Alerts of the console changes it. */
const CHOICE = {
  severity: 'warning',
  language: 'en',
  quietFrom: null,
  quietTo: null,
  timeZone: 'UTC',
  breaksQuiet: true,
} as const;

type Deps = {
  readonly secretKey: SecretKey;
  readonly guard: Guard;
  /** Whether SMTP_URL is set. */
  readonly hasMail: boolean;
};

/**
 * Adds a recipient of alerts, by mail or by a webhook, unless there is one. The secret that signs messages to a
 * webhook is in `secret` alone. Errors: 400 for an address or URL that does not fit.
 */
export async function setUpAlerts(
  pool: Pool,
  { hasMail, ...outside }: Deps,
  answers: Answers,
): Promise<{ done: Done; secret: string | null }> {
  const step = 'alerts';
  const known = await listTargets(pool);
  if (known.length > 0) {
    const names = known.map(({ kind, address }) => address || kind).join(', ');
    return { done: { step, changed: false, detail: `kept: ${names}` }, secret: null };
  }
  const mail = await answers.text({
    flag: 'alertMail',
    text: `Mail address for alerts (empty: none${hasMail ? '' : '; it needs SMTP_URL and MAIL_FROM, which are not set'})`,
    rule: mailOrNone,
  });
  const text = 'URL to which alerts are posted (empty: none)';
  const url = await answers.text({ flag: 'alertWebhook', text, isOpen: mail === '', rule: urlOrNone(outside.guard) });
  const wanted = [
    ...(mail === '' ? [] : [{ kind: 'mail', address: mail } as const]),
    ...(url === '' ? [] : [{ kind: 'webhook', address: url } as const]),
  ];
  if (wanted.length === 0)
    return {
      done: { step, changed: false, detail: 'no recipient yet: see the page Alerts of the console' },
      secret: null,
    };
  const secrets = await transaction(pool, async (tx) => {
    const made: (string | null)[] = [];
    for (const one of wanted)
      made.push((await addTarget(tx, outside, { ...CHOICE, ...one, by: operatorName() })).secret);
    return made;
  });
  const names = wanted.map(({ kind }) => (kind === 'mail' ? mail : new URL(url).origin)).join(', ');
  const lacking = mail !== '' && !hasMail ? '; no mail leaves until SMTP_URL and MAIL_FROM are set' : '';
  const secret = secrets.find((one) => one !== null) ?? null;
  return { done: { step, changed: true, detail: `${names}${lacking}` }, secret };
}

function mailOrNone(answer: string): void {
  if (answer !== '' && !isEmail(answer.toLowerCase())) throw new Error('must be a mail address');
}
