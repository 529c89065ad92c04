import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type CampaignApi, openCampaignApi } from '../../test/support/campaigns/api.ts';
import { countLockWaits } from '../../test/support/lock-waits.ts';
import { readBooks } from '../../test/support/money.ts';
import { until } from '../../test/support/until.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { newId } from '../core/ids.ts';
import { insertChunks } from '../dispatch/store.ts';
import { topUp } from '../money/credit.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { insertPrice } from '../money/prices.ts';
import { statusAllows } from './store.ts';

const PRICE_MICROS = 70_000;
const READY = {
  name: 'Spring',
  sendingMode: 'SMS',
  smsSender: 'ACME',
  smsBody: 'Hello',
  readyToSend: true,
  destinations: ['+393331000001', '+393331000002'],
};

let time = new Date();
let api: CampaignApi;
let account: NewAccount;
beforeAll(async () => {
  api = await openCampaignApi({ clock: { now: () => time } });
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(async () => {
  time = new Date();
  account = await api.newAccount();
});

type Method = Parameters<CampaignApi['call']>[1];
const call = (method: Method, path: string, body?: object, headers?: object) =>
  api.call(account.apiKey, method, `/campaigns${path}`, body, headers);
const confirm = (id: number) => call('PUT', `/${id}/confirm`);
const inADay = (): string => new Date(Date.now() + 86_400_000).toISOString();
const books = () => readBooks(api.pool, account.accountId);

async function create(more: object = {}): Promise<number> {
  return (await call('POST', '', { ...READY, ...more })).body.id;
}
async function priced(more: object = {}): Promise<number> {
  const id = await create(more);
  await call('POST', `/${id}/calculateGoal`);
  return id;
}
async function sending(): Promise<number> {
  const id = await priced();
  await confirm(id);
  return id;
}
const unmet = async (id: number) => {
  const { status, body } = await confirm(id);
  return [status, (body.details ?? []).map((d: { field: string }) => d.field)];
};
const newList = async (phoneNumber: string): Promise<number> => {
  const { id } = (await api.call(account.apiKey, 'POST', '/contacts/list', { name: 'List' })).body;
  await addTo(id, phoneNumber);
  return id;
};
async function addTo(listId: number, phoneNumber: string): Promise<number> {
  const contact = (await api.call(account.apiKey, 'POST', '/contacts', { phoneNumber })).body;
  const pair = { listIds: [listId], contactIds: [contact.id] };
  return (await api.call(account.apiKey, 'POST', '/contacts/list/contacts', pair)).status;
}
const runOf = (id: number) =>
  many(
    api.pool,
    sql`SELECT recipients, skipped, unused_micros AS unused, job.campaign_id AS job FROM campaign_run r
    LEFT JOIN campaign_job job ON job.campaign_id = r.campaign_id WHERE r.campaign_id = ${id}`,
  );

describe('confirming', () => {
  test('freezes the price, creates a run and a job, and returns 202 with the campaign', async () => {
    const before = await books();
    const id = await priced({ destinations: [...READY.destinations, 'nonsense'] });
    const { status, body } = await confirm(id);
    expect([status, body]).toMatchObject([
      202,
      { status: 2, startedAt: expect.any(String), confirmedAt: body.startedAt },
    ]);
    expect(body).toMatchObject({ totalDestinations: 2, totalPending: 2, totalSkipped: 1, actualCost: 0, progress: 0 });
    expect(await books()).toMatchObject({ available: before.available - PRICE_MICROS, frozen: PRICE_MICROS });
    expect(await runOf(id)).toEqual([{ recipients: 1, skipped: 1, unused: PRICE_MICROS, job: id }]);
    const [entry] = await many(
      api.pool,
      sql`SELECT kind, reference FROM ledger_entry
      WHERE account_id = ${account.accountId} AND kind = 'freeze'`,
    );
    expect(entry).toEqual({ kind: 'freeze', reference: `campaign:${id}` });
  });

  test('notifies the workers when it has committed', async () => {
    const id = await priced();
    const client = await api.pool.connect();
    try {
      await client.query('LISTEN heliograph_campaigns');
      const heard = new Promise<string | undefined>((resolve) =>
        client.once('notification', ({ payload }) => resolve(payload)),
      );
      await confirm(id);
      expect(await heard).toBe(String(id));
    } finally {
      client.release(true);
    }
  });

  test('reports every precondition that is not met, and changes nothing', async () => {
    const before = await books();
    const id = await create({ readyToSend: false, destinations: [], scheduledDate: inADay() });
    time = new Date(Date.now() + 2 * 86_400_000);
    expect(await unmet(id)).toEqual([400, ['readyToSend', 'contactListIds', 'scheduledDate', 'goal']]);
    expect(await books()).toEqual(before);
    expect((await call('GET', `/${id}`)).body).toMatchObject({ status: 0, confirmedAt: null });
    expect(await runOf(id)).toEqual([]);
  });

  test('rejects a goal whose prices do not hold on the date of the campaign', async () => {
    const id = await priced({ scheduledDate: inADay() });
    await insertPrice(api.pool, {
      accountId: account.accountId,
      channel: 'SMS',
      prefix: '39333',
      unitMicros: 90_000,
      refundUndelivered: false,
      validFrom: new Date(Date.now() + 2 * 86_400_000),
    });
    await call('PUT', `/${id}`, { scheduledDate: new Date(Date.now() + 3 * 86_400_000).toISOString() });
    expect(await unmet(id)).toEqual([400, ['goal']]);
    await call('POST', `/${id}/calculateGoal`);
    expect((await confirm(id)).status).toBe(202);
    // Back to the day on which the old price holds: the confirmation is revoked.
    expect((await call('PUT', `/${id}`, { scheduledDate: inADay() })).body).toMatchObject({ confirmedAt: null });
  });

  test('keeps the prices at which it was confirmed when only its name changes', async () => {
    const id = await priced({ scheduledDate: inADay() });
    expect((await confirm(id)).status).toBe(202);
    const price = { channel: 'SMS', prefix: '39333', unitMicros: 90_000, refundUndelivered: false } as const;
    await insertPrice(api.pool, { ...price, accountId: account.accountId, validFrom: new Date() });
    expect((await call('PUT', `/${id}`, { name: 'Summer' })).body.confirmedAt).not.toBeNull();
    expect((await call('PUT', `/${id}`, { scheduledDate: inADay() })).body).toMatchObject({ confirmedAt: null });
  });

  test('is revoked by hours that its recipients were not divided by', async () => {
    const id = await priced({ scheduledDate: inADay() });
    expect((await confirm(id)).status).toBe(202);
    const quietHours = { from: '21:00', to: '09:00' };
    expect((await call('PUT', `/${id}`, { name: 'Summer' })).body.confirmedAt).not.toBeNull();
    expect((await call('PUT', `/${id}`, { quietHours })).body).toMatchObject({ confirmedAt: null });
  });

  test('rejects a stale audience, one without recipients, and one that the credit does not cover', async () => {
    const stale = await priced();
    await call('PUT', `/${stale}`, { smsBody: 'Another' });
    const list = await newList('+393331000001');
    const listed = await priced({ destinations: undefined, contactListIds: [list] });
    await addTo(list, '+393331000002');
    const nobody = await priced({ destinations: ['+390612345678'] });
    const poor = await api.newAccount(PRICE_MICROS - 1);
    expect(await unmet(stale)).toEqual([400, ['goal']]);
    expect(await unmet(listed)).toEqual([400, ['goal']]);
    expect((await confirm(nobody)).body.details).toEqual([
      { field: 'destinations', message: 'no recipient can be reached (unsupported 1)' },
    ]);
    account = poor;
    const id = await priced();
    expect((await confirm(id)).body.details).toEqual([
      {
        field: 'credit',
        message: expect.stringMatching(/^is insufficient: the campaign costs up to 0.07 EUR, and [\d.]+ is available$/),
      },
    ]);
    await transaction(api.pool, (tx) => topUp(tx, { accountId: poor.accountId, micros: 1, reference: 'test' }));
    expect((await confirm(id)).status).toBe(202);
  });

  test('refuses after other changes: a deleted list, a sender that is no longer allowed, no route any more', async () => {
    const list = await newList('+393331000001');
    const listed = await priced({ destinations: undefined, contactListIds: [list] });
    await api.call(account.apiKey, 'DELETE', `/contacts/list?ids=${list}`);
    expect(await unmet(listed)).toEqual([400, ['contactListIds', 'goal']]);
    const id = await priced();
    await api.call(account.apiKey, 'PUT', '/account/campaigns', { smsSenders: ['OTHER'] });
    expect(await unmet(id)).toEqual([400, ['smsSender']]);
    await api.call(account.apiKey, 'PUT', '/account/campaigns', { smsSenders: null });
    await exec(api.pool, sql`UPDATE route SET channel = 'RCS'`);
    const unrouted = await priced();
    expect(await unmet(id)).toEqual([400, ['sendingMode']]);
    await exec(api.pool, sql`UPDATE route SET channel = 'SMS'`);
    expect((await call('GET', `/${unrouted}`)).body.skipped).toMatchObject({ noRoute: 2 });
    expect((await confirm(id)).status).toBe(202);
  });

  test('refuses a template that may not be sent, naming why, and prices every channel of a combined mode', async () => {
    const { accountId } = account;
    await exec(
      api.pool,
      sql`INSERT INTO sender (channel, identity, connection_id, owner_id, name)
          VALUES ('RCS', ${`agent-${accountId}`}, ${api.connectionId}, ${accountId}, 'Agent')`,
    );
    const rcsTemplateId = newId();
    await exec(
      api.pool,
      sql`INSERT INTO template (channel, id, owner_id, name, status, content, named, variables)
          VALUES ('RCS', ${rcsTemplateId}, ${accountId}, 'T', 'PENDING', '{"text": "Hi {{a}}"}', true, '{nick}')`,
    );
    const id = await priced({ sendingMode: 'RCS_SMS', rcsAgentId: `agent-${accountId}`, rcsTemplateId });
    const approve = sql`UPDATE template SET status = 'APPROVED', variables = '{"firstName|you"}' WHERE id = ${rcsTemplateId}`;
    expect(await unmet(id)).toEqual([400, ['rcsTemplateId', 'rcsTemplateId']]);
    await exec(api.pool, approve);
    // RCS refunds its price when nothing is delivered, so the more expensive of the two is the maximum for a recipient.
    expect((await call('GET', `/${id}/price`)).body).toMatchObject({
      price: 0.1,
      breakdown: [{ channel: 'RCS', country: 'IT', parts: 1, count: 2, unitPrice: 0.05, price: 0.1 }],
    });
    expect((await confirm(id)).status).toBe(202);
  });

  test('checks the template of every channel of its mode before the first message', async () => {
    const { accountId } = account;
    const [sender, whatsappTemplateId, rcsTemplateId] = [String(accountId), `9${accountId}`, newId()];
    const both = sql`VALUES ('RCS', ${sender}, ${api.connectionId}, ${accountId}, ''),
                            ('WHATSAPP', ${sender}, ${api.connectionId}, ${accountId}, '')`;
    await exec(api.pool, sql`INSERT INTO sender (channel, identity, connection_id, owner_id, name) ${both}`);
    const components = JSON.stringify([{ type: 'BODY', text: 'Hi {{1}} and {{2}}' }]);
    await exec(
      api.pool,
      sql`INSERT INTO template (channel, id, owner_id, connection_id, name, status, content, named, variables)
          VALUES ('RCS', ${rcsTemplateId}, ${accountId}, NULL, 'T', 'APPROVED', '{"text": "Hi {{a}}"}', true, '{planet}'),
                 ('WHATSAPP', ${whatsappTemplateId}, ${accountId}, ${api.connectionId}, 'T', 'APPROVED',
                  ${components}::jsonb, false, '{firstName}')`,
    );
    const names = { rcsAgentId: sender, rcsTemplateId, whatsappPhoneNumberId: sender, whatsappTemplateId };
    const id = await priced({ ...names, sendingMode: 'WHATSAPP_RCS_SMS' });
    expect((await confirm(id)).body.details).toEqual([
      { field: 'whatsappTemplateId', message: expect.stringContaining('2 placeholders (1, 2) and 1 variables') },
      { field: 'rcsTemplateId', message: "the template's variable planet is not a contact field" },
    ]);
    await exec(api.pool, sql`UPDATE template SET variables = '{firstName,email}' WHERE id = ${whatsappTemplateId}`);
    await exec(api.pool, sql`UPDATE template SET variables = '{firstName}' WHERE id = ${rcsTemplateId}`);
    expect((await confirm(id)).status).toBe(202);
  });

  test('with an Idempotency-Key gets the first response again, and freezes once', async () => {
    const id = await priced();
    const headers = { 'idempotency-key': 'confirm' };
    const first = await call('PUT', `/${id}/confirm`, undefined, headers);
    const second = await call('PUT', `/${id}/confirm`, undefined, headers);
    expect([first.status, second.status, second.body]).toEqual([202, 202, first.body]);
    expect((await books()).frozen).toBe(PRICE_MICROS);
    expect(await unmet(id)).toEqual([400, ['status']]);
  });

  test('needs the scopes of its channels', async () => {
    const id = await priced();
    const few = await api.newKey(account, ['campaigns']);
    expect((await api.call(few, 'PUT', `/campaigns/${id}/confirm`)).status).toBe(403);
    const enough = await api.newKey(account, ['campaigns', 'SMS']);
    expect((await api.call(enough, 'PUT', `/campaigns/${id}/confirm`)).status).toBe(202);
  });

  test('of another account looks like an unknown campaign', async () => {
    const id = await priced();
    account = await api.newAccount();
    for (const path of [`/${id}`, '/999999999'])
      for (const what of ['confirm', 'pause', 'resume', 'cancel'])
        expect([what, (await call('PUT', `${path}/${what}`)).status]).toEqual([what, 404]);
  });
});

describe('races', () => {
  test('of 100 concurrent confirmations one succeeds, and the credit is frozen once', async () => {
    const id = await priced();
    const answers = await Promise.all(Array.from({ length: 100 }, () => confirm(id)));
    const count = (wanted: number) => answers.filter(({ status }) => status === wanted).length;
    // A request that waits too long for a connection is asked to retry.
    expect([count(202), count(400) + count(503)]).toEqual([1, 99]);
    expect(await books()).toMatchObject({ frozen: PRICE_MICROS });
    expect(await runOf(id)).toHaveLength(1);
  });

  test('of campaigns that compete for one balance, as many succeed as it covers, and it is never negative', async () => {
    account = await api.newAccount(3 * PRICE_MICROS);
    const ids = await Promise.all(Array.from({ length: 12 }, () => priced()));
    const answers = await Promise.all(ids.map(confirm));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(3);
    expect(answers.filter(({ status, body }) => status === 400 && body.details[0].field === 'credit')).toHaveLength(9);
    expect(await books()).toMatchObject({ available: 0, frozen: 3 * PRICE_MICROS });
  });

  test('a change and a confirmation: what is sent is what was priced', async () => {
    for (let n = 0; n < 20; n++) {
      const id = await priced();
      const [changed, confirmed] = await Promise.all([call('PUT', `/${id}`, { smsBody: 'Another' }), confirm(id)]);
      const { smsBody, confirmedAt } = (await call('GET', `/${id}`)).body;
      expect([changed.status, confirmed.status].toSorted()).toEqual(confirmed.status === 202 ? [202, 400] : [200, 400]);
      expect([smsBody, confirmedAt !== null]).toEqual(confirmed.status === 202 ? ['Hello', true] : ['Another', false]);
    }
  });

  test('a confirmation waits for an edit of its list, and then refuses what was priced before', async () => {
    const list = await newList('+393331000001');
    const id = await priced({ destinations: undefined, contactListIds: [list] });
    const edit = await api.pool.connect();
    try {
      await edit.query('BEGIN');
      await edit.query('UPDATE contact_list SET version = version + 1 WHERE id = $1', [list]);
      const confirmed = confirm(id);
      await until('the confirmation to wait', async () => (await countLockWaits(api.pool)) > 0);
      await edit.query('COMMIT');
      expect((await confirmed).body.details).toEqual([{ field: 'goal', message: expect.stringContaining('again') }]);
    } finally {
      edit.release();
    }
  });

  test('concurrent edits of a list and a confirmation: there is no deadlock, and the credit matches the outcome', async () => {
    for (let n = 0; n < 10; n++) {
      const list = await newList(`+39333200${String(n).padStart(4, '0')}`);
      const id = await priced({ destinations: undefined, contactListIds: [list] });
      const before = (await books()).frozen;
      const numbers = [0, 1, 2].map((m) => `+39333${30 + m}0${String(n).padStart(4, '0')}`);
      const [{ status }, ...added] = await Promise.all([confirm(id), ...numbers.map((number) => addTo(list, number))]);
      expect(added).toEqual([201, 201, 201]);
      expect((await books()).frozen - before).toBe(status === 202 ? PRICE_MICROS / 2 : 0);
    }
  });

  test('a deletion and the start of a scheduled campaign: one wins, and the credit matches the winner', async () => {
    for (let n = 0; n < 30; n++) {
      const id = await priced({ scheduledDate: inADay() });
      await confirm(id);
      const before = await books();
      // As the worker does: it locks the campaign, and starts it only if it is still to be started.
      const start = transaction(api.pool, async (tx) => {
        await exec(tx, sql`SELECT FROM campaign WHERE id = ${id} FOR NO KEY UPDATE`);
        return exec(
          tx,
          sql`UPDATE campaign SET status = 2, started_at = now() WHERE id = ${id} AND ${statusAllows('start')}`,
        );
      });
      const [{ status }, started] = await Promise.all([call('DELETE', `/${id}`), start]);
      expect([status, started]).toEqual(started === 1 ? [404, 1] : [204, 0]);
      const { frozen } = await books();
      expect(before.frozen - frozen).toBe(started === 1 ? 0 : PRICE_MICROS);
    }
  });
});

describe('holding', () => {
  const waiting = async (campaignId: number): Promise<number> => {
    const { accountId } = account;
    await insertChunks(api.pool, [
      {
        accountId,
        connectionId: api.connectionId,
        alternates: [],
        onUnknown: 'hold',
        priority: 2,
        availableAt: null,
        ids: [newId()],
        campaignId,
      },
    ]);
    return campaignId;
  };
  const available = async (campaignId: number): Promise<number> =>
    (
      await one<{ count: number }>(
        api.pool,
        sql`SELECT count(*) AS count FROM dispatch_chunk WHERE campaign_id = ${campaignId} AND available_at <= now()`,
      )
    ).count;
  const move = async (id: number, what: string) => {
    const { status, body } = await call('PUT', `/${id}/${what}`);
    return [status, body.paused ?? null, body.cancelled ?? null];
  };

  test('a pause parks the waiting messages and resuming returns them; repeating either changes nothing', async () => {
    const id = await waiting(await sending());
    expect(await available(id)).toBe(1);
    for (let n = 0; n < 2; n++) expect([await move(id, 'pause'), await available(id)]).toEqual([[200, true, false], 0]);
    for (let n = 0; n < 2; n++)
      expect([await move(id, 'resume'), await available(id)]).toEqual([[200, false, false], 1]);
    expect((await call('GET', `/${id}`)).body.status).toBe(2);
  });

  test('a cancellation parks the waiting messages permanently', async () => {
    const id = await waiting(await sending());
    expect([await move(id, 'cancel'), await available(id)]).toEqual([[200, false, true], 0]);
    expect(await move(id, 'cancel')).toEqual([200, false, true]);
    expect(await move(id, 'pause')).toEqual([400, null, null]);
    expect(await move(id, 'resume')).toEqual([400, null, null]);
    expect(await available(id)).toBe(0);
  });

  test('only a campaign that is being sent can be paused, and a scheduled one that waits for a person can be resumed', async () => {
    const draft = await create();
    const scheduled = await priced({ scheduledDate: inADay() });
    await confirm(scheduled);
    for (const id of [draft, scheduled])
      for (const what of ['pause', 'resume', 'cancel']) expect(await move(id, what)).toEqual([400, null, null]);
    await exec(api.pool, sql`UPDATE campaign SET paused_at = now(), failure_reason = 'missed' WHERE id = ${scheduled}`);
    expect(await move(scheduled, 'resume')).toEqual([200, false, false]);
    expect((await call('GET', `/${scheduled}`)).body).toMatchObject({ status: 1, failureReason: 'missed' });
  });

  test('notifies the workers, who process the campaign at once', async () => {
    const id = await sending();
    for (const what of ['pause', 'resume', 'cancel']) {
      await exec(api.pool, sql`UPDATE campaign_job SET due_at = now() + interval '1 hour' WHERE campaign_id = ${id}`);
      await move(id, what);
      const due = await many(api.pool, sql`SELECT FROM campaign_job WHERE campaign_id = ${id} AND due_at <= now()`);
      expect([what, due.length]).toEqual([what, 1]);
    }
  });
});

describe('a change of a scheduled campaign before its time', () => {
  const scheduled = async (): Promise<number> => {
    const id = await priced({ scheduledDate: inADay() });
    expect((await confirm(id)).status).toBe(202);
    await exec(
      api.pool,
      sql`INSERT INTO campaign_recipient (account_id, campaign_id, country, destination, channels, reserve_micros)
          VALUES (${account.accountId}, ${id}, 'IT', '+393331000001', 1, 35000)`,
    );
    return id;
  };
  const recipients = (id: number) => many(api.pool, sql`SELECT FROM campaign_recipient WHERE campaign_id = ${id}`);

  test('that moves it, or does not concern what is sent, leaves it confirmed, and workers look again', async () => {
    const id = await scheduled();
    await exec(api.pool, sql`UPDATE campaign_job SET due_at = now() + interval '1 hour' WHERE campaign_id = ${id}`);
    await exec(api.pool, sql`UPDATE campaign SET paused_at = now(), failure_reason = 'missed' WHERE id = ${id}`);
    const later = new Date(Date.now() + 2 * 86_400_000).toISOString();
    const { status, body } = await call('PUT', `/${id}`, { scheduledDate: later, name: 'Summer', rate: 5 });
    expect([status, body]).toMatchObject([
      200,
      { status: 1, name: 'Summer', confirmedAt: expect.any(String), paused: false, failureReason: null },
    ]);
    expect(body).not.toHaveProperty('warnings');
    expect(body.scheduledDate).toBe(later.replace('T', ' ').replace('Z', '+0000'));
    expect(await books()).toMatchObject({ frozen: PRICE_MICROS });
    expect(
      await many(api.pool, sql`SELECT FROM campaign_job WHERE campaign_id = ${id} AND due_at <= now()`),
    ).toHaveLength(1);
    expect(await recipients(id)).toHaveLength(1);
  });

  test.each([
    ['back to draft', { readyToSend: false }, 0],
    ['another text', { smsBody: 'Hello again' }, 1],
    ['no date', { scheduledDate: null }, 1],
  ])('%s takes the confirmation and its credit back, and it can be confirmed again', async (_, change, status) => {
    const id = await scheduled();
    const before = await books();
    const answer = await call('PUT', `/${id}`, change);
    expect([answer.status, answer.body]).toMatchObject([
      200,
      {
        status,
        confirmedAt: null,
        paused: false,
        warnings: ['the campaign is no longer confirmed: calculate its cost and confirm it again'],
      },
    ]);
    expect(await books()).toMatchObject({ frozen: 0, available: before.available + PRICE_MICROS });
    expect([await runOf(id), await recipients(id)]).toEqual([[], []]);
    await call('PUT', `/${id}`, { readyToSend: true });
    await call('POST', `/${id}/calculateGoal`);
    expect((await confirm(id)).status).toBe(202);
    expect(await books()).toMatchObject({ frozen: PRICE_MICROS });
  });

  test('that is wrong changes nothing, and one of a campaign that has started is refused', async () => {
    const id = await scheduled();
    const before = (await call('GET', `/${id}`)).body;
    expect((await call('PUT', `/${id}`, { readyToSend: false, smsSender: null })).status).toBe(400);
    expect((await call('GET', `/${id}`)).body).toEqual(before);
    expect(await books()).toMatchObject({ frozen: PRICE_MICROS });
    await exec(api.pool, sql`UPDATE campaign SET status = 2, started_at = now() WHERE id = ${id}`);
    expect((await call('PUT', `/${id}`, { name: 'Late' })).status).toBe(400);
    const { status, body } = await call('DELETE', `/${id}`);
    expect([status, body.message]).toEqual([404, 'A campaign with status 2 cannot be deleted: it has started']);
  });
});
