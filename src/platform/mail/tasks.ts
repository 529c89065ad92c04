import type { Pool } from 'pg';
import type { Config } from '../config.ts';
import { always, every, type Task, whenDue } from '../lib/background/task.ts';
import type { Log } from '../lib/log.ts';
import type { SecretKey } from '../lib/secret-box.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import { openMail } from './queue.ts';
import {
  claimDueMail,
  deleteExpiredMails,
  deleteMail,
  deleteUnusedBudgets,
  findNextMailMs,
  MAIL_CHANNEL,
  updateDueMail,
} from './sql.ts';
import { createMailer, type Mailer } from './transport.ts';

type Deps = {
  readonly config: Pick<Config, 'mail'>;
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly log: Log;
};

/** Lease of a mail, longer than its steps may take: after a crash another worker sends it again. */
const LEASE_MS = 2 * MINUTE_MS;
const FIRST_RETRY_MS = 5 * SECOND_MS;
const MAX_RETRY_MS = 10 * MINUTE_MS;
/** Connections to the mail server at a time. Servers of providers commonly allow ten. */
const CONNECTIONS = 4;

/**
 * Hands queued mails to the mail server, several at a time, each until it is taken, permanently rejected, or useless
 * because its link has ended. Pausable: a copy of the database must not send the mails of the original. Without
 * SMTP_URL there is only the deletion.
 */
export function mailTasks({ config, ...deps }: Deps): Task[] {
  const deleteOld = async (): Promise<void> => {
    await deleteExpiredMails(deps.pool);
    await deleteUnusedBudgets(deps.pool);
  };
  const old: Task = { name: 'expired mails', work: every(HOUR_MS, deleteOld) };
  if (config.mail === undefined) return [old];
  const mailer = createMailer(config.mail);
  const work = whenDue(
    () => sendNextMail(deps, mailer),
    () => findNextMailMs(deps.pool),
    30 * SECOND_MS,
  );
  const sending = Array.from(
    { length: CONNECTIONS },
    (_, n): Task => ({ name: `mails ${n + 1}`, pausable: true, work, wakeOn: { [MAIL_CHANNEL]: always } }),
  );
  return [...sending, old];
}

/** Sends the mail whose turn is next. Returns the number found. */
async function sendNextMail({ pool, secretKey, log }: Omit<Deps, 'config'>, mailer: Mailer): Promise<number> {
  const due = await claimDueMail(pool, { leaseMs: LEASE_MS });
  if (!due) return 0;
  const { id, accountId, attempts: attempt } = due;
  const failure = await mailer.send(id, openMail(secretKey, due));
  if (failure === null || failure.final) await deleteMail(pool, { id });
  if (failure === null) return 1;
  const retryInMs = failure.final ? undefined : Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** (attempt - 1));
  if (retryInMs !== undefined) await updateDueMail(pool, { id, delayMs: retryInMs });
  log.warn({ accountId, attempt, code: failure.code, retryInMs }, 'a mail was not taken by the mail server');
  return 1;
}
