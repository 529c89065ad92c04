import type { Pool } from 'pg';
import { isEmail } from '../../../../identity/mail-text.ts';
import { transaction } from '../../../../platform/db/transaction.ts';
import type { Log } from '../../../../platform/lib/log.ts';
import { DAY_MS } from '../../../../platform/lib/time.ts';
import { mailOrDrop } from '../../../../platform/mail/queue.ts';
import { listOwners } from '../sql.ts';
import type { Target } from '../targets/sql.ts';
import { composeMessage, toMailText } from './message.ts';
import type { Told, Ways } from './send.ts';
import type { Notice } from './sql.ts';

type Deps = Pick<Ways, 'mailer' | 'secretKey'> & {
  readonly pool: Pool;
  readonly log: Log;
  readonly publicUrl: string;
  readonly now: () => Date;
};

/**
 * Queues a mail about the alerts of each account for its administrators whose name is an email address: all of them in
 * one transaction, so that a repetition after a failure queues no mail twice.
 */
export async function sendToOwners(
  { pool, mailer, secretKey, log, publicUrl, now }: Deps,
  { language }: Target,
  batch: readonly Notice[],
): Promise<Told> {
  if (mailer === null) return { ok: false, reason: 'SMTP_URL is not set' };
  const byAccount = Map.groupBy(batch, ({ subjectId }) => subjectId ?? 0);
  const owners = await listOwners(pool, { accountIds: [...byAccount.keys()] });
  const expiresAt = new Date(now().getTime() + DAY_MS);
  await transaction(pool, async (tx) => {
    for (const { accountId, username: to } of owners.filter(({ username }) => isEmail(username))) {
      const message = composeMessage(language, byAccount.get(accountId) ?? [], publicUrl);
      const mail = { to, subject: `Heliograph: ${message.subject}`, text: toMailText(message) };
      await mailOrDrop(tx, { secretKey, log }, { kind: 'notice', ...mail, accountId, expiresAt });
    }
  });
  return { ok: true };
}
