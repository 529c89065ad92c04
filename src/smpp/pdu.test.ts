import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ANY, anyPdu } from '../../test/support/carriers/pdu.arbitrary.ts';
import { COMMAND, decodePdu, EMPTY_MESSAGE, encodePdu, type Message, type Pdu, withoutBody } from './pdu.ts';
import { cStringValue, NO_TLVS, TAG, uint8 } from './wire.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');

const message: Message = {
  ...EMPTY_MESSAGE,
  sourceTon: 5,
  source: 'ACME',
  destination: '351912345678',
  validity: '261231235900000+',
  registeredDelivery: 1,
  shortMessage: hex('48656c6c6f201b65'),
};
const submit: Pdu = { command: 'submit_sm', status: 0, sequence: 2, ...message };

/** Made with the npm package `smpp` 0.5.1 and checked by hand. */
const VECTORS: readonly (readonly [string, string, Pdu])[] = [
  [
    'bind_transceiver',
    '00000022 00000009 00000000 00000001 677731 00 7365637265743038 00 00 34 00 00 00',
    {
      command: 'bind_transceiver',
      status: 0,
      sequence: 1,
      systemId: 'gw1',
      password: 'secret08',
      systemType: '',
      interfaceVersion: 0x34,
      addrTon: 0,
      addrNpi: 0,
      addressRange: '',
    },
  ],
  [
    'bind_transceiver_resp with its version',
    '0000001a 80000009 00000000 00000001 534d5343 00 0210 0001 34',
    {
      command: 'bind_transceiver_resp',
      status: 0,
      sequence: 1,
      systemId: 'SMSC',
      tlvs: new Map([[TAG.sc_interface_version, uint8(0x34)]]),
    },
  ],
  [
    'submit_sm',
    `00000049 00000004 00000000 00000002 00 05 00 41434d4500 01 01 33353139313233343536373800 00 00 00
     00 3236313233313233353930303030302b00 01 00 00 00 08 48656c6c6f201b65`,
    submit,
  ],
  [
    'submit_sm_resp',
    '00000015 80000004 00000000 00000002 3746413300',
    { command: 'submit_sm_resp', status: 0, sequence: 2, messageId: '7FA3', tlvs: NO_TLVS },
  ],
  ['enquire_link', '00000010 00000015 00000000 00000003', { command: 'enquire_link', status: 0, sequence: 3 }],
  [
    'enquire_link_resp',
    '00000010 80000015 00000000 00000003',
    { command: 'enquire_link_resp', status: 0, sequence: 3 },
  ],
  ['generic_nack', '00000010 80000000 00000003 00000009', { command: 'generic_nack', status: 3, sequence: 9 }],
  [
    'deliver_sm_resp',
    '00000011 80000005 00000000 00000001 00',
    { command: 'deliver_sm_resp', status: 0, sequence: 1, messageId: '', tlvs: NO_TLVS },
  ],
];

/** A whole frame of the given command around a body. */
function frame(commandId: number, status: number, body: string): Buffer {
  const octets = hex(body);
  const header = Buffer.alloc(16);
  header.writeUInt32BE(16 + octets.length, 0);
  header.writeUInt32BE(commandId, 4);
  header.writeUInt32BE(status, 8);
  header.writeUInt32BE(7, 12);
  return Buffer.concat([header, octets]);
}

