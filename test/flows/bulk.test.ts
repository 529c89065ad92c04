import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BULK } from '../support/client.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { listTaken } from '../support/taken.ts';

let program: TestProgram;
beforeAll(async () => {
  program = await startTestProgram({ carriers: { main: { settings: { window: 500 } } } });
});
afterAll(() => program[Symbol.asyncDispose]());

/** Numbers of one test: no other test uses this prefix. */
const numbers = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, i) => `+${prefix}${String(i).padStart(5, '0')}`);
const taken = (prefix: string) => listTaken(program.smsc).filter(({ destination }) => destination.startsWith(prefix));
const bulkOf = (messages: object[], options: object = {}) => program.client.bulk({ ...options, messages });
const idsOf = (results: readonly { id: string | null }[]) => results.flatMap(({ id }) => id ?? []);

test('many messages with many destinations each get results in request order and are delivered exactly once', async () => {
  const groups = ['39320', '39321', '39322'].map((prefix) => numbers(700, prefix));
  const messages = groups.map((destinations, i) => ({ destinations, sender: 'Acme', body: `Text ${i}` }));
  const { accepted, results } = await bulkOf(messages);
  expect(accepted).toBe(2100);
  expect(results.map(({ destination }) => destination)).toEqual(groups.flat());
  const ids = idsOf(results);
  expect(new Set(ids).size).toBe(2100);
  await program.client.untilAll(ids, 'DELIVERED');
  expect(
    taken('3932')
      .map(({ destination, text }) => `${destination} ${text}`)
      .toSorted(),
  ).toEqual(
    messages.flatMap(({ destinations, body }) => destinations.map((number) => `${number.slice(1)} ${body}`)).toSorted(),
  );
});

test('each destination has its own result, and an invalid one does not stop the others', async () => {
  const destinations = ['+393400000001', 'abc', '+999123456789', '00393400000002', '', '+39340'];
  const { accepted, results } = await bulkOf([
    { destinations, sender: 'Acme', body: 'Some' },
    { destinations: ['+393400000003'], sender: 'Acme', body: 'x'.repeat(1531) },
    { destinations: ['+393400000004'], sender: 'Acme', body: '' },
  ]);
  expect(accepted).toBe(2);
  expect(results.map(({ statusCode }) => statusCode)).toEqual([200, 400, 400, 200, 400, 400, 400, 400]);
  expect(results.map(({ reason }) => reason)).toEqual([
    undefined,
    'the number is not a valid phone number: write it with + and the country code',
    'the number begins with a country code that does not exist',
    undefined,
    'the number is not a valid phone number: write it with + and the country code',
    'the number is not a valid phone number: write it with + and the country code',
    'the text needs too many parts',
    'the text is empty',
  ]);
  expect(results.map((result) => result.accepted && result.id !== null)).toEqual(
    results.map((result) => result.accepted),
  );
  expect(results.map(({ destination }) => destination)).toEqual([...destinations, '+393400000003', '+393400000004']);
  await program.client.untilAll(idsOf(results), 'DELIVERED');
  expect(
    taken('39340')
      .map(({ destination }) => destination)
      .toSorted(),
  ).toEqual(['393400000001', '393400000002']);
});

test("the client's ids name the messages; an id in use returns the first message, or 409 for another text", async () => {
  const destinations = ['+393410000001', '+393410000002'];
  const message = { destinations, ids: ['mine-1', 'mine-2'], sender: 'Acme', body: 'Named' };
  const first = await bulkOf([message]);
  expect((await program.client.status('mine-2')).messageId).toBe(first.results[1]?.id);
  expect(await bulkOf([message])).toEqual(first);
  const changed = await bulkOf([{ ...message, ids: ['mine-1', 'mine-3'], body: 'Changed' }]);
  expect(changed.results.map(({ statusCode }) => statusCode)).toEqual([409, 200]);
  await program.client.untilAll(idsOf([...first.results, ...changed.results]), 'DELIVERED');
  expect(
    taken('39341')
      .map(({ text }) => text)
      .toSorted(),
  ).toEqual(['Changed', 'Named', 'Named']);
});

test('10,000 destinations are accepted, one more is refused as too large', async () => {
  const destinations = numbers(10_000, '39350');
  const whole = await bulkOf([{ destinations, sender: 'Acme', body: 'Most' }], { simulation: true });
  expect(whole.accepted).toBe(10_000);
  const messages = [{ destinations: [...destinations, '+393510000000'], sender: 'Acme', body: 'Too many' }];
  const refused = await program.client.request('POST', BULK, { body: { messages, simulation: true } });
  expect(refused).toMatchObject({ status: 413, body: { status: 'error', code: 413 } });
});

