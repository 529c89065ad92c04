import net from 'node:net';
import { type Bind, EMPTY_MESSAGE, encodePdu, type Pdu } from '../../../src/smpp/pdu.ts';
import { NO_TLVS } from '../../../src/smpp/wire.ts';
import { type Attack, type Ground, MEANS, type Strike, withinLine } from '../attack.ts';
import { ask, everyTick, fieldOf, PG, withKey } from '../requests.ts';
import { type SocketPlan, socketsOf } from '../sockets.ts';

/** The body of a bind. */
const bindBody = (systemId: string, password: string): Bind => ({
  systemId,
  password,
  systemType: '',
  interfaceVersion: 0x34,
  addrTon: 0,
  addrNpi: 0,
  addressRange: '',
});

const BINDS = 10;
const WINDOW = 1000;
/** The PDUs of a bind of a trial account in a second. */
const PDUS_PER_SECOND = 100;
/** The bytes of the response to an enquire_link. */
const SHORTEST_PDU = 16;
/** Connections of one network that may be open without a bind. */
const UNBOUND = 20;
const TICK_MS = 50;
const PER_WRITE = 100;
/** Memory of a submit besides its text, until it gets a response. */
const BALLAST = new Map([[0x1500, Buffer.alloc(4000)]]);

const bindFrame = (systemId: string, password: string): Buffer =>
  encodePdu({ command: 'bind_transceiver', status: 0, sequence: 1, ...bindBody(systemId, password) });

const unbound = (name: string, plan: Omit<SocketPlan, 'smpp'>, more: Pick<Attack, 'tiny' | 'meets'> = {}): Attack => ({
  name: `SMPP: ${name}`,
  player: 'unauthenticated client',
  ...more,
  prepare: socketsOf({ ...plan, smpp: true }),
});

/** Submits of a customer with receipts; no deliver_sm gets a response. */
const submits = Buffer.concat(
  Array.from({ length: PER_WRITE }, (_, n) =>
    encodePdu({
      ...EMPTY_MESSAGE,
      command: 'submit_sm',
      status: 0,
      sequence: n + 2,
      destTon: 1,
      destNpi: 1,
      destination: `39333${1_000_000 + n}`,
      registeredDelivery: 0x11,
      shortMessage: Buffer.from('Hostile'),
      tlvs: BALLAST,
    }),
  ),
);

const repeated = (pdu: Pdu): Buffer =>
  Buffer.concat(Array.from({ length: PER_WRITE }, (_, n) => encodePdu({ ...pdu, sequence: n + 2 })));

const NOWHERE = { messageId: '0193b6f1-7a51-7e3c-9d2e-5b0c1f2ad500', sourceTon: 5, sourceNpi: 0, source: '' };
const queries = repeated({ command: 'query_sm', status: 0, sequence: 0, ...NOWHERE });
const cancellations = repeated({
  command: 'cancel_sm',
  status: 0,
  sequence: 0,
  ...NOWHERE,
  serviceType: '',
  destTon: 1,
  destNpi: 1,
  destination: '393331234567',
});
const enquiries = Buffer.concat(
  Array.from({ length: 10 }, () => repeated({ command: 'enquire_link', status: 0, sequence: 0 })),
);
const strays = repeated({ command: 'deliver_sm_resp', status: 0, sequence: 0, messageId: '', tlvs: NO_TLVS });

type FloodPlan = {
  /** PDUs that each bind repeats as fast as the line carries them. */
  readonly octets: Buffer;
  readonly isDeaf?: boolean;
  readonly binds?: number;
  readonly tps?: number;
};

