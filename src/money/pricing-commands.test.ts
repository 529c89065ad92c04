import { beforeAll, expect, test } from 'vitest';
import { type CommandResult, commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { flatPrice } from '../../test/support/drafts.ts';
import { CHANNELS } from '../core/channels.ts';
import { registerOperations } from '../operations.ts';
import { listPrices } from './prices.ts';
import { createPriceList } from './pricing.ts';

const database = testDatabase();
const { pool } = database;

let run: (...args: string[]) => Promise<CommandResult>;
beforeAll(async () => {
  run = commandsOn(database, registerOperations);
});

const set = (...args: string[]): Promise<CommandResult> => run('price', 'set', '--channel', 'SMS', ...args);

test('a new installation has a price for every channel', async () => {
  const list = createPriceList(pool);
  expect(list.find({ channel: 'SMS', destination: '+393331234567', parts: 1 })).toBeNull();
  await list.reload();
  const unit = (channel: 'SMS' | 'RCS' | 'WHATSAPP') =>
    list.find({ channel, destination: '+393331234567', parts: 1 })?.unitMicros;
  expect([unit('SMS'), unit('RCS'), unit('WHATSAPP')]).toEqual([35_000, 50_000, 60_000]);
});

test('price set adds or changes a price, the longest prefix decides, and price remove removes it', async () => {
  const list = createPriceList(pool);
  await set('--prefix', '39', '--price', '0.05');
  await set('--prefix', '39', '--price', '0.000001', '--refund-undelivered');
  await list.reload();
  expect(list.find({ channel: 'SMS', destination: '+393331234567', parts: 1 })).toMatchObject({
    unitMicros: 1,
    refundUndelivered: true,
  });
  expect(list.find({ channel: 'SMS', destination: '+447700900123', parts: 1 })).toMatchObject({
    unitMicros: 35_000,
    refundUndelivered: false,
  });
  const id = (await listPrices(pool)).find(({ prefix }) => prefix === '39')?.id;
  expect((await run('price', 'remove', String(id))).code).toBe(0);
  await list.reload();
  expect(list.find({ channel: 'SMS', destination: '+393331234567', parts: 1 })).toMatchObject({ unitMicros: 35_000 });
  expect(await run('price', 'remove', String(id))).toMatchObject({
    code: 1,
    stderr: 'There is no such price\n',
  });
});

test('a running program is notified of a change', async () => {
  const client = await pool.connect();
  try {
    const heard = new Promise<string>((resolve) => client.on('notification', ({ channel }) => resolve(channel)));
    await client.query('LISTEN heliograph_routing');
    await set('--prefix', '44', '--price', '0.04');
    expect(await heard).toBe('heliograph_routing');
  } finally {
    client.release(true);
  }
});

test.each([
  ...['-0.01', 'NaN', 'free', '1e30', '0.0000001', '1e-10', 'Infinity', '0,05'].map((price) => [`--price=${price}`]),
  ...['+39', '39a', '1234567890123456', '-1'].map((prefix) => ['--price', '0.01', `--prefix=${prefix}`]),
])('%s %s is no price, and the list stays as it was', async (...args) => {
  const before = await listPrices(pool);
  expect(await set(...args)).toMatchObject({ code: 1, stderr: expect.stringMatching(/^(price|prefix): must be/) });
  expect(await listPrices(pool)).toEqual(before);
});

test('zero is a valid price, and an unknown channel is rejected', async () => {
  expect((await set('--prefix', '1', '--price', '0')).code).toBe(0);
  expect((await run('price', 'set', '--channel', 'FAX', '--price', '1')).code).toBe(2);
});

test('an SMS costs by its parts, anything else once', () => {
  const find = flatPrice(35_000);
  const prices = CHANNELS.map((channel) => [channel, find({ channel, destination: '+39333', parts: 3 })?.priceMicros]);
  expect(Object.fromEntries(prices)).toEqual({ SMS: 105_000, RCS: 35_000, WHATSAPP: 35_000 });
});
