import { describe, expect, test } from 'vitest';
import { bound, submission, until } from '../../test/support/carriers/smpp-harness.ts';
import { accept, delivery, type Script } from '../../test/support/carriers/smpp-scripted-peer.ts';
import { encodeTlvs } from '../smpp/wire.ts';
import { compileTlvs, encodeTlvValue, readGivenTlvs, tlvVariables } from './message-tlvs.ts';
import { parseSmppSettings } from './smpp/settings.ts';

const acceptAll: Script = (pdu, link) => {
  if (pdu.command !== 'submit_sm') return false;
  link.send(accept(pdu, 'a1'));
  return true;
};

const given = (...tlvs: Parameters<typeof readGivenTlvs>[0]): Buffer => {
  const read = readGivenTlvs(tlvs);
  if ('fault' in read || read.octets === null) throw new Error('no octets');
  return read.octets;
};

describe('over a real SMPP session', () => {
  test('the parameters of a message and of its connection arrive octet for octet', async () => {
    const { carrier, peer } = await bound(acceptAll, {
      tlvs: [
        '0x1500={{dlt.entityId}}',
        '0x1501:int16=513',
        '0x1502:octets=00ff',
        '0x1503={{dlt.chain}}',
        '0x1402:int32=7',
      ],
      messageTlvs: ['0x1401', '0x1402'],
    });
    const tlvs = given(
      { tag: '0x1400', value: '1101' },
      { tag: '0x1401', value: '1107' },
      { tag: '0x1402', type: 'int8', value: '9' },
    );
    await carrier.submit(submission({ tlvs }));
    const [message] = peer.submits();
    expect([...(message?.tlvs ?? [])].map(([tag, octets]) => [tag, Buffer.from(octets).toString('hex')])).toEqual([
      [0x1401, Buffer.from('1107\0').toString('hex')],
      [0x1402, '00000007'],
      [0x1500, Buffer.from('1101\0').toString('hex')],
      [0x1501, '0201'],
      [0x1502, '00ff'],
      [0x1503, Buffer.from('09\0').toString('hex')],
    ]);
  });

  test('messages that bring none still have the fixed ones of the connection, each part of a long text too', async () => {
    const { carrier, peer } = await bound(acceptAll, { tlvs: ['0x1400=1101', '0x1401={{dlt.templateId}}'] });
    for (const body of ['Hi', 'Hi', 'Hi', 'x'.repeat(300)]) await carrier.submit(submission({ body }));
    expect(peer.submits().map(({ tlvs }) => [...tlvs.keys()])).toEqual(Array(5).fill([0x1400]));
  });

  test('the chosen parameters of a receipt are shown behind its text, under their names', async () => {
    const { peer, host } = await bound(() => false, {
      receiptTlvs: ['0x1403=operator', '0x1404=reason', '0x1405=none'],
    });
    const tlvs = new Map([
      [0x1403, Buffer.from('Airtel\0')],
      [0x1404, Buffer.from([0, 7])],
      [0x1406, Buffer.from('other')],
    ]);
    peer.links[0]?.send(delivery(9, 'id:7FA3 stat:DELIVRD', { esmClass: 4, tlvs }));
    await until(() => host.receipts.length === 1);
    expect(host.receipts[0]?.raw).toBe('id:7FA3 stat:DELIVRD operator:Airtel reason:0x0007');
  });
});

test.each([
  ['cstring', 'x'.repeat(254), 255],
  ['octets', 'ff'.repeat(255), 255],
  ['int8', '255', 1],
  ['int16', '65535', 2],
  ['int32', '4294967295', 4],
] as const)('the largest value of type %s fits, and one more does not', (type, value, octets) => {
  expect(encodeTlvValue(type, value)).toHaveLength(octets);
  const larger = type === 'octets' ? `${value}00` : type === 'cstring' ? `${value}x` : String(Number(value) + 1);
  expect(encodeTlvValue(type, larger)).toBeNull();
});

test.each([
  [[{ tag: '0x0424', value: 'x' }], '[0].tag'],
  [
    [
      { tag: '0x1400', value: 'x' },
      { tag: '0x1400', value: 'y' },
    ],
    '[1].tag',
  ],
  [[{ tag: '0x1400', type: 'int8', value: '256' }], '[0].value'],
  [[{ tag: '0x1400', value: 'é' }], '[0].value'],
] as const)('%j is refused at %s', (tlvs, place) => {
  expect(readGivenTlvs(tlvs)).toMatchObject({ fault: { place } });
});

test('variables of requests have the values of the parameters, texts as they are and others in hexadecimal', () => {
  const octets = encodeTlvs(
    new Map<number, Uint8Array>([
      [0x1400, Buffer.from('1101\0')],
      [0x1409, Buffer.from([1, 2])],
    ]),
  );
  expect(tlvVariables(octets)).toEqual({
    'dlt.entityId': '1101',
    'dlt.templateId': null,
    'dlt.chain': null,
    'tlv.0x1400': '1101',
    'tlv.0x1409': '0102',
  });
});

test.each([
  [{ tlvs: ['0x1400'] }, 'tlvs: "0x1400" must be TAG=VALUE'],
  [{ tlvs: ['0x0424=x'] }, 'tlvs: "0x0424" is not a tag'],
  [{ tlvs: ['0x1400={{name}}'] }, 'tlvs: {{name}} is no variable'],
  [{ tlvs: ['0x1400:int8=256'] }, 'tlvs: "256" is not a value of type int8'],
  [{ messageTlvs: ['1400'] }, 'messageTlvs: "1400" is not a tag'],
  [{ receiptTlvs: ['0x1400=a b'] }, 'receiptTlvs: "0x1400=a b" must be TAG=NAME'],
  [{ tlvs: ['0x1400=1'], interfaceVersion: 0x33 }, 'tlvs: version 0x33'],
])('settings %j are refused: %s', (settings, fault) => {
  expect(() => parseSmppSettings({ host: 'h', systemId: 's', ...settings })).toThrow(fault);
});

test('a value that does not fit its type for one message is omitted from that message alone', () => {
  const write = compileTlvs({ tlvs: ['0x1500:int8={{tlv.0x1401}}'] });
  expect([...write(given({ tag: '0x1401', value: '7' })).keys()]).toEqual([0x1401, 0x1500]);
  expect([...write(given({ tag: '0x1401', value: '700' })).keys()]).toEqual([0x1401]);
});
