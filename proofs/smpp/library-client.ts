import { createRequire } from 'node:module';
import { type Client, numberOf, type StartClient } from './client.ts';

type Fields = Readonly<Record<string, unknown>>;
type Response = { readonly command_status: number };
/** The part of the npm library `smpp` 0.5.1 that is used here; the library has no types. */
type Session = {
  on(event: 'connect' | 'close', listener: () => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  on(event: 'pdu', listener: (pdu: { command: string; response(): unknown }) => void): void;
  bind_transceiver(fields: Fields, answered: (pdu: Response) => void): void;
  submit_sm(fields: Fields, answered: (pdu: Response) => void): boolean;
  send(pdu: unknown): boolean;
  close(): void;
};
const library: { connect(options: Fields): Session } = createRequire(import.meta.url)('smpp');

const RECONNECT_MS = 10;
const ANSWERED_COMMANDS = ['enquire_link', 'deliver_sm', 'unbind'];

/** A client as in the examples of the npm library. */
export const startClient: StartClient = (port, window, changed): Client => {
  let session: Session | null = null;
  let inFlight = 0;
  let stopped = false;

  function connect(): void {
    const next = library.connect({ host: '127.0.0.1', port });
    next.on('error', () => undefined);
    next.on('close', () => {
      session = null;
      inFlight = 0;
      if (!stopped) setTimeout(connect, RECONNECT_MS);
    });
    next.on('pdu', (pdu) => void (ANSWERED_COMMANDS.includes(pdu.command) && next.send(pdu.response())));
    next.on('connect', () =>
      next.bind_transceiver({ system_id: 'proof', password: 'secret' }, ({ command_status: status }) => {
        if (status === 0) session = next;
        changed();
      }),
    );
  }

  connect();
  return {
    room: () => (session ? window - inFlight : 0),
    submit(n, onOutcome) {
      inFlight++;
      session?.submit_sm({ destination_addr: numberOf(n), short_message: 'Hello' }, ({ command_status: status }) => {
        inFlight--;
        onOutcome(status === 0 ? 'accepted' : 'refused');
        changed();
      });
    },
    async stop() {
      stopped = true;
      session?.close();
    },
  };
};
