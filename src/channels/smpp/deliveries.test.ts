import { expect, test } from 'vitest';
import { bound, until } from '../../../test/support/carriers/smpp-harness.ts';
import { delivery, type Link } from '../../../test/support/carriers/smpp-scripted-peer.ts';
import { encodePdu, type Pdu } from '../../smpp/pdu.ts';
import { STATUS } from '../../smpp/status.ts';
import { cStringValue, NO_TLVS, TAG, uint8 } from '../../smpp/wire.ts';

const RECEIPT = 'id:7FA3 sub:001 dlvrd:001 submit date:2612312359 done date:2701010001 stat:DELIVRD err:000 text:Hello';
const answers = (link: Link | undefined): Pdu[] =>
  link?.received.filter((pdu) => pdu.command === 'deliver_sm_resp' || pdu.command === 'data_sm_resp') ?? [];

test('a receipt reaches the host and is acknowledged', async () => {
  const { peer, host } = await bound();
  peer.links[0]?.send(delivery(9, RECEIPT, { esmClass: 4 }));
  await until(() => answers(peer.links[0]).length === 1);
  expect(host.receipts).toMatchObject([
    { carrierIds: ['7FA3'], state: 'DELIVERED', doneAt: new Date('2027-01-01T00:01:00Z'), destination: '351912345678' },
  ]);
  expect(answers(peer.links[0])).toMatchObject([{ command: 'deliver_sm_resp', status: 0, sequence: 9, messageId: '' }]);
});

/** A PDU with this body, or with these octets behind the body. */
const octetsOf = (pdu: Pdu, behind: string): Buffer => {
  const octets = Buffer.concat([encodePdu(pdu), Buffer.from(behind, 'hex')]);
  octets.writeUInt32BE(octets.length, 0);
  return octets;
};

test.each(['00', '000000', '1401', '001e0009'])(
  'a receipt and a text are taken although octets behind them cannot be read: %s',
  async (behind) => {
    const { peer, host } = await bound();
    await peer.links[0]?.raw(octetsOf(delivery(9, RECEIPT, { esmClass: 4 }), behind));
    await peer.links[0]?.raw(octetsOf(delivery(10, 'Hi'), behind));
    await until(() => answers(peer.links[0]).length === 2);
    expect(answers(peer.links[0]).map(({ sequence, status }) => [sequence, status])).toEqual([
      [9, 0],
      [10, 0],
    ]);
    expect(host.receipts).toMatchObject([{ carrierIds: ['7FA3'], state: 'DELIVERED' }]);
    expect(host.inbounds).toMatchObject([{ text: 'Hi' }]);
  },
);

test('a delivery that cannot be read is rejected permanently, logged and counted, and the link stays up', async () => {
  const { peer, host, carrier } = await bound();
  const cut = encodePdu(delivery(9, 'Hi')).subarray(0, -1);
  cut.writeUInt32BE(cut.length, 0);
  await peer.links[0]?.raw(cut);
  await until(() => answers(peer.links[0]).length === 1);
  expect(answers(peer.links[0])).toMatchObject([
    { command: 'deliver_sm_resp', sequence: 9, status: STATUS.ESME_RX_P_APPN },
  ]);
  expect(host.logs).toContain('warn: The carrier sent a PDU that cannot be read');
  expect(host.unreadables).toBe(1);
  expect(carrier.state().up).toBe(true);
});

test('a receipt is acknowledged only after the host has committed it', async () => {
  const { peer, host } = await bound();
  const committed = Promise.withResolvers<void>();
  let asked = false;
  host.receipt = () => {
    asked = true;
    return committed.promise;
  };
  const link = peer.links[0];
  link?.send(delivery(9, RECEIPT, { esmClass: 4 }));
  link?.send({ command: 'enquire_link', status: 0, sequence: 10 });
  await until(() => asked && link?.received.at(-1)?.command === 'enquire_link_resp');
  expect(answers(link)).toEqual([]);
  committed.resolve();
  await until(() => answers(link).length === 1);
});

