import net from 'node:net';
import { EMPTY_MESSAGE, encodePdu } from '../../../src/carriers/smpp/pdu.ts';
import { bindBody } from '../../smpp/customer-pdus.ts';
import { type Attack, type Ground, MEANS, type Strike, withinLine } from '../attack.ts';
import { ask, everyTick, fieldOf, PG, withKey } from '../requests.ts';
import { socketsOf, type SocketPlan } from '../sockets.ts';

const BINDS = 20;
const WINDOW = 1000;
const TICK_MS = 50;
const PER_WRITE = 100;
/** Beside the text: what is held in memory until the submit is answered. */
const BALLAST = new Map([[0x1500, Buffer.alloc(4000)]]);

const bindFrame = (systemId: string, password: string): Buffer =>
  encodePdu({ command: 'bind_transceiver', status: 0, sequence: 1, ...bindBody(systemId, password) });

const stranger = (name: string, plan: Omit<SocketPlan, 'smpp'>, more: Pick<Attack, 'tiny'> = {}): Attack => ({
  name: `SMPP: ${name}`,
  player: 'stranger',
  ...more,
  prepare: socketsOf({ ...plan, smpp: true }),
});

/** Submits of a customer with receipts; no deliver_sm is ever answered. */
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

/** Binds as often as a credential may, and submits as fast as the line carries, whatever the answers are. */
const flood = (name: string, { isDeaf }: { readonly isDeaf: boolean }, more: Pick<Attack, 'tiny'> = {}): Attack => ({
  name: `SMPP: ${name}`,
  player: 'production tenant',
  ...more,
  async prepare(ground) {
    const settings = { maxBinds: BINDS, window: WINDOW, tps: 100_000 };
    const answer = await ask(ground, withKey(ground, 'POST', `${PG}/smpp/credentials`, settings));
    const bind = bindFrame(String(fieldOf(answer, 'systemId')), String(fieldOf(answer, 'password')));
    return strikeWith(ground, bind, isDeaf);
  },
});

const strikeWith = (ground: Ground, bind: Buffer, isDeaf: boolean): Strike => {
  return async (over) => {
    const bound = new Set<net.Socket>();
    const all = Array.from({ length: BINDS }, () => {
      const socket = net.connect({ port: ground.smppPort, host: '127.0.0.1', localAddress: ground.address });
      socket.on('error', () => undefined);
      socket.once('close', () => bound.delete(socket));
      socket.once('data', () => {
        bound.add(socket);
        ground.count('opened');
        if (isDeaf) socket.pause();
        else socket.resume();
      });
      socket.write(bind);
      return socket;
    });
    const perTick = withinLine(BINDS, (submits.length * 1000) / TICK_MS);
    await everyTick(TICK_MS, over, () => {
      for (const socket of [...bound].slice(0, Math.max(1, perTick))) {
        if (socket.writableNeedDrain) continue;
        socket.write(submits);
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

/** Customers by SMPP, and those who are none. */
export const SMPP_ATTACKS: readonly Attack[] = [
  stranger('connections that never bind', { count: MEANS.sockets }, { tiny: true }),
  stranger('binds with guesses', { count: 200, perSecond: 500, first: async () => guessOf }, { tiny: true }),
  stranger(
    'half PDUs that drip',
    {
      count: 1000,
      perSecond: 500,
      first: () => bindFrame('guess', 'secret').subarray(0, 10),
      drip: { everyMs: 1000, octets: '\0' },
    },
    { tiny: true },
  ),
  stranger('PDUs of impossible length', { count: 200, perSecond: 500, first: () => Buffer.alloc(64, 0xff) }),
  flood('submits whose answers nobody reads', { isDeaf: true }, { tiny: true }),
  flood('receipts that nobody answers', { isDeaf: false }),
];
