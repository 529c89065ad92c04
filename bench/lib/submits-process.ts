import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createFrameReader } from '../../src/smpp/link.ts';
import { EMPTY_MESSAGE, encodePdu } from '../../src/smpp/pdu.ts';

/** Submits of one customer over SMPP, each to the same number. */
export type Submits = {
  readonly port: number;
  readonly systemId: string;
  readonly password: string;
  readonly binds: number;
  /** Submits without a response on each bind. */
  readonly window: number;
  readonly seconds: number;
  /** Submits a second; null: as many as the windows let through. */
  readonly perSecond: number | null;
  /** The number, without the plus. */
  readonly destination: string;
  readonly text: string;
};

/**
 * Result of a series of submits: the number accepted in its time, the number of all others, and the times to the
 * responses in ms.
 */
export type Submitted = { readonly accepted: number; readonly refused: number; readonly times: number[] };

const TICK_MS = 2;
const HEADER = { status: 8, sequence: 12 } as const;
const SUBMIT_RESP = 0x80000004;

/** Sends submits from a separate process. Resolves when the time is over and all have a response. Throws when it cannot bind. */
export async function sendSubmits(submits: Submits): Promise<Submitted> {
  const child = fork(import.meta.filename, [JSON.stringify(submits)], { execArgv: [] });
  const [result] = (await once(child, 'message')) as [Submitted | { readonly failure: string }];
  await once(child, 'exit');
  if ('failure' in result) throw new Error(result.failure);
  return result;
}

type Lane = { readonly socket: Socket; readonly room: () => number; send(count: number): void };

async function send(submits: Submits): Promise<Submitted> {
  const { binds, seconds, perSecond } = submits;
  const totals = { accepted: 0, refused: 0, times: [] as number[], open: 0 };
  let isOver = false;
  const refill = (lane: Lane): void => {
    if (perSecond === null && !isOver) lane.send(lane.room());
  };
  const lanes = await Promise.all(Array.from({ length: binds }, () => openLane(submits, totals, () => isOver, refill)));
  const begun = performance.now();
  let sent = 0;
  const paced = (): void => {
    const due = Math.floor(((performance.now() - begun) * (perSecond ?? 0)) / 1000);
    for (; sent < due; sent++) lanes[sent % lanes.length]?.send(1);
  };
  if (perSecond === null) for (const lane of lanes) lane.send(lane.room());
  const timer = perSecond === null ? undefined : setInterval(paced, TICK_MS);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  isOver = true;
  clearInterval(timer);
  while (totals.open > 0) await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  for (const { socket } of lanes) socket.destroy();
  const { accepted, refused, times } = totals;
  return { accepted, refused, times };
}

type Totals = { accepted: number; refused: number; times: number[]; open: number };

async function openLane(
  { port, systemId, password, window, destination, text }: Submits,
  totals: Totals,
  isOver: () => boolean,
  refill: (lane: Lane) => void,
): Promise<Lane> {
  const socket = connect({ host: '127.0.0.1', port }).setNoDelay();
  const reader = createFrameReader();
  const template = encodePdu({
    ...EMPTY_MESSAGE,
    command: 'submit_sm',
    status: 0,
    sequence: 0,
    destTon: 1,
    destNpi: 1,
    destination,
    registeredDelivery: 0,
    shortMessage: Buffer.from(text),
  });
  /** Times of sending by sequence number. */
  const sentAt = new Map<number, number>();
  let sequence = 1;

  const lane: Lane = {
    socket,
    room: () => window - sentAt.size,
    send(count) {
      if (count <= 0) return;
      const octets = Buffer.allocUnsafe(count * template.length);
      const now = performance.now();
      for (let n = 0; n < count; n++) {
        template.copy(octets, n * template.length);
        octets.writeUInt32BE(++sequence, n * template.length + HEADER.sequence);
        sentAt.set(sequence, now);
      }
      totals.open += count;
      socket.write(octets);
    },
  };

  function answered(frame: Buffer): void {
    if (frame.readUInt32BE(4) !== SUBMIT_RESP) return;
    const at = sentAt.get(frame.readUInt32BE(HEADER.sequence));
    if (at === undefined || !sentAt.delete(frame.readUInt32BE(HEADER.sequence))) return;
    totals.open--;
    if (frame.readUInt32BE(HEADER.status) !== 0) totals.refused++;
    else if (!isOver()) {
      totals.accepted++;
      totals.times.push(performance.now() - at);
    }
  }

  const rest = { systemType: '', interfaceVersion: 0x34, addrTon: 0, addrNpi: 0, addressRange: '' };
  socket.write(encodePdu({ command: 'bind_transmitter', status: 0, sequence: 1, systemId, password, ...rest }));
  const [first] = (await once(socket, 'data')) as [Buffer];
  if (first.readUInt32BE(HEADER.status) !== 0) throw new Error(`a bind was refused: ${first.toString('hex')}`);
  socket.on('data', (chunk: Buffer) => {
    for (const { buffer, byteOffset, length } of reader.push(chunk)) answered(Buffer.from(buffer, byteOffset, length));
    refill(lane);
  });
  return lane;
}

const report = (result: Submitted | { readonly failure: string }): void =>
  void process.send?.(result, () => process.disconnect?.());

if (import.meta.main)
  report(
    await send(JSON.parse(process.argv[2] ?? '') as Submits).catch((error: unknown) => ({ failure: String(error) })),
  );
