import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { p99 } from '../bench/lib/times.ts';
import { type Client, createClient, SEND } from '../test/support/client.ts';
import { freePort } from '../test/support/free-port.ts';
import { type ReplicatedServer, startReplicated } from '../test/support/replication.ts';
import { until } from '../test/support/until.ts';
import { compare, hasEnded } from './lib/compare.ts';
import { type Front, startFront } from './lib/front.ts';
import { destinationOf, exportStatuses, listEverUnknown, listUnknownOutcomes, untilIdle } from './lib/messages.ts';
import { type Process, startProcess } from './lib/processes.ts';
import { type Findings, faultFlags, judge, type Mode, type Proof, type Run } from './lib/proof.ts';
import { type Account, openStage, type Stage } from './lib/stage.ts';

type Size = { readonly losses: number; readonly phaseMs: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { losses: 1, phaseMs: 2000 },
  quick: { losses: 4, phaseMs: 4000 },
  full: { losses: 20, phaseMs: 20_000 },
};
const CLIENTS = 4;
const WINDOW = 10;
/** Accounts of the other cell whose first request comes while a cell is lost. */
const NEWCOMERS = 5;
/** Pause of a client after a request that failed. */
const RETRY_MS = 50;
const REFUSED_WITHIN_MS = 3000;
/** The other cell's p99 during a loss: at most so many times that before, and never a fault below this. */
const SLOWER = 5;
const FAST_ENOUGH_MS = 500;
const STALL_TIMEOUT_MS = 60_000;
const MAIN = new URL('../src/main.ts', import.meta.url);

export const cellLost: Proof = {
  promise: 'When a cell is lost as a whole, the accounts of the others notice nothing, and its own come back complete.',
  sabotage: {
    fault: 'the directory waits for a response of all cells',
    module: new URL('./sabotage/cell-lost.ts', import.meta.url),
    breaks: ['no request of the other cell fails'],
    mode: 'tiny',
  },
  timed: true,
  prove,
};

/**
 * Two cells, each a gateway with its own PostgreSQL and carrier, behind the proxy and the directory. An account of each
 * sends all the time, while one of the cells is killed as a whole again and again, and started again.
 */
async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using opened = new AsyncDisposableStack();
  const staying = await openCell(run, 0, opened);
  const losing = await openCell(run, 1, opened);
  const directory = await startDirectory(run, [staying, losing], opened);
  const front = await startFront({ directory: originOf(directory), cells: [staying.origin, losing.origin] });
  opened.defer(front.stop);
  const [kept, lost] = [startTraffic(front, staying.account, 0), startTraffic(front, losing.account, 1)];

  const times = { refusals: 0, wrongRefusals: 0, newcomersRefused: 0, comebacks: 0 };
  const [quiet, during]: [number[], number[]] = [[], []];
  for (let n = 0; n < size.losses; n++) {
    quiet.push(...(await answersWithin(kept, size.phaseMs)).map(({ ms }) => ms));
    await Promise.all([losing.gateway().kill(), losing.server.kill()]);
    const [others, own, newcomers] = await Promise.all([
      answersWithin(kept, size.phaseMs),
      answersWithin(lost, size.phaseMs),
      greetNewcomers(front, staying.stage, n * NEWCOMERS),
    ]);
    during.push(...others.map(({ ms }) => ms));
    times.newcomersRefused += newcomers;
    times.refusals += own.length;
    times.wrongRefusals += own.filter(({ status, ms }) => !isRefusal(status) || ms > REFUSED_WITHIN_MS).length;
    await losing.revive();
    await lost.untilAccepted();
    times.comebacks += 1;
    run.log(`loss ${n + 1}: ${others.length} responses to the other account, ${own.length} errors`);
  }
  await Promise.all([kept.stop(), lost.stop()]);

  const books = [await compareCell(staying, front, kept.ids), await compareCell(losing, front, lost.ids)] as const;
  const figures = {
    nginx: front.isNginx ? 1 : 0,
    losses: size.losses,
    accepted: kept.ids.length,
    failed: kept.failed(),
    ...times,
    quietP99Ms: Math.round(p99(quiet)),
    lossP99Ms: Math.round(p99(during)),
    lost: books[0].lost + books[1].lost,
    duplicates: books[0].duplicates + books[1].duplicates,
    acceptedByLostCell: lost.ids.length,
    inDoubt: books[0].inDoubt + books[1].inDoubt,
    notListed: books[0].notListed + books[1].notListed,
  };
  return judge(figures, {
    'no request of the other cell fails': figures.failed + figures.newcomersRefused === 0,
    'the other cell responds as fast as before':
      during.length > 0 && p99(during) <= Math.max(FAST_ENOUGH_MS, SLOWER * p99(quiet)),
    'requests of the lost cell are refused with 502 or 503 within 3 s': times.refusals > 0 && times.wrongRefusals === 0,
    'the lost cell serves again': times.comebacks === size.losses,
    'nothing is lost': figures.lost === 0,
    'nothing is sent twice': figures.duplicates === 0,
    'unknown <= losses x window, each listed': figures.inDoubt <= size.losses * WINDOW && figures.notListed === 0,
  });
}

const isRefusal = (status: number): boolean => status === 502 || status === 503;
const originOf = (process: Process): string => String(process.ready['address']);

