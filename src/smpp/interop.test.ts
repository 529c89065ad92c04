import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readReceipt, receiptText } from '../channels/smpp/receipts.ts';
import { decodePdu, encodePdu, type Message, type Pdu } from './pdu.ts';
import { concatOf, encodeText, textOf, udhConcat } from './text.ts';
import { cStringValue, NO_TLVS, TAG, uint8, uint16 } from './wire.ts';

// The codec against the one of the npm package `smpp`, which shares no code with it, in both directions.

type Fields = Record<string, unknown>;
type LibraryPdu = Fields & { toBuffer(): Buffer };
type Library = { PDU: new (command: string | Buffer, options?: Fields) => LibraryPdu };

const library: Library = createRequire(import.meta.url)('smpp');

const theirs = (pdu: Pdu): Fields => new library.PDU(encodePdu(pdu));
const ours = (command: string, fields: Fields): ReturnType<typeof decodePdu> =>
  decodePdu(new library.PDU(command, { sequence_number: 1, ...fields }).toBuffer());

const message: Message = {
  serviceType: 'CMT',
  sourceTon: 5,
  sourceNpi: 0,
  source: 'ACME',
  destTon: 1,
  destNpi: 1,
  destination: '351912345678',
  esmClass: 0,
  protocolId: 2,
  priority: 3,
  scheduleTime: '',
  validity: '261231235900000+',
  registeredDelivery: 1,
  replaceIfPresent: 1,
  dataCoding: 0,
  defaultMessageId: 4,
  shortMessage: encodeText('Hello €').parts[0] ?? new Uint8Array(),
  tlvs: NO_TLVS,
};
const submit = (change: Partial<Message>): Pdu => ({
  command: 'submit_sm',
  status: 0,
  sequence: 2,
  ...message,
  ...change,
});
/** The same message in the library's names, without the fields that each test sets itself. */
const fields: Fields = {
  service_type: 'CMT',
  source_addr_ton: 5,
  source_addr_npi: 0,
  source_addr: 'ACME',
  dest_addr_ton: 1,
  dest_addr_npi: 1,
  destination_addr: '351912345678',
  esm_class: 0,
  protocol_id: 2,
  priority_flag: 3,
  registered_delivery: 1,
  replace_if_present_flag: 1,
  sm_default_msg_id: 4,
};

