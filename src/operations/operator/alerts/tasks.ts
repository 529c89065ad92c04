import type { Pool } from 'pg';
import type { Config } from '../../../platform/config.ts';
import { every, type Task, untilIdle } from '../../../platform/lib/background/task.ts';
import type { Log } from '../../../platform/lib/log.ts';
import type { SecretKey } from '../../../platform/lib/secret-box.ts';
import { SECOND_MS } from '../../../platform/lib/time.ts';
import { createMailer } from '../../../platform/mail/transport.ts';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { evaluateAlerts } from './evaluate.ts';
import { deliverNext } from './notices/deliver.ts';

type AlertTaskDeps = {
  readonly config: Pick<Config, 'mail' | 'publicUrl'>;
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly outbound: Pick<Outbound, 'poster'>;
  readonly log: Log;
  readonly now: () => Date;
};

const MAX_RETRY_MS = 30 * SECOND_MS;

/**
 * Evaluates the conditions every 15 seconds, in one process at a time, and notifies the recipients. Not pausable: that
 * sending is paused is one of the conditions. Processes without a worker run them too, to report that no worker runs.
 */
export function alertTasks({ config, outbound: { poster }, ...deps }: AlertTaskDeps): Task[] {
  const mailer = config.mail ? createMailer(config.mail) : null;
  const { publicUrl } = config;
  return [
    {
      name: 'alerts',
      maxRetryMs: MAX_RETRY_MS,
      work: every(15 * SECOND_MS, () => evaluateAlerts(deps.pool, { now: deps.now() })),
    },
    {
      name: 'alert notices',
      maxRetryMs: MAX_RETRY_MS,
      work: untilIdle(() => deliverNext({ ...deps, poster, mailer, publicUrl }), 5 * SECOND_MS),
    },
  ];
}
