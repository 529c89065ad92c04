import { insertMessages } from '../../src/messaging/messages/new/sql.ts';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { insertStates } from '../../src/messaging/messages/sql.ts';
import { STATUS } from '../../src/messaging/states.ts';
import { newMessage } from '../../test/support/queue.ts';
import { until } from '../../test/support/until.ts';
import { type Hostile, hostileCallbacks, MARK } from './hostile.ts';
import { type Callback, type Network, openNetworks, type SentMessage } from './networks.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { Process } from '../lib/processes.ts';
import { between, type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { openStage, type Stage } from '../lib/stage.ts';

type Size = { readonly people: number; readonly messages: number; readonly hostile: number; readonly kills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { people: 60, messages: 60, hostile: 60, kills: 1 },
  quick: { people: 1500, messages: 1500, hostile: 1500, kills: 5 },
  full: { people: 100_000, messages: 100_000, hostile: 50_000, kills: 100 },
};
const CONCURRENCY = 24;
const DUPLICATE_SHARE = 0.3;
const RETRY_MS = 50;
const TIMEOUT_MS = 60_000;
const ROWS = 1000;

export const callbacks: Proof = {
  promise: 'Only callbacks signed by the network are accepted, and each of them counts once.',
  sabotage: {
    fault: 'a callback with any signature is accepted',
    file: new URL('../sabotage/callbacks.ts', import.meta.url),
    breaks: ['no forged callback is accepted'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using stage = await openStage(run, { gateway: 'api' });
  const [mine, other] = [await stage.newAccount({ plan: 'unlimited' }), await stage.newAccount({ plan: 'unlimited' })];
  const ours = await openNetworks(stage, { accountId: mine.accountId, token: 'numbat' });
  const neighbours = await openNetworks(stage, { accountId: other.accountId, token: 'quokka' });
  const said = inboundTexts(ours, size.people);
  const sent = await sendAll(stage.pool, ours, { accountId: mine.accountId, count: size.messages });
  await stage.startWorker();

  const genuine = [...said.map(inboundCallback), ...sent.flatMap(statusesOf)].flatMap((one) =>
    run.random.next() < DUPLICATE_SHARE ? [one, one] : [one],
  );
  const grounds = ours.flatMap((network, n) => {
    const neighbour = neighbours[n];
    const about = sent.filter((message) => message.network === network);
    return neighbour ? about.slice(0, 50).map((message) => ({ ours: network, neighbour, sent: message })) : [];
  });
  const forged = hostileCallbacks(run, grounds, size.hostile);
  const tally = await post(run, stage, shuffled(run, [...genuine, ...forged]), size.kills);
  await until('the receipts to be processed', () => isSettled(stage.pool, sent), TIMEOUT_MS).catch(() => undefined);

  const figures = {
    truths: genuine.length,
    lies: forged.length,
    ...tally,
    ...(await compare(run, stage.pool, { accountId: mine.accountId, otherId: other.accountId, said, sent })),
  };
  return judge(figures, {
    'no forged callback is accepted': figures.believed === 0 && figures.neighbours === 0,
    'each callback gets the expected answer': figures.answeredOtherwise === 0,
    'no inbound message is lost or counted twice': figures.lost === 0 && figures.doubled === 0,
    'every message gets the final state that its network reported': figures.wrongStatus === 0,
    'all kills took place': figures.kills === size.kills,
  });
}

type InboundText = { readonly network: Network; readonly from: string; readonly id: string; readonly text: string };

const inboundTexts = (networks: readonly Network[], count: number): InboundText[] =>
  Array.from({ length: count }, (_, n) => ({
    network: networks[n % networks.length] as Network,
    from: `+3933${String(10_000_000 + Math.floor(n / 3))}`,
    id: `in-${n}`,
    text: `text ${n}`,
  }));

const inboundCallback = ({ network, ...said }: InboundText): Callback =>
  network.signed(network.message({ ...said, at: new Date() }));

type Outgoing = SentMessage & {
  readonly id: string;
  readonly network: Network;
  readonly end: 'delivered' | 'read' | 'failed';
};

/** Stores messages that the networks have taken and not yet reported on. */
async function sendAll(
  pool: Pool,
  networks: readonly Network[],
  { accountId, count }: { accountId: number; count: number },
): Promise<Outgoing[]> {
  const all: Outgoing[] = [];
  for (let first = 0; first < count; first += ROWS) {
    const messages = Array.from({ length: Math.min(ROWS, count - first) }, (_, i) => {
      const n = first + i;
      const network = networks[n % networks.length] as Network;
      const { channel, connectionId } = network;
      const row = newMessage({ accountId, channel, connectionId, destination: `+3932${10_000_000 + n}` });
      const name = channel === 'RCS' ? row.id : `wamid.${n}`;
      return { row, network, name, end: (['delivered', 'read', 'failed'] as const)[Math.floor(n / 2) % 3] ?? 'read' };
    });
    await insertMessages(
      pool,
      messages.map(({ row }) => row),
    );
    await insertStates(
      pool,
      messages.map(({ row: { id, channel, connectionId }, name }) => ({
        accountId,
        id,
        channel,
        connectionId,
        carrierId: name,
        campaignId: null,
        status: STATUS.ACCEPTED,
        attempts: 1,
        submitted: true,
        errorCode: null,
        errorText: null,
        possibleDuplicate: false,
        creditHeld: false,
        creditReturned: false,
      })),
    );
    all.push(...messages.map(({ row: { id, destination }, ...rest }) => ({ id, destination, ...rest })));
  }
  return all;
}

/** The status callbacks of a message in the network's order; they arrive in any order. */
const statusesOf = ({ network, end, ...sent }: Outgoing): Callback[] =>
  (end === 'read' ? (['delivered', 'read'] as const) : [end]).map((state) =>
    network.signed(network.status(sent, state)),
  );

function shuffled<T>(run: Run, list: readonly T[]): T[] {
  const all = [...list];
  for (let i = all.length - 1; i > 0; i--) {
    const j = between(run, 0, i);
    [all[i], all[j]] = [all[j] as T, all[i] as T];
  }
  return all;
}

/** The answers to forged callbacks that count as failures of their address. */
const UNREAD: ReadonlySet<number> = new Set([401, 404, 413]);

/** Posts callbacks as networks do: each one until it is answered, however often the process is killed meanwhile. */
async function post(run: Run, stage: Stage, list: readonly (Callback | Hostile)[], kills: number) {
  const example = createFaultLog(run);
  let api: Process = await stage.startApi();
  let [next, killed, otherwise] = [0, 0, 0];
  const killAt = Array.from({ length: kills }, (_, n) => Math.floor(((n + 1) * list.length) / (kills + 1)));
  const send = async (): Promise<void> => {
    for (let at = next++; at < list.length; at = next++) {
      const callback = list[at] as Callback | Hostile;
      if (at === killAt[killed]) {
        killed++;
        await api.kill();
        api = await stage.startApi();
      }
      const wanted = 'status' in callback ? callback.status : 200;
      const status = await untilAnswered(() => String(api.ready['address']), callback, wanted);
      // An address with too many failures is not read any more; genuine callbacks from it are.
      if (status === wanted || (status === 429 && UNREAD.has(wanted))) continue;
      otherwise++;
      const what = 'name' in callback ? callback.name : 'a genuine callback';
      example(what, `${what} was answered ${status} instead of ${wanted}`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, send));
  return { kills: killed, answeredOtherwise: otherwise };
}

/**
 * Posts one callback until it is answered. A server that closes the connection on a body that is too long has refused
 * it as well.
 */
async function untilAnswered(origin: () => string, { path, headers, body }: Callback, wanted: number): Promise<number> {
  for (let tries = 0; ; tries++) {
    const status = await fetch(`${origin()}${path}`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    }).then(
      async (answer) => {
        await answer.arrayBuffer();
        return answer.status;
      },
      () => 0,
    );
    if (status !== 0 && status < 500) return status;
    if (status === 0 && wanted === 413 && tries > 20) return wanted;
    await delay(RETRY_MS);
  }
}

const EXPECTED: Readonly<Record<string, number>> = { delivered: STATUS.DELIVERED, read: STATUS.DELIVERED };

type StateRow = { readonly id: string; readonly status: number; readonly read: boolean };

async function listWrong(pool: Pool, sent: readonly Outgoing[]): Promise<Outgoing[]> {
  const { rows } = await pool.query<StateRow>('SELECT id, status, read_at IS NOT NULL AS read FROM message_state');
  const states = new Map(rows.map((row) => [row.id, row]));
  return sent.filter(({ id, end }) => {
    const state = states.get(id);
    if (!state) return true;
    // The network's error code chooses the failure state: any final state other than delivered will do.
    if (end === 'failed') return state.status === STATUS.DELIVERED || state.status <= STATUS.ACCEPTED;
    return state.status !== EXPECTED[end] || state.read !== (end === 'read');
  });
}

const isSettled = async (pool: Pool, sent: readonly Outgoing[]): Promise<boolean> =>
  (await listWrong(pool, sent)).length === 0;

type Expected = {
  readonly accountId: number;
  readonly otherId: number;
  readonly said: readonly InboundText[];
  readonly sent: readonly Outgoing[];
};

async function compare(run: Run, pool: Pool, { accountId, otherId, said, sent }: Expected) {
  const example = createFaultLog(run);
  const count = async (text: string, values: unknown[] = []): Promise<number> =>
    (await pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${text}`, values)).rows[0]?.n ?? 0;
  const { rows } = await pool.query<{ text: string }>('SELECT text FROM inbox_message WHERE account_id = $1', [
    accountId,
  ]);
  const threads = Map.groupBy(rows, ({ text }) => text);
  const lost = said.filter(({ text }) => !threads.has(text));
  const wrong = await listWrong(pool, sent);
  for (const { text, network } of lost) example(network.channel, `${text} on ${network.channel} is lost`);
  for (const { name, end, network } of wrong) example(`${network.channel} ${end}`, `${name} should have ended ${end}`);
  return {
    lost: lost.length,
    doubled: (await count('inbound_message WHERE account_id = $1', [accountId])) - threads.size,
    believed: await count(`inbound_message WHERE account_id <> 0 AND body LIKE '${MARK}%'`),
    neighbours: await count('inbound_message WHERE account_id = $1', [otherId]),
    wrongStatus: wrong.length,
  };
}
