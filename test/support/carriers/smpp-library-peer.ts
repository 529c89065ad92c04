import { type EventEmitter, once } from 'node:events';
import { createRequire } from 'node:module';
import { STATUS } from '../../../src/smpp/status.ts';
import type { ConformancePeer } from './conformance.ts';

// The npm package smpp has no types and is only used as an independent peer; these types cover the parts in use.
type LibraryPdu = {
  readonly command: string;
  readonly command_status: number;
  readonly destination_addr: string;
  response(fields?: Record<string, unknown>): LibraryPdu;
};
type LibrarySession = EventEmitter & {
  send(pdu: LibraryPdu): boolean;
  deliver_sm(fields: Record<string, unknown>, answered: (response: LibraryPdu) => void): boolean;
  destroy(): void;
};
type LibraryServer = EventEmitter & {
  readonly sessions: LibrarySession[];
  listen(port: number, host: string): void;
  address(): { port: number };
  close(closed: () => void): void;
};
type Library = { createServer(onSession: (session: LibrarySession) => void): LibraryServer };

const library: Library = createRequire(import.meta.url)('smpp');

export type LibraryPeer = ConformancePeer & { readonly port: number };

/**
 * Starts a friendly carrier built with the npm package smpp 0.5.1, so that an error of our codec cannot hide itself.
 */
export async function startLibraryPeer(): Promise<LibraryPeer> {
  const seen: string[] = [];
  let behaviour: Parameters<ConformancePeer['behave']>[0] = 'accept';

  function answer(session: LibrarySession, pdu: LibraryPdu): void {
    if (pdu.command !== 'submit_sm') {
      if (!pdu.command.endsWith('_resp')) session.send(pdu.response({ system_id: 'LIBRARY' }));
      return;
    }
    seen.push(pdu.destination_addr);
    if (behaviour === 'accept') session.send(pdu.response({ message_id: `lib-${seen.length}` }));
    if (behaviour === 'refuse') session.send(pdu.response({ command_status: STATUS.ESME_RINVDSTADR }));
    if (behaviour === 'busy') session.send(pdu.response({ command_status: STATUS.ESME_RTHROTTLED }));
  }

  const server = library.createServer((session) => {
    session.on('pdu', (pdu: LibraryPdu) => answer(session, pdu));
    session.on('error', () => session.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const cut = (): void => {
    for (const session of server.sessions) session.destroy();
  };

  function report(carrierId: string): Promise<boolean> {
    const short_message = `id:${carrierId} sub:001 dlvrd:001 submit date:2612312359 done date:2701010001 stat:DELIVRD err:000 text:`;
    const fields = { source_addr: '351912345678', destination_addr: 'ACME', esm_class: 4, short_message };
    return new Promise((resolve) => {
      server.sessions[0]?.deliver_sm(fields, (response) => resolve(response.command_status === 0));
    });
  }

  async function close(): Promise<void> {
    cut();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  const behave: ConformancePeer['behave'] = (how) => {
    behaviour = how;
  };
  return { port: server.address().port, behave, seen: () => seen, cut, report, close };
}
