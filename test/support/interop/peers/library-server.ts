import { type EventEmitter, once } from 'node:events';
import { createRequire } from 'node:module';
import type { SmscPeer } from '../smsc-checks.ts';

// The npm package smpp 0.5.1 (farhadi/node-smpp) has no types; these cover the parts in use.
type Text = { readonly message?: string; readonly udh?: readonly Buffer[] };
type Pdu = {
  readonly command: string;
  readonly sequence_number: number;
  readonly source_addr: string;
  readonly destination_addr: string;
  readonly registered_delivery: number;
  readonly short_message?: Text;
  readonly message_payload?: Text;
  readonly sar_msg_ref_num?: number;
  readonly sar_total_segments?: number;
  readonly sar_segment_seqnum?: number;
  response(fields?: Record<string, unknown>): unknown;
};
type Session = EventEmitter & {
  send(pdu: unknown): boolean;
  deliver_sm(fields: Record<string, unknown>): boolean;
  destroy(): void;
};
type Server = EventEmitter & {
  readonly sessions: Session[];
  listen(port: number, host: string): void;
  address(): { port: number };
  close(closed: () => void): void;
};
const library: { createServer(onSession: (session: Session) => void): Server } = createRequire(import.meta.url)('smpp');

const ESME_RTHROTTLED = 0x58;

/** Starts an SMSC made of the npm package `smpp`: it takes everything, joins parts and sends receipts. */
export async function startLibraryServer(): Promise<SmscPeer & AsyncDisposable> {
  const texts: string[] = [];
  const parts = new Map<string, string[]>();
  let [nextId, refusals] = [0, 0];

  function take(session: Session, pdu: Pdu): void {
    if (refusals > 0) {
      refusals -= 1;
      return void session.send(pdu.response({ command_status: ESME_RTHROTTLED }));
    }
    nextId += 1;
    const message_id = nextId.toString(16).padStart(8, '0');
    session.send(pdu.response({ message_id }));
    keep(pdu);
    if (pdu.registered_delivery & 1) report(session, pdu, message_id);
  }

  function keep(pdu: Pdu): void {
    const text = pdu.short_message?.message || pdu.message_payload?.message || '';
    const place = placeOf(pdu);
    if (!place) return void texts.push(text);
    const key = `${pdu.destination_addr} ${place.ref}`;
    const known = parts.get(key) ?? [];
    known[place.seq - 1] = text;
    parts.set(key, known);
    if (known.filter((part) => part !== undefined).length === place.total) texts.push(known.join(''));
  }

  function report(session: Session, pdu: Pdu, id: string): void {
    const receiver = server.sessions.find((each) => receives.has(each) && each !== session) ?? session;
    const text = `id:${id} sub:001 dlvrd:001 submit date:2612312359 done date:2701010001 stat:DELIVRD err:000 text:`;
    const { source_addr: destination_addr, destination_addr: source_addr } = pdu;
    const fields = { source_addr, destination_addr, esm_class: 4, short_message: Buffer.from(text) };
    (receives.has(session) ? session : receiver).deliver_sm(fields);
  }

  const receives = new WeakSet<Session>();
  const server = library.createServer((session) => {
    session.on('pdu', (pdu: Pdu) => {
      if (pdu.command === 'submit_sm') return take(session, pdu);
      if (pdu.command === 'bind_transceiver' || pdu.command === 'bind_receiver') receives.add(session);
      if (!pdu.command.endsWith('_resp')) session.send(pdu.response({ system_id: 'library' }));
    });
    session.on('error', () => session.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    name: 'npm smpp (server)',
    host: '127.0.0.1',
    port: server.address().port,
    systemId: 'gw1',
    password: 'secret08',
    throttle: (times) => {
      refusals = times;
    },
    texts: () => texts,
    async [Symbol.asyncDispose]() {
      for (const session of server.sessions) session.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Returns the place of a part, from the user data header (3GPP TS 23.040, 9.2.3.24) or the SAR parameters. */
function placeOf(pdu: Pdu): { ref: number; total: number; seq: number } | undefined {
  if (pdu.sar_msg_ref_num !== undefined)
    return { ref: pdu.sar_msg_ref_num, total: pdu.sar_total_segments ?? 0, seq: pdu.sar_segment_seqnum ?? 0 };
  const element = pdu.short_message?.udh?.find(([identifier]) => identifier === 0 || identifier === 8);
  if (element === undefined) return undefined;
  const [ref, total, seq] = element[0] === 0 ? element.subarray(2) : [element.readUInt16BE(2), ...element.subarray(4)];
  return { ref: ref ?? 0, total: total ?? 0, seq: seq ?? 0 };
}
