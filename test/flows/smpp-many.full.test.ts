import { expect, test } from 'vitest';
import { one, sql } from '../../src/core/db/query.ts';
import { STATUS } from '../../src/core/message-state.ts';
import { bindLibrary, type LibraryClient } from '../support/carriers/smpp-library-client.ts';
import { freePort } from '../support/free-port.ts';
import { startTestProgram } from '../support/program.ts';
import { newCredential } from '../support/smpp-server.ts';
import { listTaken } from '../support/taken.ts';
import { until } from '../support/until.ts';

const COUNT = 10_000;
const WINDOW = 50;
const TIMEOUT_MS = 600_000;
const RECEIPTS_WITHIN_MS = 300_000;

/** The carrier has fixed outcomes for numbers that end in 99xx. */
const numberAt = (n: number): string => `39333${1_000_000 + Math.floor(n / 9000) * 10_000 + (n % 9000)}`;

test('ten thousand messages of a foreign client over all kinds of binds, and each count agrees', {
  timeout: TIMEOUT_MS,
}, async () => {
  const port = await freePort();
  await using program = await startTestProgram({ environment: { SMPP_PORT: String(port) } });
  const settings = { tps: 100_000, maxBinds: 4, window: WINDOW };
  const { systemId, password } = await newCredential(program.pool, program.account.accountId, settings);
  const bind = (mode: 'transmitter' | 'receiver' | 'transceiver') =>
    bindLibrary(port, mode, { system_id: systemId, password });
  const senders = [await bind('transmitter'), await bind('transceiver')];
  const receivers = [...senders.slice(1), await bind('receiver')];
  const ids = new Map<string, string>();
  let next = 0;
  async function submitAll(client: LibraryClient): Promise<void> {
    for (let n = next++; n < COUNT; n = next++) {
      const { command_status, message_id } = await client.submit(numberAt(n), {
        short_message: Buffer.from(`No. ${n}`),
      });
      expect(command_status).toBe(0);
      ids.set(String(message_id), `No. ${n}`);
    }
  }
  const lanes = senders.flatMap((client) => Array.from({ length: WINDOW }, () => client));
  await Promise.all(lanes.map(submitAll));
  expect(ids.size).toBe(COUNT);

  const receipts = () =>
    receivers.flatMap(({ received }) => received).filter(({ command }) => command === 'deliver_sm');
  await until('a receipt for each', () => receipts().length >= COUNT, RECEIPTS_WITHIN_MS);
  const { delivered } = await one<{ delivered: number }>(
    program.pool,
    sql`SELECT count(*)::int AS delivered FROM message_state WHERE status = ${STATUS.DELIVERED}`,
  );
  const texts = listTaken(program.smsc).map(({ text }) => text);
  expect({
    receipts: receipts().length,
    ids: new Set(receipts().map((pdu) => pdu['receipted_message_id'])),
    texts: texts.length,
    different: new Set(texts),
    delivered,
  }).toEqual({
    receipts: COUNT,
    ids: new Set(ids.keys()),
    texts: COUNT,
    different: new Set(ids.values()),
    delivered: COUNT,
  });
  await until('nothing waits', async () => {
    const row = await one<{ n: number }>(program.pool, sql`SELECT count(*)::int AS n FROM smpp_outbox`);
    return row.n === 0;
  });
  await Promise.all([...senders, ...receivers].map((client) => client.close()));
});
