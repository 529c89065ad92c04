import { randomInt } from 'node:crypto';
import type { Pool } from 'pg';
import { onTestFinished } from 'vitest';
import { silentLog } from '../../src/core/log.ts';
import { type Pump, type PumpDeps, startPump } from '../../src/dispatch/pump.ts';
import { loadJobs } from '../../src/messages/load.ts';
import { settleOutcomes } from '../../src/messages/settle.ts';
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
