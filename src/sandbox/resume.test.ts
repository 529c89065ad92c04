import { expect, test } from 'vitest';
import {
  bindLibrary,
  startForTest as start,
  statesOf,
  textOf,
} from '../../test/support/carriers/smpp-library-client.ts';
import type { OwedMessage } from './smsc.ts';

const owed = (id: string, destination = '351912345678'): OwedMessage => ({
  systemId: 'gw1',
  id,
  source: 'ACME',
  destination,
  acceptedAt: new Date('2026-11-21T08:00:00Z'),
});

test('messages of an earlier run get their receipts once their account binds, under their old ids', async () => {
  const smsc = await start({ receiptDelayMs: 0 });
  smsc.resume([owed('41'), owed('42', '351912349901')]);
  await expect.poll(smsc.waiting).toBe(2);
  const client = await bindLibrary(smsc.port);
  await client.until(() => client.received.length === 2);
  expect(client.received.map((pdu) => pdu['receipted_message_id'])).toEqual(['41', '42']);
  expect(statesOf(client)).toEqual(['DELIVRD', 'UNDELIV']);
  expect(textOf(client.received[0])).toMatch(/^id:41 .*submit date:2611210800 done date:/);
  expect(client.received[0]).toMatchObject({ source_addr: '351912345678', destination_addr: 'ACME' });
});

test('messages without receipts in the script get none', async () => {
  const smsc = await start({ receiptDelayMs: 0 });
  smsc.resume([owed('41', '351912349907'), owed('42')]);
  const client = await bindLibrary(smsc.port);
  await client.until(() => client.received.length === 1);
  expect(client.received[0]?.['receipted_message_id']).toBe('42');
});

test('a resumed message can be queried', async () => {
  const smsc = await start({ receiptDelayMs: 60_000 });
  smsc.resume([owed('41')]);
  const client = await bindLibrary(smsc.port);
  const answer = await client.request('query_sm', { message_id: '41', source_addr: 'ACME' });
  expect(answer).toMatchObject({ command_status: 0, message_state: 1 });
});