/** Binds as often as a credential may, and sends as fast as the line carries, whatever the responses are. */
const flood = (
  name: string,
  plan: FloodPlan,
  more: Pick<Attack, 'tiny' | 'meets'> & Partial<Pick<Attack, 'player'>> = {},
): Attack => ({
  name: `SMPP: ${name}`,
  player: 'trial tenant',
  ...more,
  async prepare(ground) {
    const settings = {
      maxBinds: plan.binds ?? BINDS,
      window: WINDOW,
      ...(plan.tps !== undefined && { tps: plan.tps }),
    };
    const answer = await ask(ground, withKey(ground, 'POST', `${PG}/smpp/credentials`, settings));
    const bind = bindFrame(String(fieldOf(answer, 'systemId')), String(fieldOf(answer, 'password')));
    return strikeWith(ground, bind, plan);
  },
});

const strikeWith = (ground: Ground, bind: Buffer, { octets, isDeaf = false, binds = BINDS }: FloodPlan): Strike => {
  return async (over) => {
    const bound = new Set<net.Socket>();
    const all = Array.from({ length: binds }, () => {
      const socket = net.connect({ port: ground.smppPort, host: '127.0.0.1', localAddress: ground.address });
      socket.on('error', () => undefined);
      socket.once('close', () => {
        if (bound.delete(socket) && !over.aborted) ground.count('closed');
      });
      socket.once('data', () => {
        bound.add(socket);
        ground.count('opened');
        if (isDeaf) socket.pause();
        else socket.on('data', ({ length }) => ground.count('answered', Math.floor(length / SHORTEST_PDU)));
      });
      socket.write(bind);
      return socket;
    });
    const perTick = withinLine(binds, (octets.length * 1000) / TICK_MS);
    await everyTick(TICK_MS, over, () => {
      for (const socket of [...bound].slice(0, Math.max(1, perTick))) {
        if (socket.writableNeedDrain) continue;
        socket.write(octets);
        ground.count('sent');
        // In turns.
        bound.delete(socket);
        bound.add(socket);
      }
    });
    for (const socket of all) socket.resetAndDestroy();
  };
};

const guessOf = (n: number): Buffer => bindFrame(`guess${n % 1000}`, 'wrong123');

/** Customers over SMPP, and those who are none. */
export const SMPP_ATTACKS: readonly Attack[] = [
  unbound('connections that never bind', { count: MEANS.sockets }, { tiny: true }),
  unbound('binds with guesses', { count: 200, perSecond: 500, first: async () => guessOf }, { tiny: true }),
  unbound(
    'half PDUs that drip',
    {
      count: 1000,
      perSecond: 500,
      first: () => bindFrame('guess', 'secret').subarray(0, 10),
      drip: { everyMs: 1000, octets: '\0' },
    },
    { tiny: true },
  ),
  unbound('PDUs of impossible length', { count: 200, perSecond: 500, first: () => Buffer.alloc(64, 0xff) }),
  unbound(
    'enquire_link before the bind',
    { count: UNBOUND, perSecond: 200, first: () => enquiries },
    {
      tiny: true,
      meets: {
        claim: 'a connection that has not bound sends a handful of PDUs',
        // One that sends nothing else is closed after ten seconds.
        holds: ({ closed = 0 }, seconds) => closed > (UNBOUND * seconds) / 10,
      },
    },
  ),
  flood(
    'enquire_link',
    { octets: enquiries },
    {
      tiny: true,
      meets: {
        claim: 'a bind gets no more responses than its budget has PDUs',
        holds: ({ answered = 0 }, seconds) => answered <= BINDS * 2 * PDUS_PER_SECOND * (seconds + 2),
      },
    },
  ),
  flood(
    'responses to nothing',
    { octets: strays },
    {
      tiny: true,
      meets: {
        claim: 'responses to nothing end a bind',
        holds: ({ opened = 0, closed = 0, sent = 0 }) => 2 * closed >= opened || sent <= 2 * opened,
      },
    },
  ),
  flood('queries', { octets: queries }, { tiny: true }),
  flood('cancellations', { octets: cancellations }),
  flood(
    'submits whose responses are not read',
    { octets: submits, isDeaf: true, tps: 100_000 },
    { player: 'production tenant', tiny: true },
  ),
  flood('receipts that are not acknowledged', { octets: submits, tps: 100_000 }, { player: 'production tenant' }),
];
