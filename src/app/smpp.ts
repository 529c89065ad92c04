import type { Pool } from 'pg';
import { ACCOUNTS_CHANNEL } from '../identity/accounts/sql.ts';
import type { LoginLimits } from '../identity/users/login-limits.ts';
import type { Accept } from '../messaging/sending/accept.ts';
import { SMPP_CHANNEL } from '../messaging/smpp-outbox/sql.ts';
import { countRefusedConnections, countSubmits } from '../messaging/smpp-server/metrics.ts';
import { type SmppServer, startSmppServer } from '../messaging/smpp-server/server.ts';
import type { Config } from '../platform/config.ts';
import type { Metrics } from '../platform/metrics.ts';
import { createSharedLimiter } from '../platform/db/shared-limiter.ts';
import { systemClock } from '../platform/lib/clock.ts';
import type { Log } from '../platform/lib/log.ts';
import type { Closers } from './stop.ts';

const SENDS_CHANNEL = 'heliograph_smpp_sends';

type Parts = {
  readonly config: Config;
  readonly pool: Pool;
  readonly log: Log;
  readonly limits: LoginLimits;
  readonly metrics: Pick<Metrics, 'registry'>;
  readonly onStop: Closers['add'];
};

/** The SMPP server of a process with the API. Without a port, it has no channels and listens nowhere. */
export function openSmpp({ config, pool, log, limits, metrics, onStop }: Parts) {
  const isWanted = config.smpp.port !== undefined || config.smpp.tlsPort !== undefined;
  const limiter = createSharedLimiter({ db: pool, log, channel: SENDS_CHANNEL });
  let server: SmppServer | null = null;
  return {
    /** The NOTIFY channels whose notifications go to `onNotify`. */
    channels: isWanted ? [ACCOUNTS_CHANNEL, SMPP_CHANNEL, SENDS_CHANNEL] : [],
    onNotify(channel: string, payload: string): void {
      if (channel === SENDS_CHANNEL) limiter.onNotify(payload);
      else if (channel === SMPP_CHANNEL) server?.onDeliveries();
      else server?.onAccountChange(payload);
    },
    /** Starts to listen, as the process with this advisory lock. */
    async listen({ accept, owner }: { readonly accept: Accept; readonly owner: number }): Promise<void> {
      if (!isWanted) return;
      onStop('SMPP sends', limiter.close);
      const { maxScheduleDays } = config;
      const { passedTags, strangersPerMinute } = config.smpp;
      const limited = { limits, limiter, maxScheduleDays, passedTags, strangersPerMinute };
      const options = { listen: config.smpp, pool, accept, clock: systemClock, ...limited };
      const counters = { answered: countSubmits(metrics), refused: countRefusedConnections(metrics) };
      const started = await startSmppServer({ ...options, owner, log, ...counters });
      server = started;
      onStop('SMPP server', () => started.close());
    },
  };
}
