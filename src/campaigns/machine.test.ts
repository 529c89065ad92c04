import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CampaignApi, openCampaignApi } from '../../test/support/campaigns/api.ts';
import { readBooks } from '../../test/support/money.ts';
import { runs } from '../../test/support/runs.ts';
import { one, sql } from '../core/db/query.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { statusAllows } from './store.ts';

const UNIT_MICROS = 35_000;
const CREDIT_MICROS = 10 * UNIT_MICROS;
const NUMBERS = ['+393331000001', '+393331000002', '+393331000003', '+393331000004'];

let api: CampaignApi;
let account: NewAccount;
beforeAll(async () => {
  api = await openCampaignApi();
  account = await api.newAccount(CREDIT_MICROS);
});
afterAll(() => api[Symbol.asyncDispose]());

/** Expected state of a campaign, in the simplest form. */
type Campaign = {
  status: 0 | 1 | 2 | 3 | 4;
  recipients: number;
  text: string;
  scheduled: boolean;
  confirmed: boolean;
  paused: boolean;
  cancelled: boolean;
  /** Count of the audience: null when it was never calculated, or the campaign has changed since. */
  audience: number | null;
  /** Micro-units that are frozen for it. */
  frozen: number;
};
type Model = { readonly campaigns: Map<number, Campaign>; available: number };
type Real = object;
type Step = fc.AsyncCommand<Model, Real>;

type Method = Parameters<CampaignApi['call']>[1];
const call = (method: Method, path: string, body?: object) =>
  api.call(account.apiKey, method, `/campaigns${path}`, body);
const inADay = (): string => new Date(Date.now() + 86_400_000).toISOString();

/** Compares all visible data of every campaign, and the credit. */
async function compare({ campaigns, available }: Model): Promise<void> {
  const { body } = await call('GET', '?limit=1000&direction=ASC');
  const seen = body.data.map((c: Record<string, unknown>) => [
    c['id'],
    c['status'],
    c['smsBody'],
    c['scheduledDate'] !== null,
    c['confirmedAt'] !== null,
    c['paused'],
    c['cancelled'],
    c['goalCalculatedAt'] !== null,
    c['readyToSend'],
  ]);
  expect(seen).toEqual(
    [...campaigns].map(([id, c]) => [
      id,
      c.status,
      c.text,
      c.scheduled,
      c.confirmed,
      c.paused,
      c.cancelled,
      c.audience !== null,
      c.status > 0,
    ]),
  );
  const frozen = [...campaigns.values()].reduce((sum, c) => sum + c.frozen, 0);
  expect(await readBooks(api.pool, account.accountId)).toMatchObject({ available, frozen });
}

/** A step on one of the campaigns that were created, including deleted ones. */
const step = (
  name: string,
  n: number,
  work: (model: Model, id: number, c: Campaign | undefined) => Promise<void>,
): Step => ({
  check: () => true,
  toString: () => `${name}(${n})`,
  async run(model) {
    const ids = [...model.campaigns.keys(), 999_999_999];
    const id = ids[n % ids.length] ?? 0;
    await work(model, id, model.campaigns.get(id));
    await compare(model);
  },
});

const create = (recipients: number, ready: boolean): Step =>
  step('create', recipients, async (model) => {
    const body = { name: 'C', sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'a', readyToSend: ready };
    const { status, body: made } = await call('POST', '', { ...body, destinations: NUMBERS.slice(0, recipients) });
    expect(status).toBe(201);
    model.campaigns.set(made.id, {
      status: ready ? 1 : 0,
      recipients,
      text: 'a',
      scheduled: false,
      confirmed: false,
      paused: false,
      cancelled: false,
      audience: null,
      frozen: 0,
    });
  });

type Change = { text?: string; recipients?: number; scheduled?: boolean; ready?: boolean };

const bodyOf = ({ text, recipients, scheduled, ready }: Change): object => ({
  ...(text !== undefined && { smsBody: text }),
  ...(recipients !== undefined && { destinations: NUMBERS.slice(0, recipients) }),
  ...(scheduled !== undefined && { scheduledDate: scheduled ? inADay() : null }),
  ...(ready !== undefined && { readyToSend: ready }),
});

function apply(c: Campaign, { ready, ...change }: Change): void {
  const before = { ...c };
  Object.assign(c, change);
  if (c.text !== before.text || c.recipients !== before.recipients) c.audience = null;
  if (ready !== undefined) c.status = ready ? 1 : 0;
}

