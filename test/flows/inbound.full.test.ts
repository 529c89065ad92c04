import { expect, test } from 'vitest';
import { NO_ACCOUNT_ID } from '../../src/messages/inbound.ts';
import { insertNumber, listInboundMessages } from '../../src/messages/inbound-store.ts';
import { findConnection } from '../../src/routing/connection-store.ts';
import { runOperatorCommand } from '../support/operator.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const HANDSET = { source: '393331234567', destination: '4400' };
const LONG = 'All of this has to arrive in one piece. '.repeat(10).trim();
const EMOJI = 'Così 😀 '.repeat(30).trim();

const untilBound = ({ smsc }: TestProgram) =>
  until('a bind', () => smsc.sessions().some((session) => session.mode !== null));
const received = ({ pool, account }: TestProgram, accountId = account.accountId) =>
  listInboundMessages(pool, { accountId, limit: 100 });

test('inbound messages in every form arrive complete, for the account to which the operator assigned the number', async () => {
  await using program = await startTestProgram();
  const number = ['--number', '4400', '--connection', 'main', '--account', 'Acme'];
  expect(await runOperatorCommand(program, 'number', 'assign', ...number)).toMatchObject({ code: 0 });
  await untilBound(program);
  const forms = [
    { text: 'Ciao' },
    { text: LONG },
    { text: `16 bit: ${LONG}`, longMode: 'udh16', outOfOrder: true },
    { text: `SAR: ${LONG}`, longMode: 'sar', outOfOrder: true },
    { text: `payload: ${LONG}`, longMode: 'payload' },
    { text: EMOJI, outOfOrder: true },
    { text: `SAR: ${EMOJI}`, longMode: 'sar' },
  ] as const;
  for (const form of forms) {
    const { parts, acked } = await program.smsc.injectMo({ ...HANDSET, ...form });
    expect(acked).toBe(parts);
  }
  await program.smsc.injectMo({ ...HANDSET, destination: '4401', text: 'Anybody?' });

  const texts = forms.map(({ text }) => ({ ...HANDSET, connection: 'main', body: text }));
  expect(await received(program)).toMatchObject(texts.toReversed());
  expect(await received(program, NO_ACCOUNT_ID)).toMatchObject([{ body: 'Anybody?' }]);
  expect(program.smsc.ledger.violations()).toEqual([]);
});

test('a worker killed between the parts loses none, and a part that the carrier repeats counts once', async () => {
  await using program = await startTestProgram({
    roles: { worker: false },
    carriers: { main: { script: { deliverWindow: 1 } } },
  });
  const { smsc, pool } = program;
  const connection = await findConnection(pool, { name: 'main' });
  const { accountId } = program.account;
  await insertNumber(pool, { connectionId: connection?.id ?? 0, number: '4400', accountId });
  const first = startWorkerProcess(program);
  await untilBound(program);
  // The carrier gets no response, so the second part waits.
  smsc.pauseReads();
  const injected = smsc.injectMo({ ...HANDSET, text: LONG, outOfOrder: true });
  await until('the first part', async () => (await pool.query('SELECT FROM inbound_part')).rowCount === 1);
  await first.kill();
  await smsc.dropConnections();
  smsc.resumeReads();
  expect(await received(program)).toEqual([]);

  const second = startWorkerProcess(program);
  try {
    expect(await injected).toEqual({ parts: 3, acked: 3 });
    expect(smsc.ledger.counts().deliverWrites).toBe(4);
    expect(await received(program)).toMatchObject([{ body: LONG, parts: 3, partsReceived: 3 }]);
    expect((await pool.query('SELECT FROM inbound_part')).rowCount).toBe(0);
  } finally {
    await second.kill();
  }
});

test('a message that cannot be stored stays with the carrier, which sends it again', async () => {
  await using program = await startTestProgram({ carriers: { main: { script: { retryMs: 50 } } } });
  await untilBound(program);
  await program.pool.query('ALTER TABLE inbound_message RENAME TO gone');
  const injected = program.smsc.injectMo({ ...HANDSET, text: 'Patience' });
  await until('a second try', () => program.smsc.ledger.counts().deliverWrites > 1);
  await program.pool.query('ALTER TABLE gone RENAME TO inbound_message');
  expect(await injected).toEqual({ parts: 1, acked: 1 });
  expect(await received(program, NO_ACCOUNT_ID)).toMatchObject([{ body: 'Patience' }]);
});
