import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CampaignApi, openCampaignApi } from '../../test/support/campaigns/api.ts';
import { readBooks } from '../../test/support/money.ts';
import { runs } from '../../test/support/runs.ts';
import { one, sql } from '../core/db/query.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { statusAllows } from './store.ts';

const PRICE_MICROS = 35_000;

let api: CampaignApi;
let account: NewAccount;
beforeAll(async () => {
  api = await openCampaignApi();
  account = await api.newAccount();
});
afterAll(() => api[Symbol.asyncDispose]());

const OPERATIONS = ['update', 'calculate', 'confirm', 'delete', 'pause', 'resume', 'cancel', 'start'] as const;
type Operation = (typeof OPERATIONS)[number];

/** Expected state of a campaign to one number, in the simplest form; null when it was deleted. */
type State = {
  readonly status: number;
  readonly confirmed: boolean;
  readonly scheduled: boolean;
  readonly priced: boolean;
  readonly text: string;
  readonly paused: boolean;
  readonly cancelled: boolean;
} | null;

/** Returns the response to an operation and the state after it, when nothing else happens meanwhile. */
function apply(state: State, operation: Operation): [answer: number, after: State] {
  return state === null ? [operation === 'start' ? 0 : 404, null] : MOVES[operation](state);
}

type Move = (state: NonNullable<State>) => [answer: number, after: State];

const hold =
  (paused: boolean): Move =>
  (state) =>
    state.status === 2 && !state.cancelled ? [200, { ...state, paused }] : [400, state];

const MOVES: Readonly<Record<Operation, Move>> = {
  update: (state) => {
    if (state.status > 1) return [400, state];
    const isSame = state.text === 'b';
    return [200, { ...state, text: 'b', priced: state.priced && isSame, confirmed: state.confirmed && isSame }];
  },
  calculate: (state) => (state.confirmed ? [400, state] : [200, { ...state, priced: true }]),
  confirm: (state) =>
    state.confirmed || !state.priced
      ? [400, state]
      : [202, { ...state, confirmed: true, status: state.scheduled ? 1 : 2 }],
  delete: (state) => (state.status < 2 ? [204, null] : [404, state]),
  start: (state) => (state.confirmed && state.status === 1 ? [1, { ...state, status: 2 }] : [0, state]),
  cancel: (state) => (state.status === 2 ? [200, { ...state, cancelled: true, paused: false }] : [400, state]),
  pause: hold(true),
  resume: hold(false),
};

const call = (method: Parameters<CampaignApi['call']>[1], path: string, body?: object) =>
  api.call(account.apiKey, method, `/campaigns${path}`, body);

/** Runs the operation. `start` is what a worker does when the time has come, by the same WHERE clause. */
async function run(id: number, operation: Operation): Promise<number> {
  if (operation === 'start') {
    const started = sql`WITH m AS (UPDATE campaign SET status = 2
      WHERE id = ${id} AND confirmed_at IS NOT NULL AND ${statusAllows('start')} RETURNING id) SELECT count(*) AS moved FROM m`;
    return (await one<{ moved: number }>(api.pool, started)).moved;
  }
  if (operation === 'update') return (await call('PUT', `/${id}`, { smsBody: 'b' })).status;
  if (operation === 'calculate') return (await call('POST', `/${id}/calculateGoal`)).status;
  if (operation === 'delete') return (await call('DELETE', `/${id}`)).status;
  return (await call('PUT', `/${id}/${operation}`)).status;
}

async function create(scheduled: boolean): Promise<[number, State]> {
  const body = { name: 'C', sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'a', readyToSend: true };
  const scheduledDate = scheduled ? { scheduledDate: new Date(Date.now() + 86_400_000).toISOString() } : {};
  const made = await call('POST', '', { ...body, ...scheduledDate, destinations: ['+393331000001'] });
  expect(made.status).toBe(201);
  const state = { status: 1, confirmed: false, scheduled, priced: false, text: 'a', paused: false, cancelled: false };
  return [made.body.id, state];
}

async function see(id: number): Promise<State> {
  const { status, body } = await call('GET', `/${id}`);
  if (status === 404) return null;
  return {
    status: body.status,
    confirmed: body.confirmedAt !== null,
    scheduled: body.scheduledDate !== null,
    priced: body.goalCalculatedAt !== null,
    text: body.smsBody,
    paused: body.paused,
    cancelled: body.cancelled,
  };
}

/**
 * Lists the possible outcomes of these operations, in any order: their responses in the order given, and the state
 * after them.
 */
function outcomesOf(state: State, operations: readonly Operation[]): string[] {
  if (operations.length === 0) return [JSON.stringify([[], state])];
  return operations.flatMap((operation, i) => {
    const [answer, after] = apply(state, operation);
    return outcomesOf(after, operations.toSpliced(i, 1)).map((outcome) => {
      const [answers, end] = JSON.parse(outcome) as [number[], State];
      return JSON.stringify([answers.toSpliced(i, 0, answer), end]);
    });
  });
}

const operations = fc.array(fc.constantFrom(...OPERATIONS), { minLength: 2, maxLength: 4 });
const before = fc.array(fc.constantFrom('calculate', 'confirm', 'start', 'pause'), { maxLength: 4 });

test('concurrent operations on a campaign end as if they were done one after the other, with its credit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), before, operations, async (scheduled, first, racing) => {
      const books = await readBooks(api.pool, account.accountId);
      const [id, made] = await create(scheduled);
      let state = made;
      for (const operation of ['calculate', ...first] as const) {
        const [answer, after] = apply(state, operation);
        expect([operation, await run(id, operation)]).toEqual([operation, answer]);
        state = after;
      }
      const answers = await Promise.all(racing.map((operation) => run(id, operation)));
      const seen = await see(id);
      expect(outcomesOf(state, racing)).toContain(JSON.stringify([answers, seen]));
      const price = seen?.confirmed ? PRICE_MICROS : 0;
      expect(await readBooks(api.pool, account.accountId)).toMatchObject({
        available: books.available - price,
        frozen: books.frozen + price,
      });
    }),
    { numRuns: runs(5) },
  );
});
