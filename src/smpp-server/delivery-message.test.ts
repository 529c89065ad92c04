import { describe, expect, test } from 'vitest';
import { isReceipt, readReceipt } from '../channels/smpp/receipts.ts';
import { STATUS, STATUS_NAMES } from '../core/message-state.ts';
import { decodePdu, encodePdu, type Message } from '../smpp/pdu.ts';
import { concatOf, textOf } from '../smpp/text.ts';
import { readUint, TAG } from '../smpp/wire.ts';
import type { DeliveryRow } from '../webhooks/smpp-outbox.ts';
import { type Recipient, toMessages } from './delivery-message.ts';

const ID = '01936f00-0000-7000-8000-00000000d500';
const TO: Recipient = { alphabet: 'gsm', version: 0x34 };

const row = (more: Partial<DeliveryRow> = {}): DeliveryRow => ({
  id: 1,
  accountId: 1,
  credentialId: 7,
  messageId: ID,
  status: STATUS.DELIVERED,
  at: new Date('2026-11-26T12:34:56Z'),
  shownId: ID,
  reference: null,
  sourceTon: 5,
  sourceNpi: 0,
  source: 'ACME',
  destTon: 1,
  destNpi: 1,
  destination: '351912345678',
  text: 'Hello',
  failures: 0,
  ...more,
});
const inbound = (text: string): DeliveryRow =>
  row({ status: null, credentialId: null, source: '351912345678', destination: '4040', text });

/** Returns the message as a client gets it. */
const received = (message: Message | undefined): Message => {
  if (!message) throw new Error('there is no such message');
  const pdu = decodePdu(encodePdu({ ...message, command: 'deliver_sm', status: 0, sequence: 1 }));
  if (!('command' in pdu) || pdu.command !== 'deliver_sm') throw new Error('not a deliver_sm');
  return pdu;
};

describe('a receipt', () => {
  test('has the usual text and the parameters, with the addresses of the submit swapped', () => {
    const [message] = toMessages(row({ reference: 300 }), TO);
    const pdu = received(message);
    expect(textOf(pdu, 'gsm')).toBe(
      `id:${ID} sub:001 dlvrd:001 submit date:2411271901 done date:2611261234 stat:DELIVRD err:000 text:Hello`,
    );
    expect([pdu.source, pdu.sourceTon, pdu.destination, pdu.destTon]).toEqual(['351912345678', 1, 'ACME', 5]);
    expect(isReceipt(pdu, false)).toBe(true);
    expect(readReceipt(pdu)).toMatchObject({ carrierIds: [ID], state: 'DELIVERED' });
    expect(readUint(pdu.tlvs, TAG.user_message_reference, 2)).toBe(300);
  });

  test.each(STATUS_NAMES)('of the state %s can be read as the same kind of end', (name) => {
    const [message] = toMessages(row({ status: STATUS[name] }), TO);
    const read = readReceipt(received(message));
    const failed = ['ERROR', 'DISABLED', 'UNSUPPORTED', 'CONVERSATION_CLOSED'];
    expect(read?.state).toBe(failed.includes(name) ? 'UNDELIVERABLE' : name);
  });

  test('to a client of SMPP 3.3 has no parameters', () => {
    expect(received(toMessages(row(), { ...TO, version: 0x33 })[0]).tlvs.size).toBe(0);
  });

  test('of a state that is not final is an intermediate notification', () => {
    expect(toMessages(row({ status: STATUS.ACCEPTED }), TO)[0]?.esmClass).toBe(0x20);
  });

  test('of a text in any script fits the protocol', () => {
    expect(textOf(received(toMessages(row({ text: 'Привет, мир и все в нём' }), TO)[0]), 'gsm')).toContain(
      'text:......, ...',
    );
  });
});

describe('an inbound message', () => {
  test.each(['Hello €', 'Привет 😀', 'x'.repeat(200), 'ж'.repeat(120), 'ж'.repeat(500), 'y'.repeat(1000)])(
    'is one deliver_sm with its whole text: %s',
    (text) => {
      const messages = toMessages(inbound(text), TO);
      expect(messages).toHaveLength(1);
      const pdu = received(messages[0]);
      expect(textOf(pdu, 'gsm')).toBe(text);
      expect([pdu.esmClass, pdu.source, pdu.destination]).toEqual([0, '351912345678', '4040']);
    },
  );

  test('of several parts has these for a client of SMPP 3.3, which knows no message_payload', () => {
    const text = 'ж'.repeat(150);
    const pdus = toMessages(inbound(text), { ...TO, version: 0x33 }).map(received);
    expect(pdus.map((pdu) => concatOf(pdu)?.seq)).toEqual([1, 2, 3]);
    expect(pdus.map((pdu) => textOf(pdu, 'gsm')).join('')).toBe(text);
  });

  test("is in the client's default alphabet where that has its characters", () => {
    const pdu = received(toMessages(inbound('olá'), { ...TO, alphabet: 'utf8' })[0]);
    expect(textOf(pdu, pdu.dataCoding === 0 ? 'utf8' : 'gsm')).toBe('olá');
  });

  test('from an address that carriers may write, but no field takes, is cut', () => {
    const odd = { ...inbound('x'), source: 'ж'.repeat(30) };
    expect(received(toMessages(odd, TO)[0]).source).toBe('?'.repeat(20));
  });
});