/** Returns a comparable value: octet fields decode to views of one Buffer, of which only the octets matter. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (value instanceof Map) return [...value].map(([tag, octets]) => [tag, plain(octets)]);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]));
}

describe('the vectors of another implementation', () => {
  test.for(VECTORS)('%s is encoded byte for byte', ([, octets, pdu]) => {
    expect(encodePdu(pdu).toString('hex')).toBe(hex(octets).toString('hex'));
  });

  test.for(VECTORS)('%s is decoded field by field', ([, octets, pdu]) => {
    expect(plain(decodePdu(hex(octets)))).toEqual(plain(pdu));
  });

  test('the parameters of a receipt are encoded byte for byte', () => {
    const tlvs = new Map([
      [TAG.receipted_message_id, cStringValue('7FA3')],
      [TAG.message_state, uint8(2)],
    ]);
    const octets = encodePdu({ command: 'deliver_sm', status: 0, sequence: 1, ...message, tlvs });
    expect(octets.toString('hex').endsWith('001e0005374641330004270001' + '02')).toBe(true);
  });
});

describe('encode and decode', () => {
  test.for(Object.entries(ANY))('every %s comes back as it was', ([, arbitrary]) => {
    fc.assert(
      fc.property(arbitrary, (pdu: Pdu) => {
        expect(plain(decodePdu(encodePdu(pdu)))).toEqual(plain(pdu));
      }),
      { numRuns: 60 },
    );
  });

  test('every command of the table has its id in octets 4 to 7', () => {
    fc.assert(
      fc.property(anyPdu, (pdu) => {
        expect(encodePdu(pdu).readUInt32BE(4)).toBe(COMMAND[pdu.command]);
      }),
    );
  });

  test('a plain Uint8Array that lies inside a larger buffer is decoded like a Buffer', () => {
    const octets = encodePdu(submit);
    const around = new Uint8Array(octets.length + 10);
    around.set(octets, 5);
    expect(plain(decodePdu(around.subarray(5, 5 + octets.length)))).toEqual(plain(submit));
  });
});

describe('encode', () => {
  test('a query_sm_resp has all its fields, also with an error status', () => {
    const head = { command: 'query_sm_resp', status: 12, sequence: 7 } as const;
    const octets = encodePdu(withoutBody(head));
    expect(octets.toString('hex')).toBe('00000014800000030000000c0000000700000000');
    expect(decodePdu(octets)).toMatchObject(head);
  });

  test('a response with an error status is only a header', () => {
    const pdu: Pdu = { command: 'submit_sm_resp', status: 0x58, sequence: 4, messageId: 'ignored', tlvs: NO_TLVS };
    expect(encodePdu(pdu).toString('hex')).toBe('00000010800000040000005800000004');
  });

  test.for([
    ['source', { source: '1'.repeat(21) }],
    ['destination', { destination: '1'.repeat(21) }],
    ['serviceType', { serviceType: 'SIXSIX' }],
    ['scheduleTime', { scheduleTime: '1'.repeat(17) }],
    ['validity', { validity: '1'.repeat(17) }],
    ['shortMessage', { shortMessage: new Uint8Array(255) }],
    ['esmClass', { esmClass: 256 }],
    ['dataCoding', { dataCoding: -1 }],
    ['priority', { priority: 0.5 }],
    ['tlvs', { tlvs: new Map([[TAG.message_payload, new Uint8Array(65_536)]]) }],
  ] as const)('a value that does not fit is refused by the name of its field: %s', ([field, change]) => {
    expect(() => encodePdu({ command: 'submit_sm', status: 0, sequence: 1, ...message, ...change })).toThrow(
      new RegExp(`^${field}\\b`),
    );
  });

  test.for(['a\0b', 'Ωmega'])('a character that would break the fields behind it is refused: %j', (source) => {
    const pdu: Pdu = { command: 'submit_sm', status: 0, sequence: 1, ...message, source };
    expect(() => encodePdu(pdu)).toThrow(RangeError);
  });

  test('a password above the 8 characters of the protocol is sent', () => {
    const password = 'a much longer password';
    const bind: Pdu = {
      command: 'bind_receiver',
      status: 0,
      sequence: 1,
      systemId: 'gw1',
      password,
      systemType: '',
      interfaceVersion: 0x34,
      addrTon: 0,
      addrNpi: 0,
      addressRange: '',
    };
    expect(decodePdu(encodePdu(bind))).toMatchObject({ password });
  });
});

describe('decode', () => {
  test.for([
    ['submit_sm_resp', ''],
    ['submit_sm_resp', '00'],
    ['data_sm_resp', ''],
    ['bind_transceiver_resp', ''],
    ['bind_transmitter_resp', '00'],
    ['query_sm_resp', ''],
    ['query_sm_resp', '00'],
    ['submit_multi_resp', '00'],
    ['cancel_sm_resp', '00'],
  ] as const)('a response is read whatever is missing in its body: %s with "%s"', ([command, body]) => {
    for (const status of [0, 8]) {
      const pdu = decodePdu(frame(COMMAND[command], status, body));
      expect(pdu).toMatchObject({ command, status, sequence: 7 });
      if ('messageId' in pdu) expect(pdu.messageId).toBe('');
      if ('systemId' in pdu) expect(pdu.systemId).toBe('');
    }
  });

  test.for(['414200', '4142', '414200 04', '414200 0427 0002 02', '414200 000000'])(
    'an id is read whatever is behind it: %s',
    (body) => {
      expect(decodePdu(frame(COMMAND.submit_sm_resp, 0, body))).toMatchObject({ messageId: 'AB' });
    },
  );

  // From service_type to sm_default_msg_id, sm_length 2, "Hi".
  const HI = '00 0000 00 0000 00 00 00 00 00 00 00 00 00 00 02 4869';
  test.for([
    ['a NUL', '00', []],
    ['three NULs', '000000', []],
    ['a tag without a length', '1401', []],
    ['a parameter that is cut short', '0427 0001 02 001e 0009 4131', [TAG.message_state]],
    ['a NUL before a parameter', '00 001e 0003 413100', [TAG.receipted_message_id]],
    ['four NULs before a parameter', '00000000 0427 0001 02', [TAG.message_state]],
  ] as const)('a message is read up to what is whole in its parameters: %s', ([, rest, tags]) => {
    for (const command of [COMMAND.deliver_sm, COMMAND.submit_sm]) {
      const pdu = decodePdu(frame(command, 0, HI + rest));
      expect(plain(pdu)).toMatchObject({ shortMessage: plain(hex('4869')) });
      expect('tlvs' in pdu && [...pdu.tlvs.keys()]).toEqual(tags);
    }
  });

  test('fields above their maximum length are accepted', () => {
    const id = '41'.repeat(200);
    expect(decodePdu(frame(COMMAND.submit_sm_resp, 0, `${id}00`))).toMatchObject({ messageId: 'A'.repeat(200) });
  });

  test('parameters after a body that defines none are dropped', () => {
    expect(decodePdu(frame(COMMAND.enquire_link_resp, 0, '042800010a'))).toEqual({
      command: 'enquire_link_resp',
      status: 0,
      sequence: 7,
    });
  });

  test('unknown parameters are kept, and the first of repeated ones', () => {
    const pdu = decodePdu(frame(COMMAND.submit_sm_resp, 0, '4100 1400 0002 beef 0427 0001 02 0427 0001 05'));
    const expected = new Map([
      [0x1400, hex('beef')],
      [TAG.message_state, hex('02')],
    ]);
    expect(plain(pdu)).toMatchObject({ tlvs: plain(expected) });
  });

  test.for([
    ['a string without its end', COMMAND.submit_sm, '4142'],
    [
      'a payload longer than the PDU',
      COMMAND.deliver_sm,
      '00 0000 00 0000 00 00 00 00 00 00 00 00 00 00 00 0424 0005 4869',
    ],
    ['a text longer than the PDU', COMMAND.submit_sm, '00000000000000000000000000000000 05 4142'],
    ['fields that are missing', COMMAND.submit_sm, '0000'],
    ['destinations that are missing', COMMAND.submit_multi, '00 00 00 00 ff 01 00 00 4100'],
  ] as const)('%s is malformed, with the command and sequence', ([, commandId, body]) => {
    expect(decodePdu(frame(commandId, 0, body))).toMatchObject({ failure: 'malformed', commandId, sequence: 7 });
  });

  test('a command_length that is not the length of the frame is malformed', () => {
    const octets = encodePdu({ command: 'enquire_link', status: 0, sequence: 2 });
    octets.writeUInt32BE(20, 0);
    expect(decodePdu(octets)).toMatchObject({ failure: 'malformed', sequence: 2 });
  });

  test('a frame shorter than a header is malformed', () => {
    expect(decodePdu(hex('00000010 00'))).toMatchObject({ failure: 'malformed', commandId: 0, sequence: 0 });
  });

  test.for([0x00, 0x0a, 0x111, 0x80000111, 0xffffffff])('command %i is unknown, with its sequence', (commandId) => {
    expect(decodePdu(frame(commandId, 0, ''))).toMatchObject({ failure: 'unknown_command', commandId, sequence: 7 });
  });

  test('any octets yield a PDU or a failure, and the same result each time', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.values(COMMAND)),
        fc.uint8Array({ maxLength: 200, size: 'max' }),
        (id, body) => {
          const octets = frame(id, 0, Buffer.from(body).toString('hex'));
          const first = decodePdu(octets);
          expect('failure' in first || COMMAND[first.command] === id).toBe(true);
          expect(plain(decodePdu(octets))).toEqual(plain(first));
        },
      ),
      { numRuns: 3000 },
    );
  });

  test('a PDU with changed or missing octets yields a PDU or a failure', () => {
    const damage = fc.record({ at: fc.nat(), octet: fc.integer({ min: 0, max: 255 }), cut: fc.nat({ max: 40 }) });
    fc.assert(
      fc.property(anyPdu, fc.array(damage, { minLength: 1, maxLength: 4 }), (pdu, damages) => {
        let octets = encodePdu(pdu);
        for (const { at, octet, cut } of damages) {
          octets[at % octets.length] = octet;
          octets = octets.subarray(0, Math.max(16, octets.length - cut));
        }
        octets.writeUInt32BE(octets.length, 0);
        const result = decodePdu(octets);
        expect('failure' in result ? result.reason : result.command).not.toBe('');
      }),
      { numRuns: 2000 },
    );
  });
});
