import { once } from 'node:events';
import { createRequire } from 'node:module';
import { onTestFinished } from 'vitest';
import { type SandboxOptions, type SandboxSmsc, startSandboxSmsc } from '../../../src/sandbox/smsc.ts';

/** A PDU of the npm library smpp 0.5.1, an independent SMPP client without types; only the parts that the tests use. */
export type LibraryPdu = {
  readonly command: string;
  readonly command_status: number;
  readonly sequence_number: number;
  response(fields: Fields): LibraryPdu;
  readonly [field: string]: unknown;
};
type Fields = Readonly<Record<string, unknown>>;
type LibrarySession = {
  on(event: 'pdu', listener: (pdu: LibraryPdu) => void): void;
  on(event: 'close', listener: () => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  send(pdu: LibraryPdu, answered?: (pdu: LibraryPdu) => void): boolean;
  close(): void;
  destroy(): void;
  readonly socket: NodeJS.EventEmitter & { readonly destroyed: boolean };
};
type Library = {
  connect(options: Fields): LibrarySession;
  readonly PDU: new (command: string, fields: Fields) => LibraryPdu;
};

const library: Library = createRequire(import.meta.url)('smpp');

export type LibraryClient = {
  /** Sends a request and resolves with the response; rejects when the connection closes first. */
  request(command: string, fields?: Fields): Promise<LibraryPdu>;
  submit(destination: string, fields?: Fields): Promise<LibraryPdu>;
  /** Requests from the server, in order of arrival; acknowledged with status 0 unless `answerWith` gives another. */
  readonly received: LibraryPdu[];
  /** Returns the status for a request; null for no response. */
  answerWith: (pdu: LibraryPdu) => number | null;
  /** Responds to a request that had no response. */
  answer(pdu: LibraryPdu, status: number): void;
  /** The command names of all received PDUs, responses included. */
  readonly log: string[];
  /** Resolves when `test` returns true; it is called after every PDU. Rejects after a minute. */
  until(test: () => boolean): Promise<void>;
  readonly closed: Promise<void>;
  close(): Promise<void>;
};

const DEADLINE_MS = 60_000;

/** Connects a library client without binding. */
export async function connectLibrary(port: number, options: Fields = {}): Promise<LibraryClient> {
  const session = library.connect({ host: '127.0.0.1', port, ...options });
  const received: LibraryPdu[] = [];
  const log: string[] = [];
  const watchers = new Set<() => void>();
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  session.on('close', close);
  session.on('error', () => undefined);
  await once(session.socket, options['tls'] ? 'secureConnect' : 'connect');

  session.on('pdu', (pdu) => {
    log.push(pdu.command);
    if (!pdu.command.endsWith('_resp') && pdu.command !== 'generic_nack') react(pdu);
    for (const watch of watchers) watch();
  });

  function react(pdu: LibraryPdu): void {
    received.push(pdu);
    const status = client.answerWith(pdu);
    if (status !== null) client.answer(pdu, status);
  }

  function request(command: string, fields: Fields = {}): Promise<LibraryPdu> {
    const { promise, resolve, reject } = Promise.withResolvers<LibraryPdu>();
    void closed.then(() => reject(new Error(`${command}: the connection closed before the response`)));
    if (!session.send(new library.PDU(command, fields), resolve)) reject(new Error('the connection is closed'));
    return promise;
  }

  function until(test: () => boolean): Promise<void> {
    if (test()) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => reject(new Error(`not within ${DEADLINE_MS} ms; received: ${log}`)), DEADLINE_MS);
    const watch = (): void => {
      if (!test()) return;
      clearTimeout(timer);
      watchers.delete(watch);
      resolve();
    };
    watchers.add(watch);
    return promise;
  }

  const client: LibraryClient = {
    request,
    submit: (destination, fields = {}) => request('submit_sm', { ...SUBMIT, destination_addr: destination, ...fields }),
    received,
    answerWith: () => 0,
    answer: (pdu, status) => void session.send(pdu.response({ command_status: status })),
    log,
    until,
    closed,
    async close() {
      session.destroy();
      await closed;
    },
  };
  return client;
}

const SUBMIT: Fields = {
  source_addr_ton: 5,
  source_addr_npi: 0,
  source_addr: 'ACME',
  dest_addr_ton: 1,
  dest_addr_npi: 1,
  registered_delivery: 1,
  data_coding: 0,
  short_message: Buffer.from('Hello'),
};

/** Connects a library client and binds it; `bound` is the bind response. */
export async function bindLibrary(
  port: number,
  mode: 'transmitter' | 'receiver' | 'transceiver' = 'transceiver',
  fields: Fields = {},
): Promise<LibraryClient & { readonly bound: LibraryPdu }> {
  const client = await connectLibrary(port);
  const bind = { system_id: 'gw1', password: 'secret08', interface_version: 0x34, ...fields };
  return Object.assign(client, { bound: await client.request(`bind_${mode}`, bind) });
}

/** Starts a simulated SMSC that sends receipts at once and ends with the test. */
export async function startForTest(options: SandboxOptions = {}): Promise<SandboxSmsc> {
  const smsc = await startSandboxSmsc({ receiptDelayMs: 0, ...options });
  onTestFinished(smsc.close);
  return smsc;
}

/** Returns the text of a deliver_sm, which the library represents as an object; empty when it has only parameters. */
export function textOf(pdu: LibraryPdu | undefined): string {
  const fields = [pdu?.['short_message'], pdu?.['message_payload']];
  return fields
    .map((field) => (field && typeof field === 'object' && 'message' in field ? String(field.message) : ''))
    .join('');
}

/** Returns the state in each received receipt, in order. */
export function statesOf(client: LibraryClient): (string | undefined)[] {
  return client.received.map((pdu) => /stat:(\w+)/.exec(textOf(pdu))?.[1]);
}