test('a delivery that the host could not store is refused temporarily, and the link stays up', async () => {
  const { peer, host } = await bound();
  host.receipt = () => Promise.reject(new Error('the database is away'));
  host.inbound = () => {
    throw new Error('the database is away');
  };
  const link = peer.links[0];
  link?.send(delivery(9, RECEIPT, { esmClass: 4 }));
  link?.send(delivery(10, 'Hi'));
  await until(() => answers(link).length === 2);
  expect(answers(link).map((pdu) => pdu.status)).toEqual([STATUS.ESME_RX_T_APPN, STATUS.ESME_RX_T_APPN]);
});

test('a text from a handset is an inbound message, with its part number and its octets', async () => {
  const { peer, host } = await bound();
  const octets = Buffer.from('0500035c0201004f006c00e1', 'hex');
  const more = { esmClass: 0x40, dataCoding: 8, shortMessage: octets };
  peer.links[0]?.send(delivery(9, '', more));
  await until(() => answers(peer.links[0]).length === 1);
  expect(host.inbounds).toEqual([
    {
      source: '351912345678',
      destination: 'ACME',
      text: 'Olá',
      concat: { ref: 0x5c, total: 2, seq: 1 },
      raw: Uint8Array.from(octets),
    },
  ]);
});

test('an inbound text with a national language table is read with it', async () => {
  const { peer, host } = await bound();
  const shortMessage = Buffer.from('0325010154651d656b6b72', 'hex');
  peer.links[0]?.send(delivery(9, '', { esmClass: 0x40, shortMessage }));
  await until(() => answers(peer.links[0]).length === 1);
  expect(host.inbounds).toMatchObject([{ text: 'Teşekkr' }]);
});

test.each([
  [TAG.receipted_message_id, cStringValue('7F-1'), '7F-1'],
  [TAG.user_message_reference, Buffer.from([1, 44]), 'reference 300'],
  [TAG.user_message_reference, Buffer.from([0, 0]), undefined],
])('an inbound message has the id that the carrier gives it: parameter %d', async (tag, value, carrierId) => {
  const { peer, host } = await bound();
  peer.links[0]?.send(delivery(9, 'Hi', { tlvs: new Map([[tag, value]]) }));
  await until(() => answers(peer.links[0]).length === 1);
  expect(host.inbounds.map((inbound) => inbound.carrierId)).toEqual([carrierId]);
});

test('the host learns that a response was written, and not if the link ends before', async () => {
  const { peer, host } = await bound();
  const committed = Promise.withResolvers<void>();
  const answered: string[] = [];
  host.inbound = ({ text }, written) => {
    void written?.then(() => answered.push(text));
    return text === 'late' ? committed.promise : Promise.resolve();
  };
  peer.links[0]?.send(delivery(9, 'late'));
  peer.links[0]?.send(delivery(10, 'in time'));
  await until(() => answered.length === 1);
  peer.links[0]?.cut();
  await until(() => peer.links.length === 2);
  committed.resolve();
  peer.links[1]?.send(delivery(11, 'again'));
  await until(() => answered.length === 2);
  expect(answered).toEqual(['in time', 'again']);
});

test.each([
  [false, 'Hello \u0004 you'],
  [true, 'Hello è you'],
])('a text with data_coding 1 is IA5, or GSM where the connection says so (%s)', async (ia5AsDefault, text) => {
  const { peer, host } = await bound(undefined, { ia5AsDefault });
  const octets = Buffer.from('Hello \u0004 you', 'latin1');
  peer.links[0]?.send(delivery(9, '', { dataCoding: 1, shortMessage: octets }));
  await until(() => answers(peer.links[0]).length === 1);
  expect(host.inbounds).toMatchObject([{ text }]);
});

test('a data_sm is treated like a deliver_sm and gets its own response', async () => {
  const { peer, host } = await bound();
  const { serviceType, sourceTon, sourceNpi, source, destTon, destNpi, destination } = delivery(0, '');
  const address = { serviceType, sourceTon, sourceNpi, source, destTon, destNpi, destination };
  const rest = { status: 0, registeredDelivery: 0, dataCoding: 0, ...address };
  const receiptTlvs = new Map([
    [TAG.receipted_message_id, cStringValue('AB')],
    [TAG.message_state, uint8(5)],
  ]);
  const payload = new Map([[TAG.message_payload, Buffer.from('Hi')]]);
  peer.links[0]?.send({ command: 'data_sm', sequence: 3, esmClass: 4, tlvs: receiptTlvs, ...rest });
  peer.links[0]?.send({ command: 'data_sm', sequence: 4, esmClass: 0, tlvs: payload, ...rest });
  await until(() => answers(peer.links[0]).length === 2);
  expect(host.receipts).toMatchObject([{ carrierIds: ['AB'], state: 'UNDELIVERABLE' }]);
  expect(host.inbounds).toMatchObject([{ text: 'Hi' }]);
  expect(answers(peer.links[0])).toMatchObject([
    { command: 'data_sm_resp', status: 0, sequence: 3 },
    { command: 'data_sm_resp', status: 0, sequence: 4 },
  ]);
});

