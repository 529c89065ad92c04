import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { KEY, openVerifyStage, settings } from '../../test/support/verify.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { createFallbackPoller } from '../messages/fallback.ts';
import { listOpenCodes, openCode } from '../messages/codes.ts';
import { composeCode } from './compose.ts';
import { startVerification } from './verification.ts';

const { pool } = testDatabase();
beforeAll(() =>
  exec(
    pool,
    sql`INSERT INTO connection (id, name, kind, settings, secret) OVERRIDING SYSTEM VALUE VALUES (1, 'one', 'whatsapp', '{}', '')`,
  ),
);

async function addWhatsapp(accountId: number): Promise<void> {
  await exec(
    pool,
    sql`INSERT INTO sender (channel, identity, connection_id, owner_id, name) VALUES ('WHATSAPP', '100001', 1, ${accountId}, 'Acme')`,
  );
  for (const language of ['en', 'it']) {
    const components = [
      { type: 'BODY', text: '*{{1}}* is your code.' },
      {
        type: 'BUTTONS',
        buttons: [
          {
            type: 'URL',
            text: 'Copy code',
            url: 'https://www.whatsapp.com/otp/code/?otp_type=COPY_CODE&code=otp{{1}}',
          },
        ],
      },
    ];
    await exec(
      pool,
      sql`INSERT INTO template (channel, id, owner_id, connection_id, name, language, category, status, content, variables)
          VALUES ('WHATSAPP', ${`t_${language}`}, ${accountId}, 1, 'login', ${language}, 'AUTHENTICATION', 'APPROVED',
                  ${JSON.stringify(components)}, '{}')`,
    );
  }
}

test('the same code goes over WhatsApp, in the template of the language, and then over SMS, and is stored on neither', async () => {
  const stage = await openVerifyStage(pool);
  await addWhatsapp(stage.accountId);
  const service = await stage.service({ workflow: [{ channel: 'WHATSAPP', waitFor: 20 }, { channel: 'SMS' }] });
  const { verification } = await stage.start(service, { to: '+393331280001', locale: 'it-IT' });
  const code = (await stage.codeOf(verification.id)) ?? '';
  const [first] = await stage.submitted();
  expect(first?.content).toMatchObject({
    message: {
      type: 'template',
      template: {
        name: 'login',
        language: { code: 'it' },
        components: [
          { type: 'body', parameters: [{ type: 'text', text: code }] },
          { type: 'button', sub_type: 'url', index: '0', parameters: [{ type: 'text', text: code }] },
        ],
      },
    },
  });
  await stage.report(verification.id, 'UNSUPPORTED');
  const revoke = { reaches: () => false, ask: () => Promise.resolve(null) };
  const poller = createFallbackPoller({
    pool,
    accept: stage.deps.accept,
    revoke,
    now: () => new Date(),
    log: silentLog,
  });
  await poller.poll();
  await poller.stop();
  expect((await stage.submitted()).map(({ channel, body }) => [channel, body])).toEqual([
    ['SMS', `${code} è il tuo codice Acme. Scade tra 10 minuti. Non condividerlo.`],
  ]);
  const stored = await many<{ text: string }>(
    pool,
    sql`SELECT row_to_json(m)::text AS text FROM message m WHERE account_id = ${stage.accountId}
        UNION ALL SELECT next_channels::text FROM message_fallback WHERE account_id = ${stage.accountId}`,
  );
  expect(stored).toHaveLength(2);
  expect(stored.filter(({ text }) => text.includes(code))).toEqual([]);
  expect(await stage.check({ id: verification.id, code })).toMatchObject({ valid: true });
});

test('a step that the account cannot send is left out, and none at all is an error', async () => {
  const stage = await openVerifyStage(pool);
  const service = await stage.service({ workflow: [{ channel: 'WHATSAPP' }, { channel: 'RCS' }, { channel: 'SMS' }] });
  expect((await stage.start(service, { to: '+393331280002' })).verification.channel).toBe('SMS');
  await expect(stage.start(service, { to: '+393331280003', channel: 'RCS' })).rejects.toMatchObject({
    code: 'invalid',
  });
});

test('on RCS a code is a basic message for authentication', async () => {
  const stage = await openVerifyStage(pool);
  await exec(
    pool,
    sql`INSERT INTO sender (channel, identity, connection_id, owner_id, name) VALUES ('RCS', 'acme', 1, ${stage.accountId}, 'Acme')`,
  );
  const service = await stage.service({ workflow: [{ channel: 'RCS' }] });
  const { verification } = await stage.start(service, { to: '+393331280004' });
  const [row] = await listOpenCodes(pool, stage.accountId, [verification.id]);
  const code = row && openCode(KEY, row);
  expect((await stage.submitted())[0]?.content).toEqual({
    channel: 'RCS',
    message: { text: `${code} is your Acme code. It expires in 10 minutes. Do not share it.` },
    trafficType: 'AUTHENTICATION',
  });
});

test('a code never needs more parts than its text with digits', async () => {
  const stage = await openVerifyStage(pool);
  const draft = await composeCode(pool, {
    accountId: stage.accountId,
    channels: stage.actor.channels,
    settings: settings(),
    to: '+393331280005',
    verificationId: '01a1fd63-cf7c-7183-929b-000000000099',
    code: '123456',
    codeLength: 6,
    locale: undefined,
    validUntil: new Date(),
  });
  expect([draft?.priority, draft?.purpose, draft?.body.slice(0, 6)]).toEqual([-1, 'otp', '••••••']);
});

test('a code goes only over channels of the plan: others of the workflow are left out, and 403 when none is left', async () => {
  const stage = await openVerifyStage(pool);
  await exec(
    pool,
    sql`INSERT INTO sender (channel, identity, connection_id, owner_id, name) VALUES ('RCS', 'plan', 1, ${stage.accountId}, 'Acme')`,
  );
  const onlySms = { ...stage.actor, channels: new Set(['SMS'] as const) };
  const service = await stage.service({ workflow: [{ channel: 'RCS' }, { channel: 'SMS' }, { channel: 'RCS' }] });
  const start = (more: object) => startVerification(stage.deps, onlySms, service, { to: '+393331280006', ...more });
  await expect(start({ channel: 'RCS' })).rejects.toMatchObject({
    status: 403,
    message: expect.stringContaining('RCS'),
  });
  expect((await start({})).verification.channel).toBe('SMS');
  expect((await stage.submitted()).map(({ channel }) => channel)).toEqual(['SMS']);
  const [{ count } = { count: -1 }] = await many<{ count: number }>(
    pool,
    sql`SELECT count(*) AS count FROM message_fallback WHERE account_id = ${stage.accountId}`,
  );
  expect(count).toBe(0);
});
