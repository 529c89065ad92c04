import { once } from 'node:events';
import net from 'node:net';

/** One PDU that passed: its header (SMPP 3.4, section 3.2) and who sent it. */
export type Passed = {
  readonly from: 'client' | 'server';
  readonly command: number;
  readonly status: number;
  readonly sequence: number;
};

export type Relay = {
  readonly port: number;
  readonly passed: readonly Passed[];
  /** Returns how many PDUs with this command passed from one side. */
  count(from: Passed['from'], command: number): number;
  /** Destroys all connections; new ones are accepted. */
  cut(): void;
  close(): Promise<void>;
};

/** command_id, of SMPP 3.4, section 5.1.2.1. */
export const COMMAND = {
  generic_nack: 0x80000000,
  submit_sm: 0x4,
  submit_sm_resp: 0x80000004,
  unbind: 0x6,
  unbind_resp: 0x80000006,
  deliver_sm_resp: 0x80000005,
  enquire_link: 0x15,
  enquire_link_resp: 0x80000015,
} as const;

/**
 * Stands between a client and a server on this machine and notes the header of every PDU that passes. It reads the
 * frames by itself, so that it does not share a fault with our codec.
 */
export async function startRelay(target: { readonly host: string; readonly port: number }): Promise<Relay> {
  const passed: Passed[] = [];
  const open = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const upstream = net.connect(target.port, target.host);
    join(client, upstream, 'client');
    join(upstream, client, 'server');
  });

  function join(source: net.Socket, sink: net.Socket, from: Passed['from']): void {
    open.add(source);
    let rest: Buffer = Buffer.alloc(0);
    source.on('data', (chunk: Buffer) => {
      sink.write(chunk);
      rest = note(Buffer.concat([rest, chunk]), from);
    });
    source.on('error', () => undefined);
    source.on('close', () => {
      open.delete(source);
      sink.destroy();
    });
  }

  /** Notes the complete frames and returns the octets after them. */
  function note(octets: Buffer, from: Passed['from']): Buffer {
    let at = 0;
    while (octets.length - at >= 16 && octets.length - at >= octets.readUInt32BE(at)) {
      const [command, status, sequence] = [4, 8, 12].map((place) => octets.readUInt32BE(at + place));
      passed.push({ from, command: command ?? 0, status: status ?? 0, sequence: sequence ?? 0 });
      at += Math.max(octets.readUInt32BE(at), 16);
    }
    return octets.subarray(at);
  }

  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: Object(server.address()).port,
    passed,
    count: (from, command) => passed.filter((each) => each.from === from && each.command === command).length,
    cut,
    async close() {
      cut();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