describe('what we write, the library reads', () => {
  test('a bind', () => {
    const bind = { systemId: 'gw1', password: 'secret08', systemType: 'VMA', interfaceVersion: 0x34 };
    const rest = { addrTon: 1, addrNpi: 2, addressRange: '^351' };
    expect(theirs({ command: 'bind_transceiver', status: 0, sequence: 9, ...bind, ...rest })).toMatchObject({
      command: 'bind_transceiver',
      sequence_number: 9,
      system_id: 'gw1',
      password: 'secret08',
      system_type: 'VMA',
      interface_version: 0x34,
      addr_ton: 1,
      addr_npi: 2,
      address_range: '^351',
    });
  });

  test('a bind response with its version', () => {
    const tlvs = new Map([[TAG.sc_interface_version, uint8(0x34)]]);
    expect(theirs({ command: 'bind_receiver_resp', status: 0, sequence: 1, systemId: 'SMSC', tlvs })).toMatchObject({
      system_id: 'SMSC',
      sc_interface_version: 0x34,
    });
  });

  test('a message in GSM 03.38 with every field', () => {
    expect(theirs(submit({}))).toMatchObject({
      ...fields,
      command: 'submit_sm',
      validity_period: new Date('2026-12-31T23:59:00Z'),
      data_coding: 0,
      short_message: { message: 'Hello €' },
    });
  });

  test('a part in UCS-2 behind its header', () => {
    const header = udhConcat(0x5c, 2, 1, 8);
    const text = encodeText('Olá 😀').parts[0] ?? new Uint8Array();
    const pdu = theirs(submit({ esmClass: 0x40, dataCoding: 8, shortMessage: Buffer.concat([header, text]) }));
    expect(pdu).toMatchObject({ esm_class: 0x40, short_message: { message: 'Olá 😀' } });
    expect(pdu).toMatchObject({ short_message: { udh: [Buffer.from('00035c0201', 'hex')] } });
  });

  test('a payload and the parameters of a part', () => {
    const tlvs = new Map([
      [TAG.message_payload, Buffer.from('004f006c00e1', 'hex')],
      [TAG.sar_msg_ref_num, uint16(0x1234)],
      [TAG.sar_total_segments, uint8(3)],
      [TAG.sar_segment_seqnum, uint8(2)],
    ]);
    expect(theirs(submit({ dataCoding: 8, shortMessage: new Uint8Array(), tlvs }))).toMatchObject({
      message_payload: { message: 'Olá' },
      sar_msg_ref_num: 0x1234,
      sar_total_segments: 3,
      sar_segment_seqnum: 2,
    });
  });

  test('a receipt', () => {
    const text = receiptText({
      id: '0000032675',
      submittedAt: new Date('2026-11-20T15:29:00Z'),
      doneAt: new Date('2026-11-20T15:30:00Z'),
      stat: 'DELIVRD',
      err: '000',
      text: 'Hello',
    });
    const tlvs = new Map([
      [TAG.receipted_message_id, cStringValue('7FA3')],
      [TAG.message_state, uint8(2)],
      [TAG.network_error_code, Uint8Array.of(3, 0, 0)],
    ]);
    const shortMessage = Buffer.from(text, 'latin1');
    const pdu: Pdu = { command: 'deliver_sm', status: 0, sequence: 1, ...message, esmClass: 4, shortMessage, tlvs };
    expect(theirs(pdu)).toMatchObject({
      command: 'deliver_sm',
      esm_class: 4,
      short_message: { message: text },
      receipted_message_id: '7FA3',
      message_state: 2,
      network_error_code: Buffer.from([3, 0, 0]),
    });
  });

  test('responses with and without an error', () => {
    expect(
      theirs({ command: 'submit_sm_resp', status: 0, sequence: 1, messageId: '7FA3', tlvs: NO_TLVS }),
    ).toMatchObject({ command: 'submit_sm_resp', command_status: 0, message_id: '7FA3' });
    expect(
      theirs({ command: 'submit_sm_resp', status: 0x58, sequence: 1, messageId: '', tlvs: NO_TLVS }),
    ).toMatchObject({ command_status: 0x58, command_length: 16 });
  });
});

