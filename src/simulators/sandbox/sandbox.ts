import type { Pool } from 'pg';
import type { Config } from '../../platform/config.ts';
import { countRealConnections, findConnection } from '../../network/connections/sql.ts';
import { openWorkerSession } from '../../platform/db/worker-session.ts';
import { insertNumber } from '../../messaging/inbound/sql.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { injectInbound, readSandboxInbound } from './inbound.ts';
import { RCS_NAME, startSandboxNetworks, WHATSAPP_NAME } from './networks.ts';
import { SMSC_NAME, startSmsc } from './smsc.ts';
import { type SandboxSocialNetworks, startSocial } from './social.ts';
import { isKept, moveFromRetired, SANDBOX_CHANNEL } from './sql.ts';

/**
 * Resolves with true if the sandbox must run: as SANDBOX states or, if it is `auto`, while no real carrier is
 * configured, and next to real carriers once `sandbox restore` has been called.
 */
export async function isSandboxWanted(config: Pick<Config, 'sandbox'>, pool: Pool): Promise<boolean> {
  if (config.sandbox !== 'auto') return config.sandbox === 'on';
  return (await countRealConnections(pool)) === 0 || (await isKept(pool));
}

/** A running sandbox. */
export type Sandbox = {
  readonly social: Pick<SandboxSocialNetworks, 'apps' | 'page' | 'url'>;
  /** Directs the callbacks of the networks to the port of this machine at which the program takes them (`startCallbackServer`). */
  startCallbacks(port: number): Promise<void>;
  /** Stops all simulators. */
  close(): Promise<void>;
};

/** Dependencies of the sandbox. */
export type SandboxDeps = {
  readonly config: Pick<Config, 'social' | 'publicUrl'>;
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly connectionString: string;
  readonly log: Log;
};

/**
 * Starts the sandbox's simulators of all three channels and of the social networks, and listens for inbound messages to
 * simulate.
 */
export async function startSandbox(deps: SandboxDeps): Promise<Sandbox> {
  const { pool, secretKey, connectionString, log } = deps;
  await moveFromRetired(pool);
  const smsc = await startSmsc(pool, secretKey);
  const networks = await startSandboxNetworks(pool, secretKey);
  const social = await startSocial(deps);
  const listening = await openWorkerSession({
    connectionString,
    channels: [SANDBOX_CHANNEL],
    log,
    onNotify(_channel, payload) {
      const inbound = readSandboxInbound(payload);
      if (inbound)
        injectInbound({ smsc, networks }, inbound).catch((err: unknown) =>
          log.warn({ err }, 'the sandbox could not send the inbound message'),
        );
    },
  });
  return {
    social,
    startCallbacks: (port) => networks.startCallbacks(`http://127.0.0.1:${port}`),
    async close() {
      await listening.close();
      await Promise.all([smsc.close(), networks.close(), social.close()]);
    },
  };
}

/** Assigns the inbound messages of all sandbox connections to an account. */
export async function assignSandboxNumbers(pool: Pool, { accountId }: { accountId: number }): Promise<void> {
  for (const name of [SMSC_NAME, WHATSAPP_NAME, RCS_NAME]) {
    const connection = await findConnection(pool, { name });
    if (connection?.sandbox) await insertNumber(pool, { connectionId: connection.id, number: '*', accountId });
  }
}
