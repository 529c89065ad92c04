import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { operatorAuthor } from '../accounts/audit.ts';
import { CHANNELS } from '../core/channels.ts';
import { many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { registerOperations } from '../operations.ts';
import { changeChannels } from './account-commands.ts';

let program: TestProgram;
beforeAll(async () => {
  program = await startTestProgram();
});
afterAll(() => program[Symbol.asyncDispose]());
beforeEach(() => planOf('SMS', 'RCS', 'WHATSAPP'));

const PG = '/api/partner-gateway/v1';
const MS = '/api/message-server';

const planOf = (...channels: (typeof CHANNELS)[number][]) =>
  transaction(program.pool, (tx) => changeChannels(tx, operatorAuthor(program.account.accountId), { channels }));
const run = (...args: string[]) => {
  const connectionString = program.environment['DATABASE_URL'] ?? '';
  return commandsOn({ connectionString }, registerOperations)(...args);
};

test('the subscription shows the plan, its channels, the contacts and the credit', async () => {
  expect((await program.client.request('GET', `${PG}/subscription`)).body).toEqual({
    plan: 'unlimited',
    channels: ['SMS', 'RCS', 'WHATSAPP'],
    contacts: { planLimit: null, extraLimit: 0, totalLimit: null, used: 0, remaining: null },
    credit: { credit: 0, frozenCredit: 0, availableCredit: 0, currency: 'EUR' },
  });
  await planOf('SMS');
  expect((await program.client.request('GET', `${PG}/subscription`)).body).toMatchObject({ channels: ['SMS'] });
});

const campaign = (sendingMode: string) => ({
  name: 'Spring',
  sendingMode,
  smsSender: 'ACME',
  smsBody: 'Hello',
  destinations: ['+393331234567'],
});
/** The requests that use a channel. */
const USES: Readonly<Record<(typeof CHANNELS)[number], readonly (readonly [string, string, object?])[]>> = {
  SMS: [
    ['POST', `${MS}/sms/send`, { phoneNumber: '+393331234567', message: 'Hello' }],
    ['POST', '/services/sms/send', { messages: [{ destinations: ['393331234567'], sender: 'ACME', body: 'Hello' }] }],
    ['POST', `${PG}/campaigns`, campaign('SMS')],
    ['POST', `${PG}/campaigns`, campaign('RCS_SMS')],
  ],
  RCS: [
    ['POST', `${MS}/rcs/send`, {}],
    ['GET', `${MS}/rcs/templates`],
    ['POST', `${PG}/campaigns`, campaign('RCS_SMS')],
  ],
  WHATSAPP: [
    ['POST', `${MS}/whatsapp/send`, {}],
    ['POST', `${MS}/whatsapp/templates`, {}],
    ['GET', `${MS}/whatsapp/phone-numbers`],
    ['POST', `${PG}/campaigns`, campaign('WHATSAPP')],
  ],
};

test.each(CHANNELS)(
  'a plan without %s refuses its sends, campaigns and templates from the next request on',
  async (channel) => {
    const statuses = async () => {
      const answers = USES[channel].map(([method, path, body]) => program.client.request(method, path, { body }));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    expect(await statuses()).not.toContain(403);
    await planOf(...CHANNELS.filter((each) => each !== channel));
    expect(await statuses()).toEqual(USES[channel].map(() => 403));
  },
);

test('the refusal names the channels that the plan lacks, and a campaign cannot change to them', async () => {
  const { body: made } = await program.client.request('POST', `${PG}/campaigns`, { body: campaign('SMS') });
  const { id } = made as { id: number };
  await planOf('SMS');
  const answer = await program.client.request('PUT', `${PG}/campaigns/${id}`, {
    body: { sendingMode: 'WHATSAPP_RCS_SMS' },
  });
  expect(answer).toMatchObject({
    status: 403,
    body: { message: 'The plan of the account does not include WHATSAPP and RCS' },
  });
  await planOf('RCS');
  expect((await program.client.request('PUT', `${PG}/campaigns/${id}/confirm`)).status).toBe(403);
});

test('account change sets the channels of one account, account show shows them, and it is audited', async () => {
  const id = String(program.account.accountId);
  expect((await run('account', 'show', id)).answer).toMatchObject({ channels: [...CHANNELS] });
  const set = await run('account', 'change', id, '--channels', 'WHATSAPP,SMS');
  expect(set.answer).toMatchObject({ channels: ['SMS', 'WHATSAPP'] });
  const [entry] = await many(
    program.pool,
    sql`SELECT actor_kind AS kind, detail FROM audit_entry WHERE action = 'account.channels' ORDER BY id DESC LIMIT 1`,
  );
  expect(entry).toEqual({ kind: 'operator', detail: { channels: ['SMS', 'WHATSAPP'] } });
  expect((await run('account', 'change', id, '--channels', 'EMAIL')).code).not.toBe(0);
  expect((await run('account', 'show', '987654')).code).not.toBe(0);
});
