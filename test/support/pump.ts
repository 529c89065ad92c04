import { randomInt } from 'node:crypto';
import type { Pool } from 'pg';
import { onTestFinished } from 'vitest';
import { type Pump, type PumpDeps, startPump } from '../../src/network/dispatch/pump.ts';
import { silentLog } from '../../src/platform/lib/log.ts';
import { settleOutcomes } from '../../src/messaging/messages/settle-outcomes.ts';
import { loadJobs } from '../../src/messaging/messages/load.ts';
import type { ScriptedCarrier } from './carriers/scripted-carrier.ts';

/** Runs a pump of connection 1 that sends to this carrier, until the test ends. */
export function pumpOn(pool: Pool, carrier: ScriptedCarrier, more: Partial<PumpDeps> = {}): Pump {
  const pump = startPump({
    pool,
    connectionId: 1,
    owner: randomInt(1, 2 ** 47),
    tps: 0,
    wakeOther: () => undefined,
    log: silentLog,
    carrier,
    load: (chunks) => loadJobs(pool, chunks),
    settle: settleOutcomes,
    ...more,
  });
  carrier.onChange = pump.wake;
  onTestFinished(() => pump.stop(300));
  return pump;
}
