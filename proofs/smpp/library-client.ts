import { createRequire } from 'node:module';
import { type Client, numberOf, type StartClient } from './client.ts';

type Fields = Readonly<Record<string, unknown>>;
type Answer = { readonly command_status: number };
/** What is used of the npm library `smpp` 0.5.1, which has no types. */
type Session = {
  on(event: 'connect' | 'close', listener: () => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  on(event: 'pdu', listener: (pdu: { command: string; response(): unknown }) => void): void;
  bind_transceiver(fields: Fields, answered: (pdu: Answer) => void): void;
  submit_sm(fields: Fields, answered: (pdu: Answer) => void): boolean;
  send(pdu: unknown): boolean;
  close(): void;
};
const library: { connect(options: Fields): Session } = createRequire(import.meta.url)('smpp');

const RECONNECT_MS = 10;
const ANSWERED = ['enquire_link', 'deliver_sm', 'unbind'];

/** A client as the examples of the npm library write it. */
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
    next.on('pdu', (pdu) => void (ANSWERED.includes(pdu.command) && next.send(pdu.response())));
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
    submit(n, tell) {
      inFlight++;
      session?.submit_sm({ destination_addr: numberOf(n), short_message: 'Hello' }, ({ command_status: status }) => {
        inFlight--;
        tell(status === 0 ? 'accepted' : 'refused');
        changed();
      });
    },
    async stop() {
      stopped = true;
      session?.close();
    },
  };
};
