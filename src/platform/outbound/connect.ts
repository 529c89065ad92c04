import { isIP, type LookupFunction, type Socket } from 'node:net';
import { createSecureContext, getCACertificates } from 'node:tls';
import { buildConnector } from 'undici';
import { addressRefused, type Guard } from './guard.ts';

type Connector = ReturnType<typeof buildConnector>;

/**
 * Opens the TLS connections of webhooks for undici. Only addresses that the guard lets pass are dialled, whether the
 * host is a name or an address, and the address at the other end is looked at once more before a request is written.
 * Certificates are verified against the host, whatever the environment says. After 64 KiB of one answer, whatever they
 * are, a connection is cut.
 *
 * @param options.ca further authorities, PEM, beside those that Node trusts
 */
export function createConnector(options: { guard: Guard; ca?: string | undefined; timeoutMs: number }): Connector {
  const { guard, ca, timeoutMs } = options;
  const connect = buildConnector({
    allowH2: false,
    timeout: timeoutMs,
    rejectUnauthorized: true,
    // Made once: with the authorities given by connection, each one parses all of them.
    secureContext: createSecureContext({
      minVersion: 'TLSv1.2',
      ca: [...getCACertificates('default'), ...(ca === undefined ? [] : [ca])],
    }),
    lookup: guardedLookup(guard),
  });
  return (target, done) => {
    // The look-up is never asked about an address: undici and Node dial it as it stands.
    if (isIP(target.hostname) !== 0 && !guard.isOpen(target.hostname)) return done(addressRefused(), null);
    connect(target, (...[error, socket]) => {
      if (error) return done(error, null);
      if (guard.isOpen(socket.remoteAddress ?? '')) return done(null, limitAnswers(socket));
      socket.destroy();
      done(addressRefused(), null);
    });
  };
}

/** The addresses that are dialled are those that were checked: nobody asks the name server a second time. */
export const guardedLookup =
  (guard: Guard): LookupFunction =>
  (host, { all }, done) => {
    guard.addressesOf(host).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        if (all === true) return done(null, found);
        done(null, found[0]?.address ?? '', found[0]?.family);
      },
      (error: Error) => done(error, []),
    );
  };

export const ANSWER_TOO_LONG = 'ERR_ANSWER_TOO_LONG';
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Counts what is read since the last request was written. undici limits headers, and bodies are cut where they are
 * read; but interim answers, or extensions of chunks, would be parsed for as long as they come.
 */
function limitAnswers(socket: Socket): Socket {
  const read = socket.read.bind(socket);
  let [bytes, written] = [0, 0];
  return Object.assign(socket, {
    read(size?: number): Buffer | null {
      const chunk: Buffer | null = read(size);
      if (socket.bytesWritten !== written) [bytes, written] = [0, socket.bytesWritten];
      bytes += chunk?.length ?? 0;
      if (bytes <= MAX_ANSWER_BYTES) return chunk;
      socket.destroy(Object.assign(new Error('the answer is too long'), { code: ANSWER_TOO_LONG }));
      return null;
    },
  });
}
