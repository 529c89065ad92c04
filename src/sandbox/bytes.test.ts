import { once } from 'node:events';
import net from 'node:net';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bindLibrary, startForTest as start } from '../../test/support/carriers/smpp-library-client.ts';
import { createFrameReader } from '../smpp/link.ts';
import { COMMAND, decodePdu, EMPTY_MESSAGE, encodePdu, type Message, type Pdu } from '../smpp/pdu.ts';
import { STATUS } from '../smpp/status.ts';
import { NO_TLVS } from '../smpp/wire.ts';

const message: Message = {
  ...EMPTY_MESSAGE,
  sourceTon: 5,
  source: 'ACME',
  destination: '351912345678',
  registeredDelivery: 1,
  shortMessage: Buffer.from('Hello'),
};
const submit = (sequence: number): Pdu => ({ ...message, command: 'submit_sm', status: 0, sequence });
const bind: Pdu = {
  command: 'bind_transceiver',
  status: 0,
  sequence: 1,
  systemId: 'raw',
  password: '',
  systemType: '',
  interfaceVersion: 0x34,
  addrTon: 0,
  addrNpi: 0,
  addressRange: '',
};

/** A socket that keeps the data sent by the sandbox. */
async function connectRaw(port: number) {
  const socket = net.connect(port, '127.0.0.1').on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  const reader = createFrameReader();
  const answers: Pdu[] = [];
  socket.on('data', (chunk: Buffer) => {
    for (const frame of reader.push(chunk)) {
      const pdu = decodePdu(frame);
      if ('command' in pdu) answers.push(pdu);
    }
  });
  const came = async (count: number): Promise<void> => {
    await expect.poll(() => answers.length, { interval: 2 }).toBe(count);
  };
  return { socket, answers, came };
}

function header(length: number, commandId: number, sequence: number): Buffer {
  const bytes = Buffer.alloc(16);
  [length, commandId, 0, sequence].forEach((value, index) => bytes.writeUInt32BE(value, index * 4));
  return bytes;
}

describe('invalid octets', () => {
  test.each([0, 15, 70_001, 0xffffffff])(
    'a command_length of %i is refused and ends the connection',
    async (length) => {
      const smsc = await start();
      const { socket, answers } = await connectRaw(smsc.port);
      socket.write(header(length, COMMAND.enquire_link, 5));
      await once(socket, 'close');
      expect(answers).toEqual([{ command: 'generic_nack', status: STATUS.ESME_RINVCMDLEN, sequence: 0 }]);
      expect(smsc.ledger.violations()).toEqual([`session 1: command_length ${length}`]);
    },
  );

  test('an unknown command is refused with its own sequence number, and the connection stays open', async () => {
    const smsc = await start();
    const { socket, answers, came } = await connectRaw(smsc.port);
    socket.write(Buffer.concat([header(16, 0x999, 9), header(16, COMMAND.enquire_link, 10)]));
    await came(2);
    expect(answers).toMatchObject([
      { command: 'generic_nack', status: STATUS.ESME_RINVCMDID, sequence: 9 },
      { command: 'enquire_link_resp', sequence: 10 },
    ]);
  });

  test('a truncated body is refused with RINVCMDLEN, and the connection stays open', async () => {
    const smsc = await start({ receipts: 'none' });
    const { socket, answers, came } = await connectRaw(smsc.port);
    const whole = encodePdu(submit(3));
    const broken = Buffer.concat([header(whole.length - 3, COMMAND.submit_sm, 3), whole.subarray(16, -3)]);
    socket.write(Buffer.concat([encodePdu(bind), broken, encodePdu(submit(4))]));
    await came(3);
    expect(answers.map((pdu) => [pdu.command, pdu.status])).toEqual([
      ['bind_transceiver_resp', 0],
      ['submit_sm_resp', STATUS.ESME_RINVCMDLEN],
      ['submit_sm_resp', 0],
    ]);
  });

  test('a stream split into single octets is handled like a complete one', async () => {
    const smsc = await start({ receipts: 'none' });
    const { socket, answers, came } = await connectRaw(smsc.port);
    for (const octet of Buffer.concat([encodePdu(bind), encodePdu(submit(2))])) socket.write(Uint8Array.of(octet));
    await came(2);
    expect(answers.map((pdu) => pdu.status)).toEqual([0, 0]);
  });

  test('protocol violations are counted and described', async () => {
    const smsc = await start({ receipts: 'none' });
    const { socket, came } = await connectRaw(smsc.port);
    const response: Pdu = { command: 'deliver_sm_resp', status: 0, sequence: 77, messageId: '', tlvs: NO_TLVS };
    const enquired: Pdu = { command: 'enquire_link_resp', status: 0, sequence: 78 };
    const pdus = [bind, submit(5), submit(5), { ...submit(6), status: 1 }, { ...submit(0) }, response, enquired];
    socket.write(Buffer.concat(pdus.map(encodePdu)));
    await came(5);
    await expect
      .poll(() => smsc.ledger.violations())
      .toEqual([
        'session 1: submit_sm with the used or lower sequence 5',
        'session 1: submit_sm with command_status 1',
        'session 1: submit_sm with sequence 0',
        'session 1: deliver_sm_resp for unknown sequence 77',
        'session 1: enquire_link_resp for unknown sequence 78',
      ]);
  });
});