test('a receipt that names no message is acknowledged, so that it is not repeated for ever, and logged', async () => {
  const { peer, host } = await bound();
  peer.links[0]?.send(delivery(9, 'no id here', { esmClass: 4 }));
  await until(() => answers(peer.links[0]).length === 1);
  expect(answers(peer.links[0])[0]?.status).toBe(0);
  expect(host.receipts).toEqual([]);
  expect(host.logs.some((line) => line.startsWith('warn: A receipt without an id'))).toBe(true);
  expect(host.unreadables).toBe(1);
});

test('a receipt that arrives in one segment with the bind response is not lost', async () => {
  const { peer, host } = await bound((pdu, link) => {
    if (pdu.command !== 'bind_transceiver') return false;
    link.send({ command: 'bind_transceiver_resp', status: 0, sequence: pdu.sequence, systemId: '', tlvs: NO_TLVS });
    link.send(delivery(1, RECEIPT, { esmClass: 4 }));
    return true;
  });
  await until(() => answers(peer.links[0]).length === 1);
  expect(answers(peer.links[0])[0]?.status).toBe(0);
  expect(host.receipts).toHaveLength(1);
});

test('deliveries that the host stores together are acknowledged together, and so are later ones', async () => {
  const { peer, host } = await bound();
  const link = peer.links[0];
  const first = Promise.withResolvers<void>();
  let asked = 0;
  host.receipt = () => {
    asked += 1;
    return first.promise;
  };
  for (const sequence of [1, 2, 3]) link?.send(delivery(sequence, RECEIPT, { esmClass: 4 }));
  await until(() => asked === 3);
  expect(answers(link)).toEqual([]);
  first.resolve();
  await until(() => answers(link).length === 3);
  link?.send(delivery(4, RECEIPT, { esmClass: 4 }));
  await until(() => answers(link).length === 4);
  expect(answers(link).map(({ sequence, status }) => [sequence, status])).toEqual([1, 2, 3, 4].map((n) => [n, 0]));
});

test('when the host fails to store several deliveries together, all of them are refused temporarily', async () => {
  const { peer, host } = await bound();
  const failing = Promise.withResolvers<void>();
  let asked = 0;
  host.receipt = () => {
    asked += 1;
    return failing.promise;
  };
  for (const sequence of [1, 2]) peer.links[0]?.send(delivery(sequence, RECEIPT, { esmClass: 4 }));
  await until(() => asked === 2);
  failing.reject(new Error('the database is away'));
  await until(() => answers(peer.links[0]).length === 2);
  for (const { status } of answers(peer.links[0])) expect(status).toBe(STATUS.ESME_RX_T_APPN);
});

test('while stopping, new deliveries are refused temporarily, and those at the host are still acknowledged', async () => {
  const committed = Promise.withResolvers<void>();
  const { carrier, peer, host } = await bound((pdu) => pdu.command === 'submit_sm');
  const link = peer.links[0];
  let asked = false;
  host.receipt = () => {
    asked = true;
    return committed.promise;
  };
  link?.send(delivery(1, RECEIPT, { esmClass: 4 }));
  await until(() => asked);
  const stopped = carrier.stop(5000);
  link?.send(delivery(2, RECEIPT, { esmClass: 4 }));
  await until(() => answers(link).length === 1);
  expect(answers(link)).toMatchObject([{ sequence: 2, status: STATUS.ESME_RX_T_APPN }]);
  committed.resolve();
  await stopped;
  expect(answers(link)[1]).toMatchObject({ sequence: 1, status: 0 });
});
