import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RequestListener } from 'node:http';
import type { Pool } from 'pg';
import type { Config } from '../../platform/config.ts';
import { countRealConnections, findConnection } from '../../network/connections/sql.ts';
import { openWorkerSession } from '../../platform/db/worker-session.ts';
import { insertNumber } from '../../messaging/inbound/sql.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { injectInbound, readSandboxInbound } from './inbound.ts';
import { RCS_NAME, retireSandboxNetworks, startSandboxNetworks, WHATSAPP_NAME } from './networks.ts';
import { retireSmsc, SMSC_NAME, startSmsc } from './smsc.ts';
import { SANDBOX_CHANNEL } from './sql.ts';

/** SANDBOX, or when that leaves it open: while no real carrier is configured. */
export const isSandboxWanted = async (config: Pick<Config, 'sandbox'>, pool: Pool): Promise<boolean> =>
  config.sandbox === 'auto' ? (await countRealConnections(pool)) === 0 : config.sandbox === 'on';

export type Sandbox = {
  /** Makes the networks call back to this program. */
  startCallbacks(program: RequestListener): Promise<void>;
  /** Stops the callbacks, so that the program can end. */
  stopCallbacks(): Promise<void>;
  close(): Promise<void>;
};

export type SandboxDeps = {
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly connectionString: string;
  readonly log: Log;
};

/** Starts the sandbox's carriers of all three channels, and listens for what people are to write to them. */
export async function startSandbox({ pool, secretKey, connectionString, log }: SandboxDeps): Promise<Sandbox> {
  const smsc = await startSmsc(pool, secretKey);
  const networks = await startSandboxNetworks(pool, secretKey);
  const listening = await openWorkerSession({
    connectionString,
    channels: [SANDBOX_CHANNEL],
    log,
    onNotify(_channel, payload) {
      const act = readSandboxInbound(payload);
      if (act) injectInbound({ smsc, networks }, act).catch((err: unknown) => log.warn({ err }, 'nothing was written'));
    },
  });
  let door: http.Server | null = null;
  const hangUp = (): Promise<void> =>
    new Promise((resolve) => {
      door?.closeAllConnections();
      if (door) door.close(() => resolve());
      else resolve();
      door = null;
    });
  return {
    async startCallbacks(program) {
      door = await openDoor(program);
      await networks.startCallbacks(`http://127.0.0.1:${(door.address() as AddressInfo).port}`);
    },
    stopCallbacks: hangUp,
    async close() {
      await hangUp();
      await listening.close();
      await Promise.all([smsc.close(), networks.close()]);
    },
  };
}

/**
 * A way in for the networks on this machine alone: HOST may be an address that cannot be reached from here, and a
 * certificate is of a name that is not this machine's.
 */
async function openDoor(program: RequestListener): Promise<http.Server> {
  const door = http.createServer(program);
  await new Promise<void>((resolve, reject) => {
    door.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  return door;
}

/** Makes an account the one that people write to in the sandbox. */
export async function assignSandboxNumbers(pool: Pool, { accountId }: { accountId: number }): Promise<void> {
  for (const name of [SMSC_NAME, WHATSAPP_NAME, RCS_NAME]) {
    const connection = await findConnection(pool, { name });
    if (connection?.sandbox) await insertNumber(pool, { connectionId: connection.id, number: '*', accountId });
  }
}

/** Takes what leads to the sandbox away: without it, messages would wait for a carrier that never comes. */
export async function retireSandbox(pool: Pool): Promise<void> {
  await retireSmsc(pool);
  await retireSandboxNetworks(pool);
}