const update = (which: number, change: Change): Step =>
  step(`update ${JSON.stringify(change)}`, which, async (model, id, c) => {
    const { status } = await call('PUT', `/${id}`, bodyOf(change));
    expect(status).toBe(!c ? 404 : c.status > 1 ? 400 : 200);
    if (!c || c.status > 1) return;
    const audience = c.audience;
    apply(c, change);
    // A confirmed campaign stays so if the same is sent to the same people at some time.
    if (!c.confirmed || (c.audience === audience && c.status === 1 && c.scheduled)) return;
    model.available += c.frozen;
    Object.assign(c, { confirmed: false, frozen: 0 });
  });

const calculate = (n: number): Step =>
  step('calculate', n, async (_, id, c) => {
    const { status } = await call('POST', `/${id}/calculateGoal`);
    expect(status).toBe(!c ? 404 : c.confirmed ? 400 : 200);
    if (c && !c.confirmed) c.audience = c.recipients;
  });

const confirm = (n: number): Step =>
  step('confirm', n, async (model, id, c) => {
    const { status } = await call('PUT', `/${id}/confirm`);
    const price = (c?.audience ?? 0) * UNIT_MICROS;
    const may = c && !c.confirmed && c.status === 1 && (c.audience ?? 0) > 0 && price <= model.available;
    expect(status).toBe(!c ? 404 : may ? 202 : 400);
    if (!c || !may) return;
    Object.assign(c, { confirmed: true, status: c.scheduled ? 1 : 2, frozen: price });
    model.available -= price;
  });

const remove = (n: number): Step =>
  step('delete', n, async (model, id, c) => {
    const { status } = await call('DELETE', `/${id}`);
    expect(status).toBe(c && c.status < 2 ? 204 : 404);
    if (!c || c.status > 1) return;
    model.available += c.frozen;
    model.campaigns.delete(id);
  });

const hold = (n: number, what: 'pause' | 'resume' | 'cancel'): Step =>
  step(what, n, async (_, id, c) => {
    const { status } = await call('PUT', `/${id}/${what}`);
    const going = c?.status === 2 && !c.cancelled;
    const may = what === 'cancel' ? c?.status === 2 : going;
    expect(status).toBe(!c ? 404 : may ? 200 : 400);
    if (!c || !may) return;
    if (what === 'cancel') c.cancelled = true;
    c.paused = what === 'pause';
  });

/** Does the work of workers, by the same WHERE clauses; the credit that a campaign returns is not checked here. */
const work = (n: number, move: 'start' | 'complete' | 'fail', to: 2 | 3 | 4): Step =>
  step(move, n, async (_, id, c) => {
    const { moved } = await one<{ moved: number }>(
      api.pool,
      sql`WITH m AS (UPDATE campaign SET status = ${to} WHERE id = ${id} AND confirmed_at IS NOT NULL AND ${statusAllows(move)}
          RETURNING id) SELECT count(*) AS moved FROM m`,
    );
    const may = c?.confirmed === true && c.status === (move === 'start' ? 1 : 2);
    expect(moved).toBe(may ? 1 : 0);
    if (may) c.status = to;
  });

const n = fc.nat({ max: 5 });
const count = fc.integer({ min: 0, max: 4 });
const STEPS = [
  fc.tuple(count, fc.boolean()).map((args) => create(...args)),
  fc
    .tuple(
      n,
      fc.record(
        { text: fc.constantFrom('a', 'b'), recipients: count, scheduled: fc.boolean(), ready: fc.boolean() },
        { requiredKeys: [] },
      ),
    )
    .map((args) => update(...args)),
  ...[calculate, confirm, calculate, confirm, remove].map((make) => n.map((which) => make(which))),
  ...(['pause', 'resume', 'cancel'] as const).map((what) => n.map((which) => hold(which, what))),
  ...(
    [
      ['start', 2],
      ['complete', 3],
      ['fail', 4],
    ] as const
  ).map(([move, to]) => n.map((which) => work(which, move, to))),
];

test('campaigns and their credit match a plain model after any operations in any order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(STEPS, { maxCommands: 40, size: 'max' }), async (commands) => {
      account = await api.newAccount(CREDIT_MICROS);
      const model: Model = { campaigns: new Map(), available: CREDIT_MICROS };
      const first = [create(2, true), create(3, true), calculate(0), calculate(1), confirm(0)];
      for (const begin of first) await begin.run(model, {});
      await fc.asyncModelRun(() => ({ model, real: {} }), commands);
    }),
    { numRuns: runs(3) },
  );
});
