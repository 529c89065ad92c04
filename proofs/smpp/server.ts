import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/support/free-port.ts';
import { newCredential, openCustomer } from '../customers/stage.ts';
import { memoryMiB } from '../hostile/memory.ts';
import { destinationOf } from '../lib/messages.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import type { SmppCustomer } from '../lib/smpp-customer.ts';
import { openStage } from '../lib/stage.ts';
import { type Attack, attackOnce } from './attacker.ts';

const PDUS: Readonly<Record<Mode, number>> = { tiny: 5000, quick: 100_000, full: 3_000_000 };
const MEMORY_GROWTH_MIB = 96;
const SUBMIT_EVERY_MS = 100;
/** Strangers have an address of their own: their guesses are counted by address. */
const STRANGERS = '127.0.0.2';
const CUSTOMERS = '127.0.0.1';
const ATTACKERS = 4;
const NO_CRASH = 'the program does not crash';

export const smppServer: Proof = {
  promise: 'No customer and no stranger can crash, block or confuse the SMPP server.',
  sabotage: {
    fault: 'a PDU that cannot be read is an exception',
    file: new URL('../sabotage/smpp-server.ts', import.meta.url),
    breaks: [NO_CRASH],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const port = await freePort();
  await using opened = new AsyncDisposableStack();
  // The attackers connect thousands of times, and each connection is to be read.
  const environment = { SMPP_PORT: String(port), SMPP_STRANGERS_PER_MINUTE: '0' };
  const stage = opened.use(await openStage(run, { gateway: 'serve', environment, settings: { window: 100 } }));
  const { customer } = await openCustomer(stage, opened, { port: () => port, binds: 1, window: 10, registered: 1 });
  const { accountId } = await stage.newAccount({ plan: 'unlimited' });
  const credential = await newCredential(stage, accountId, { maxBinds: 10 });
  const calm = startCalm(customer);
  await customer.submit({ reference: 'first', destination: destinationOf(0), text: 'Warm' });

  const attack: Attack = { pdus: 0, connections: 0, bound: 0, wedged: 0, slowestMs: 0, accepted: new Set() };
  const attackUntil = async (goal: number): Promise<void> => {
    const isOver = (): boolean => attack.pdus >= goal || !stage.gateway.running();
    const play = async (n: number): Promise<void> => {
      const isStranger = n % 2 === 0;
      const target = isStranger ? { port, from: STRANGERS, credential: null } : { port, from: CUSTOMERS, credential };
      while (!isOver()) await attackOnce(run, attack, target, isOver);
    };
    await Promise.all(Array.from({ length: ATTACKERS }, (_, n) => play(n)));
  };
  await attackUntil(PDUS[run.mode] / 5);
  const memoryBefore = memoryMiB(stage.gateway.pid);
  await attackUntil(PDUS[run.mode]);
  const memoryAfter = memoryMiB(stage.gateway.pid);
  const { sent, accepted, slowestMs } = await calm.stop();
  const isRunning = stage.gateway.running();
  const { accepted: ids, ...counts } = attack;
  const figures = {
    ...counts,
    acceptedOfAttackers: ids.size,
    missing: isRunning ? ids.size - (await countStored(stage.pool, [...ids])) : 0,
    calmSent: sent,
    calmAccepted: accepted,
    calmSlowestMs: slowestMs,
    memoryGrowthMiB: memoryAfter - memoryBefore,
  };
  return judge(figures, {
    [NO_CRASH]: isRunning,
    'it answers or closes within a second': figures.wedged === 0,
    'what it has accepted is stored': figures.missing === 0 && figures.acceptedOfAttackers > 0,
    'another customer is served all the time': sent === accepted && sent > 0,
    'its memory stays flat': figures.memoryGrowthMiB <= MEMORY_GROWTH_MIB,
  });
}

/** A customer who submits all the time, and never binds again. */
function startCalm(customer: SmppCustomer) {
  const over = new AbortController();
  const figures = { sent: 0, accepted: 0, slowestMs: 0 };
  const open: Promise<unknown>[] = [];
  async function submit(): Promise<void> {
    const n = ++figures.sent;
    const begun = performance.now();
    await customer.submit({ reference: `calm-${n}`, destination: destinationOf(n), text: 'Calm' });
    figures.accepted++;
    figures.slowestMs = Math.max(figures.slowestMs, Math.round(performance.now() - begun));
  }
  async function run(): Promise<void> {
    while (!over.signal.aborted) {
      open.push(submit());
      await delay(SUBMIT_EVERY_MS);
    }
  }
  const running = run();
  return {
    /** Resolves with what was answered within five seconds. */
    async stop() {
      over.abort();
      await running;
      await Promise.race([Promise.all(open), delay(5000, undefined, { ref: false })]);
      return figures;
    },
  };
}

async function countStored(
  pool: { query(text: string, values: unknown[]): Promise<{ rows: { n: number }[] }> },
  ids: readonly string[],
): Promise<number> {
  const { rows } = await pool.query('SELECT count(*)::int AS n FROM message WHERE id = ANY ($1::uuid[])', [ids]);
  return rows[0]?.n ?? 0;
}