type Cell = {
  readonly origin: string;
  readonly account: Account;
  readonly stage: Stage;
  readonly server: ReplicatedServer;
  gateway(): Process;
  /** Starts what was killed. */
  revive(): Promise<void>;
};

async function openCell(run: Run, cell: number, opened: AsyncDisposableStack): Promise<Cell> {
  const folder = join(run.folder, `cell-${cell}`);
  await mkdir(folder);
  const database = await startReplicated({ standbys: 0 });
  opened.defer(database.stop);
  const [server] = database.servers;
  if (!server) throw new Error('no server');
  // The same after each start: it is in the configuration of the proxy.
  const port = String(await freePort());
  const stage = opened.use(
    await openStage(
      // The program of a cell is whole; the fault is in the directory.
      { ...run, folder, databaseUrl: server.url, sabotage: null },
      {
        gateway: 'serve',
        environment: { CELL: String(cell), PORT: port, TRUST_PROXY: '127.0.0.1' },
        script: { receiptDelayMs: 50 },
        settings: { window: WINDOW, binds: 1 },
      },
    ),
  );
  let gateway = stage.gateway;
  return {
    origin: originOf(gateway),
    account: await stage.newAccount({ plan: 'unlimited' }),
    stage,
    server,
    gateway: () => gateway,
    async revive() {
      await server.start();
      gateway = (await stage.startGateway()).process;
    },
  };
}

/** Starts the directory, which has its own PostgreSQL. */
async function startDirectory(run: Run, cells: readonly Cell[], opened: AsyncDisposableStack): Promise<Process> {
  const database = await startReplicated({ standbys: 0 });
  opened.defer(database.stop);
  const directory = await startProcess(run, {
    file: MAIN,
    args: ['directory', '--json'],
    flags: faultFlags(run),
    environment: {
      DIRECTORY_URL: database.url,
      CELL_DATABASES: cells.map(({ server }, cell) => `${cell}=${server.url}`).join(' '),
      PORT: '0',
      LOG_LEVEL: 'warn',
    },
  });
  opened.defer(async () => void (await directory.stop()));
  return directory;
}

/** The cells refuse what does not come from the proxy. */
const clientOf = (front: Front, { apiKey }: Pick<Account, 'apiKey'>): Client =>
  createClient(() => front.origin, apiKey);

/** A response of the proxy, or 0 when there was none, with how long it took. */
type Timed = { readonly status: number; readonly ms: number };

type Traffic = {
  /** The ids of all messages that were accepted. */
  readonly ids: string[];
  failed(): number;
  /** Calls back with each response to a request that begins from now on, until the function that it returns is called. */
  watch(seen: (timed: Timed) => void): () => void;
  untilAccepted(): Promise<void>;
  stop(): Promise<void>;
};

/** Starts clients of one account that send through the proxy until they are stopped, each message to its own number. */
function startTraffic(front: Front, account: Account, cell: number): Traffic {
  const client = clientOf(front, account);
  const ids: string[] = [];
  const watchers = new Set<(timed: Timed) => void>();
  let [next, failed] = [cell * 1_000_000, 0];
  let isOn = true;

  async function send(): Promise<void> {
    while (isOn) {
      const begun = [...watchers];
      const start = performance.now();
      const body = { phoneNumber: destinationOf(next++), message: 'Your code is 1' };
      const answer = await client.request('POST', SEND, { body }).catch(() => ({ status: 0, body: null }));
      const timed = { status: answer.status, ms: performance.now() - start };
      for (const seen of begun) seen(timed);
      const id = answer.status === 200 ? Object(answer.body).messageId : undefined;
      if (typeof id === 'string') ids.push(id);
      else {
        failed += 1;
        await delay(RETRY_MS);
      }
    }
  }
  const clients = Array.from({ length: CLIENTS }, send);
  return {
    ids,
    failed: () => failed,
    watch(seen) {
      watchers.add(seen);
      return () => void watchers.delete(seen);
    },
    async untilAccepted() {
      const before = ids.length;
      await until('an accepted message', () => ids.length > before);
    },
    async stop() {
      isOn = false;
      await Promise.all(clients);
    },
  };
}

/** Returns the responses to requests that begin within the time. */
async function answersWithin(traffic: Traffic, ms: number): Promise<Timed[]> {
  const answers: Timed[] = [];
  const end = traffic.watch((timed) => answers.push(timed));
  await delay(ms);
  end();
  return answers;
}

/** Lets accounts that the directory does not know yet send their first message; returns how many could not. */
async function greetNewcomers(front: Front, stage: Stage, first: number): Promise<number> {
  let refused = 0;
  for (let n = first; n < first + NEWCOMERS; n++) {
    const { apiKey } = await stage.newAccount({ plan: 'unlimited' });
    const body = { phoneNumber: destinationOf(2_000_000 + n), message: 'Hello' };
    const { status } = await clientOf(front, { apiKey }).request('POST', SEND, { body });
    if (status !== 200) refused += 1;
  }
  return refused;
}

async function compareCell({ stage, account }: Cell, front: Front, ids: readonly string[]) {
  await untilIdle(stage, STALL_TIMEOUT_MS);
  return compare({
    ids,
    records: await exportStatuses({ ...stage, client: clientOf(front, account) }, ids, hasEnded, STALL_TIMEOUT_MS),
    unknownOutcomes: await listUnknownOutcomes(stage),
    everUnknown: await listEverUnknown(stage),
    ledger: await stage.carrier.ledger(),
  });
}
