import { describe, expect, test } from 'vitest';
import { absoluteTime } from '../smpp/message.ts';
import { EMPTY_MESSAGE, type Message } from '../smpp/pdu.ts';
import { statusName } from '../smpp/status.ts';
import { TAG, uint8, uint16 } from '../smpp/wire.ts';
import { defaultScript } from './smsc-script.ts';
import { submitStatus } from './smsc-submit.ts';

const VALID: Message = {
  ...EMPTY_MESSAGE,
  sourceTon: 5,
  source: 'ACME',
  destination: '351912345678',
  registeredDelivery: 1,
  shortMessage: Buffer.from('Hello'),
};

const octets = (length: number) => new Uint8Array(length).fill(0x61);
const tlvs = (...entries: [number, Uint8Array][]) => new Map(entries);
const withHeader = (header: number[], length: number) => Buffer.concat([Uint8Array.from(header), octets(length)]);
const verdict = (changes: Partial<Message>, allowPlus = false) =>
  statusName(submitStatus({ ...VALID, ...changes }, { ...defaultScript(), allowPlus }));

const ref = (value: Uint8Array): [number, Uint8Array] => [TAG.sar_msg_ref_num, value];
const total = (value: number): [number, Uint8Array] => [TAG.sar_total_segments, uint8(value)];
const seq = (value: number): [number, Uint8Array] => [TAG.sar_segment_seqnum, uint8(value)];
const future = () => absoluteTime(new Date(Date.now() + 3_600_000));
const past = () => absoluteTime(new Date(Date.now() - 3_600_000));

describe('a strict carrier accepts', () => {
  test.each<[string, Partial<Message>]>([
    ['160 septets', { shortMessage: octets(160) }],
    ['140 octets of 8-bit data', { dataCoding: 4, shortMessage: octets(140) }],
    ['70 UCS-2 units', { dataCoding: 8, shortMessage: octets(140) }],
    ['153 septets after a 6 octet header', { esmClass: 0x40, shortMessage: withHeader([5, 0, 3, 1, 2, 1], 153) }],
    ['152 septets after a 7 octet header', { esmClass: 0x40, shortMessage: withHeader([6, 8, 4, 1, 1, 2, 1], 152) }],
    [
      '67 UCS-2 units after a header',
      { esmClass: 0x43, dataCoding: 8, shortMessage: withHeader([5, 0, 3, 1, 2, 2], 134) },
    ],
    ['a header with ports', { esmClass: 0x40, dataCoding: 4, shortMessage: withHeader([6, 5, 4, 0, 1, 0, 2], 10) }],
    ['SAR parameters', { tlvs: tlvs(ref(uint16(1)), total(2), seq(2)) }],
    ['a payload alone', { shortMessage: octets(0), tlvs: tlvs([TAG.message_payload, octets(2000)]) }],
    ['a vendor parameter', { tlvs: tlvs([0x1500, octets(3)]) }],
    ['a flash message', { dataCoding: 0xf0 }],
    ['a long number', { sourceTon: 1, sourceNpi: 1, source: '351210000000' }],
    ['a short code', { sourceTon: 3, sourceNpi: 0, source: '62022' }],
    ['no sender', { sourceTon: 0, source: '' }],
    ['a validity in the future', { validity: future() }],
    ['a relative validity', { validity: '000000030000000R' }],
    ['failures only and intermediate notifications', { registeredDelivery: 0x12 }],
  ])('%s', (_, changes) => {
    expect(verdict(changes)).toBe('ESME_ROK');
  });

  test('a leading plus sign only when the script allows it', () => {
    expect(verdict({ destination: '+351912345678' })).toBe('ESME_RINVDSTADR');
    expect(verdict({ destination: '+351912345678' }, true)).toBe('ESME_ROK');
  });
});