describe('texts and binary data', () => {
  const TEXTS: readonly (readonly [name: string, body: string, parts: number])[] = [
    ['160 characters of GSM', 'è'.repeat(160), 1],
    ['161 characters of GSM', 'x'.repeat(161), 2],
    ['extension characters at each border', `${'x'.repeat(152)}€${'y'.repeat(151)}{${'z'.repeat(20)}`, 3],
    ['all of GSM 03.38', `@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&'()*+,-./0:;<=>?¡ÄÖÑÜ§¿äöñüà^{}\\[~]|€`, 1],
    ['10 parts of GSM', 'abcdefghi'.repeat(170), 10],
    ['70 characters of UCS-2', 'ж'.repeat(70), 1],
    ['71 characters of UCS-2', 'ж'.repeat(71), 2],
    ['pairs of surrogates at each border', `${'ж'.repeat(66)}😀${'я'.repeat(65)}🚀${'!'.repeat(10)}`, 3],
    ['10 parts of UCS-2', '你好世界，'.repeat(134), 10],
  ];

  test.each(TEXTS.map((row, i) => [...row, i] as const))(
    '%s arrive as they were sent',
    async (_name, body, parts, i) => {
      const destination = `+3936000000${i}`;
      const { results } = await bulkOf([{ destinations: [destination], sender: 'Acme', body }]);
      const record = await program.client.untilStatus(idsOf(results)[0] ?? '', 'DELIVERED');
      expect(record.parts).toBe(parts);
      expect(taken(destination.slice(1))).toEqual([
        { source: 'Acme', destination: destination.slice(1), text: body, parts },
      ]);
    },
  );

  test('binary data with its own header reaches the carrier unchanged', async () => {
    const { client, smsc } = program;
    const [hexBody, udhData] = ['00ff80c3287fdeadbeef', '06050415811581'];
    const { results } = await bulkOf([
      { destinations: ['+393700000001'], sender: 'Acme', hexBody, udhData },
      { destinations: ['+393700000002'], sender: 'Acme', hexBody: 'FF'.repeat(140) },
      { destinations: ['+393700000003'], sender: 'Acme', hexBody: 'ff'.repeat(134), udhData },
    ]);
    expect(results.map(({ statusCode }) => statusCode)).toEqual([200, 200, 400]);
    await client.untilAll(idsOf(results), 'DELIVERED');
    const submits = smsc.ledger.submits().filter(({ destination }) => destination.startsWith('39370'));
    expect(submits).toMatchObject([
      { destination: '393700000001', esmClass: 0x40, dataCoding: 4, octets: udhData + hexBody },
      { destination: '393700000002', esmClass: 0, dataCoding: 4, octets: 'ff'.repeat(140) },
    ]);
  });

  test('parts that the client concatenates itself reach the handset as one text, in their own alphabet', async () => {
    const { client, smsc } = program;
    const first = await client.sendAsMessageServer({
      destination: '+393710000001',
      sender: 'Acme',
      body: 'é'.repeat(153),
      udhData: '0500035c0201',
    });
    const { results } = await bulkOf([
      { destinations: ['+393710000001'], sender: 'Acme', body: 'end', udhData: '0500035c0202' },
      { destinations: ['+393710000002'], sender: 'Acme', body: 'ê'.repeat(67), udhData: '0500035c0101' },
    ]);
    await client.untilAll([first.messageId ?? '', ...idsOf(results)], 'DELIVERED');
    const submits = smsc.ledger.submits().filter(({ destination }) => destination.startsWith('39371'));
    expect(submits.map(({ esmClass, dataCoding }) => [esmClass, dataCoding]).toSorted()).toEqual([
      [0x40, 0],
      [0x40, 0],
      [0x40, 8],
    ]);
    expect(taken('393710000001')).toMatchObject([{ text: `${'é'.repeat(153)}end`, parts: 2 }]);
    expect(submits.find(({ dataCoding }) => dataCoding === 8)?.octets).toBe('0500035c0101' + '00ea'.repeat(67));
  });
});

describe('the options of a bulk send', () => {
  const both = { destinations: ['+393800000001'], sender: 'Acme' };
  const codes = async (body: string, options: object) =>
    (await bulkOf([{ ...both, body }], options)).results[0]?.statusCode;

  test('without enableConcatenated only texts of one part are accepted', async () => {
    expect(await codes('x'.repeat(160), { enableConcatenated: false, simulation: true })).toBe(200);
    expect(await codes('x'.repeat(161), { enableConcatenated: false, simulation: true })).toBe(400);
  });

  test('without enableUnicode only GSM 03.38 texts are accepted', async () => {
    expect(await codes('è €', { enableUnicode: false, simulation: true })).toBe(200);
    expect(await codes('ж', { enableUnicode: false, simulation: true })).toBe(400);
  });

  test('without enableDelivery the carrier is asked for no receipt', async () => {
    const { client, smsc } = program;
    const quiet = await bulkOf([{ destinations: ['+393810000001'], sender: 'Acme', body: 'Quiet' }], {
      enableDelivery: false,
    });
    const loud = await bulkOf([{ destinations: ['+393810000002'], sender: 'Acme', body: 'Loud' }]);
    await client.untilAll(idsOf(loud.results), 'DELIVERED');
    expect((await client.statuses(idsOf(quiet.results))).map((record) => record.deliveryStatus)).toEqual(['ACCEPTED']);
    const receipts = smsc.ledger.deliveries('receipt').filter(({ source }) => source.startsWith('39381'));
    expect(receipts.map(({ source }) => source)).toEqual(['393810000002']);
  });
});