describe('any octets', () => {
  test('random streams never stop another session, and leave nothing behind', async () => {
    const smsc = await start();
    const honest = await bindLibrary(smsc.port);
    const stream = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.array(fc.uint8Array({ maxLength: 80 }), { maxLength: 5 }).map((bodies) => framed(bodies)),
      fc.tuple(fc.nat(200), fc.nat(255)).map(([place, value]) => mutated(place, value)),
    );
    await fc.assert(
      fc.asyncProperty(stream, async (octets) => {
        const socket = net.connect(smsc.port, '127.0.0.1').on('error', () => undefined);
        socket.end(octets);
        socket.resume();
        await once(socket, 'close');
        expect((await honest.submit('351912340000')).command_status).toBe(0);
      }),
      { numRuns: 150 },
    );
    await expect.poll(() => smsc.sessions().length).toBe(1);
  });

  test('a client that never reads blocks neither the others nor the simulator', async () => {
    const smsc = await start({ receipts: 'none', ledger: 'counts', idFormat: 'uuid' });
    const { socket, answers, came } = await connectRaw(smsc.port);
    socket.write(Buffer.concat([encodePdu(bind), encodePdu(submit(2))]));
    await came(2);
    socket.pause();
    const messageId = answers[1]?.command === 'submit_sm_resp' ? answers[1].messageId : '';
    const query: Pdu = { ...message, command: 'query_sm', status: 0, sequence: 3, messageId };
    const flood = Buffer.concat(Array.from({ length: 20_000 }, () => encodePdu(query)));
    // 30 MB of requests: a part of the responses fills the kernel's buffers of both sides.
    const ROUNDS = 25;
    for (let round = 0; round < ROUNDS; round++) socket.write(flood);
    const honest = await bindLibrary(smsc.port);
    expect((await honest.submit('351912340000')).command_status).toBe(0);
    // The sandbox has stopped reading before the end.
    let before = 0;
    const isStuck = (): boolean => {
      const [last, now] = [before, smsc.ledger.counts().queried];
      before = now;
      return now > 0 && now === last;
    };
    await expect.poll(isStuck, { interval: 200 }).toBe(true);
    expect(before).toBeLessThan(20_000 * ROUNDS);
    socket.destroy();
    await expect.poll(() => smsc.sessions().length).toBe(1);
  });
});

/** Frames with right lengths and random bodies, of commands that there are. */
function framed(bodies: Uint8Array[]): Uint8Array {
  const ids = Object.values(COMMAND);
  return Buffer.concat(
    bodies.flatMap((body, index) => [header(16 + body.length, ids[(body[0] ?? index) % ids.length] ?? 0, index), body]),
  );
}

/** A valid conversation with one octet changed. */
function mutated(place: number, value: number): Uint8Array {
  const octets = Buffer.concat([encodePdu(bind), encodePdu(submit(2)), encodePdu(submit(3))]);
  octets[place % octets.length] = value;
  return octets;
}