describe('a strict carrier refuses', () => {
  test.each<[string, string, Partial<Message>]>([
    ['161 septets', 'ESME_RINVMSGLEN', { shortMessage: octets(161) }],
    ['141 octets of 8-bit data', 'ESME_RINVMSGLEN', { dataCoding: 4, shortMessage: octets(141) }],
    ['71 UCS-2 units', 'ESME_RINVMSGLEN', { dataCoding: 8, shortMessage: octets(142) }],
    ['half a UCS-2 unit', 'ESME_RINVMSGLEN', { dataCoding: 8, shortMessage: octets(5) }],
    [
      '154 septets after a header',
      'ESME_RINVMSGLEN',
      { esmClass: 0x40, shortMessage: withHeader([5, 0, 3, 1, 2, 1], 154) },
    ],
    [
      '68 units after a header',
      'ESME_RINVMSGLEN',
      { esmClass: 0x40, dataCoding: 8, shortMessage: withHeader([5, 0, 3, 1, 2, 1], 136) },
    ],
    ['255 octets', 'ESME_RINVMSGLEN', { shortMessage: octets(255) }],
    ['nothing at all', 'ESME_RINVMSGLEN', { shortMessage: octets(0) }],
    ['text and payload', 'ESME_RINVMSGLEN', { tlvs: tlvs([TAG.message_payload, octets(1)]) }],
    ['an empty payload', 'ESME_RINVMSGLEN', { shortMessage: octets(0), tlvs: tlvs([TAG.message_payload, octets(0)]) }],
    ['an undefined data_coding', 'ESME_RINVDCS', { dataCoding: 0x77 }],
    ['a sender of 12 letters', 'ESME_RINVSRCADR', { source: 'TWELVELETTER' }],
    ['a sender of 8-bit letters', 'ESME_RINVSRCADR', { source: 'Olá' }],
    ['letters in a number', 'ESME_RINVSRCADR', { sourceTon: 1, sourceNpi: 1, source: '35121A000' }],
    ['an empty sender with a type', 'ESME_RINVSRCADR', { source: '' }],
    ['an alphanumeric sender in a national plan', 'ESME_RINVSRCNPI', { sourceNpi: 8 }],
    ['an undefined type of sender', 'ESME_RINVSRCTON', { sourceTon: 7 }],
    ['an undefined numbering plan of the sender', 'ESME_RINVSRCNPI', { sourceNpi: 2 }],
    ['no destination', 'ESME_RINVDSTADR', { destination: '' }],
    ['a destination with a zero in front', 'ESME_RINVDSTADR', { destination: '00351912345678' }],
    ['16 digits', 'ESME_RINVDSTADR', { destination: '3519123456789012' }],
    ['an alphanumeric destination', 'ESME_RINVDSTTON', { destTon: 5, destination: 'ACME' }],
    ['an undefined numbering plan of the destination', 'ESME_RINVDSTNPI', { destNpi: 99 }],
    ['a receipt type from a client', 'ESME_RINVESMCLASS', { esmClass: 0x04 }],
    [
      'a header and SAR parameters',
      'ESME_RINVTLVVAL',
      { esmClass: 0x40, shortMessage: withHeader([5, 0, 3, 1, 2, 1], 5), tlvs: tlvs(ref(uint16(1)), total(2), seq(1)) },
    ],
    [
      'a header element that overruns',
      'ESME_RINVESMCLASS',
      { esmClass: 0x40, shortMessage: withHeader([5, 0, 9, 1, 2, 1], 5) },
    ],
    ['part 3 of 2', 'ESME_RINVESMCLASS', { esmClass: 0x40, shortMessage: withHeader([5, 0, 3, 1, 2, 3], 5) }],
    ['part 0', 'ESME_RINVESMCLASS', { esmClass: 0x40, shortMessage: withHeader([6, 8, 4, 1, 1, 2, 0], 5) }],
    ['SAR without its reference', 'ESME_RMISSINGTLV', { tlvs: tlvs(total(2), seq(1)) }],
    ['a SAR reference of one octet', 'ESME_RINVTLVLEN', { tlvs: tlvs(ref(uint8(1)), total(2), seq(1)) }],
    ['SAR part 3 of 2', 'ESME_RINVTLVVAL', { tlvs: tlvs(ref(uint16(1)), total(2), seq(3)) }],
    ['a schedule', 'ESME_RINVSCHED', { scheduleTime: future() }],
    ['a validity in the past', 'ESME_RINVEXPIRY', { validity: past() }],
    ['a validity of nothing', 'ESME_RINVEXPIRY', { validity: '000000000000000R' }],
    ['a validity that is no time', 'ESME_RINVEXPIRY', { validity: 'tomorrow' }],
    ['a reserved kind of receipt', 'ESME_RINVREGDLVFLG', { registeredDelivery: 3 }],
    ['a high bit in registered_delivery', 'ESME_RINVREGDLVFLG', { registeredDelivery: 0x81 }],
    ['a service_type of 6', 'ESME_RINVSERTYP', { serviceType: 'LONGER' }],
    ['priority 4', 'ESME_RINVPRTFLG', { priority: 4 }],
    ['a replace flag of 2', 'ESME_RINVREPFLAG', { replaceIfPresent: 2 }],
    ['a predefined message', 'ESME_RINVDFTMSGID', { defaultMessageId: 1 }],
  ])('%s: %s', (_, status, changes) => {
    expect(verdict(changes)).toBe(status);
  });

  test('a message with several faults by the first one in order', () => {
    const faults = { shortMessage: octets(161), source: '', destination: '', registeredDelivery: 3 };
    expect(verdict(faults)).toBe('ESME_RINVMSGLEN');
    expect(verdict({ ...faults, shortMessage: octets(1) })).toBe('ESME_RINVSRCADR');
    expect(verdict({ destination: '', registeredDelivery: 3 })).toBe('ESME_RINVDSTADR');
  });
});