describe('what the library writes, we read', () => {
  test('a bind', () => {
    const bind = { system_id: 'gw1', password: 'secret08', system_type: 'VMA', interface_version: 0x34 };
    const rest = { addr_ton: 1, addr_npi: 2, address_range: '^351' };
    expect(ours('bind_transmitter', { ...bind, ...rest })).toEqual({
      command: 'bind_transmitter',
      status: 0,
      sequence: 1,
      systemId: 'gw1',
      password: 'secret08',
      systemType: 'VMA',
      interfaceVersion: 0x34,
      addrTon: 1,
      addrNpi: 2,
      addressRange: '^351',
    });
  });

  test('a message in GSM 03.38 with every field', () => {
    const validity = new Date('2026-12-31T23:59:00Z');
    const pdu = ours('submit_sm', { ...fields, validity_period: validity, data_coding: 0, short_message: 'Hello €' });
    const { shortMessage, validity: _, ...rest } = message;
    expect(pdu).toMatchObject({ command: 'submit_sm', ...rest });
    expect(pdu).toMatchObject({ shortMessage: Buffer.from(shortMessage) });
    expect(pdu).toHaveProperty('validity', expect.stringMatching(/^261231235900000\+$/));
  });

  test('a part in UCS-2 behind its header', () => {
    const udh = Buffer.from('0500035c0201', 'hex');
    const pdu = ours('submit_sm', {
      ...fields,
      esm_class: 0x40,
      data_coding: 8,
      short_message: { udh, message: 'Olá' },
    });
    if (!('command' in pdu) || pdu.command !== 'submit_sm') throw new Error('no submit_sm');
    expect(Buffer.from(pdu.shortMessage).toString('hex')).toBe('0500035c0201004f006c00e1');
    expect(concatOf(pdu)).toEqual({ ref: 0x5c, total: 2, seq: 1 });
    expect(textOf(pdu, 'gsm')).toBe('Olá');
  });

  test('a payload', () => {
    const pdu = ours('submit_sm', { ...fields, data_coding: 8, message_payload: { message: 'Olá 😀' } });
    if (!('command' in pdu) || pdu.command !== 'submit_sm') throw new Error('no submit_sm');
    expect(textOf(pdu, 'gsm')).toBe('Olá 😀');
  });

  test('a receipt', () => {
    const text =
      'id:0000032675 sub:001 dlvrd:000 submit date:2611201529 done date:2611201530 stat:EXPIRED err:011 text:Hi';
    const pdu = ours('deliver_sm', {
      source_addr: '351912345678',
      destination_addr: 'ACME',
      esm_class: 4,
      short_message: Buffer.from(text),
      data_coding: 0,
      receipted_message_id: '7FA3',
      message_state: 3,
    });
    if (!('command' in pdu) || pdu.command !== 'deliver_sm') throw new Error('no deliver_sm');
    expect(readReceipt(pdu)).toEqual({
      carrierIds: ['7FA3', '0000032675'],
      state: 'EXPIRED',
      doneAt: new Date('2026-11-20T15:30:00Z'),
      errorCode: '011',
      destination: '351912345678',
      sender: 'ACME',
      // Without what it quotes of the message.
      raw: text.replace('Hi', ''),
    });
  });

  test.for([
    ['submit_sm_resp', { message_id: '7FA3' }, { messageId: '7FA3' }],
    ['query_sm_resp', { message_id: '7', message_state: 2, error_code: 1 }, { messageState: 2, errorCode: 1 }],
    ['cancel_sm', { message_id: '7', destination_addr: '351' }, { messageId: '7', destination: '351' }],
    ['replace_sm', { message_id: '7', short_message: Buffer.from('abc') }, { shortMessage: Buffer.from('abc') }],
    ['data_sm', { destination_addr: '351', data_coding: 8 }, { destination: '351', dataCoding: 8 }],
    [
      'submit_multi',
      { dest_address: [{ dest_addr_ton: 1, dest_addr_npi: 1, destination_addr: '351' }, { dl_name: 'all' }] },
      { destinations: [{ ton: 1, npi: 1, address: '351' }, { list: 'all' }] },
    ],
    [
      'submit_multi_resp',
      {
        message_id: '7',
        unsuccess_sme: [{ dest_addr_ton: 1, dest_addr_npi: 1, destination_addr: '351', error_status_code: 11 }],
      },
      { unsuccessful: [{ ton: 1, npi: 1, address: '351', errorStatus: 11 }] },
    ],
    ['outbind', { system_id: 'SMSC', password: 'x' }, { systemId: 'SMSC', password: 'x' }],
    ['unbind', {}, {}],
    ['enquire_link_resp', {}, {}],
    ['generic_nack', { command_status: 3 }, { status: 3 }],
  ] as const)('%s', ([command, sent, expected]) => {
    expect(ours(command, sent)).toMatchObject({ command, sequence: 1, ...expected });
  });
});

test('any text in GSM 03.38 or UCS-2 is the same text to the library', () => {
  const units = [...'aZ09@£$é_ÇΔΦ¡¿§{}[]~|^€\\ç中Ж', '😀'];
  const texts = fc.string({ unit: fc.constantFrom(...units), maxLength: 60, size: 'max' });
  fc.assert(
    fc.property(texts, (text) => {
      const { parts, dataCoding } = encodeText(text);
      expect(theirs(submit({ dataCoding, shortMessage: parts[0] ?? new Uint8Array() }))).toMatchObject({
        short_message: { message: text },
      });
    }),
    { numRuns: 500 },
  );
});
