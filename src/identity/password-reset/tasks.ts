import type { Pool } from 'pg';
import type { Config } from '../../platform/config.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { always, every, type Task, untilIdle } from '../../platform/lib/background/task.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { HOUR_MS, SECOND_MS } from '../../platform/lib/time.ts';
import { mailOrDrop } from '../../platform/mail/queue.ts';
import { isEmail } from '../mail-text.ts';
import { createResetLink } from './link.ts';
import { resetMail } from './mail.ts';
import { deleteExpiredResets, deleteNextResetRequest, findResettable, PASSWORD_RESET_CHANNEL } from './sql.ts';

type Deps = {
  readonly config: Pick<Config, 'mail' | 'publicUrl'>;
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly log: Log;
};

/** Handles requests for a new password: sends a mail if the user exists. */
export function passwordResetTasks(deps: Deps): Task[] {
  const old: Task = { name: 'expired password links', work: every(HOUR_MS, () => deleteExpiredResets(deps.pool)) };
  if (deps.config.mail === undefined) return [old];
  const work = untilIdle(() => answerNextRequest(deps), 30 * SECOND_MS);
  return [{ name: 'password requests', pausable: true, work, wakeOn: { [PASSWORD_RESET_CHANNEL]: always } }, old];
}

/** Handles the oldest request in one transaction, so that a crash leaves it waiting. Returns true if there was one. */
const answerNextRequest = ({ config, pool, ...deps }: Deps): Promise<boolean> =>
  transaction(pool, async (tx) => {
    const request = await deleteNextResetRequest(tx);
    if (!request) return false;
    const user = isEmail(request.username) ? await findResettable(tx, request) : undefined;
    if (!user) return true;
    const { link, expiresAt } = await createResetLink(tx, config, user);
    const mail = resetMail(request.language, { username: user.username, link });
    await mailOrDrop(tx, deps, { kind: 'reset', ...mail, accountId: user.accountId, expiresAt });
    return true;
  });
