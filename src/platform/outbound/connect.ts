import { isIP, type LookupFunction, type Socket } from 'node:net';
import { createSecureContext, getCACertificates } from 'node:tls';
import { buildConnector } from 'undici';
import { addressRefusedError, type Guard } from './guard.ts';

type Connector = ReturnType<typeof buildConnector>;

/**
 * Creates a connector that opens TLS connections for undici. It dials only addresses that the guard allows, whether the
 * host is a name or an address, and checks the peer's address again before a request is written. Certificates are
 * always verified against the host, regardless of the environment. A connection is closed after 64 KiB of one response,
 * of any kind.
 *
 * @param options.ca certificate authorities (PEM) to trust in addition to those that Node trusts
 * @param options.maxAnswerBytes instead of 64 KiB
 */
export function createGuardedConnector(options: {
  guard: Guard;
  ca?: string | undefined;
  timeoutMs: number;
  maxAnswerBytes?: number | undefined;
}): Connector {
  const { guard, ca, timeoutMs, maxAnswerBytes = MAX_ANSWER_BYTES } = options;
  const connect = buildConnector({
    allowH2: false,
    timeout: timeoutMs,
    rejectUnauthorized: true,
    // Created once: if each connection got the authorities, each would parse all of them.
    secureContext: createSecureContext({
      minVersion: 'TLSv1.2',
      ca: [...getCACertificates('default'), ...(ca === undefined ? [] : [ca])],
    }),
    lookup: guardedLookup(guard),
  });
  return (target, done) => {
    // The lookup is never called for an address: undici and Node dial it as it is.
    if (isIP(target.hostname) !== 0 && !guard.isAllowed(target.hostname)) return done(addressRefusedError(), null);
    connect(target, (...[error, socket]) => {
      if (error) return done(error, null);
      if (guard.isAllowed(socket.remoteAddress ?? '')) return done(null, limitAnswerSize(socket, maxAnswerBytes));
      socket.destroy();
      done(addressRefusedError(), null);
    });
  };
}

/**
 * A DNS lookup that returns only checked addresses. They are dialled as checked, without asking the name server again.
 */
export const guardedLookup =
  (guard: Guard): LookupFunction =>
  (host, { all }, done) => {
    guard.resolveAllowed(host).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        if (all === true) return done(null, found);
        done(null, found[0]?.address ?? '', found[0]?.family);
      },
      (error: Error) => done(error, []),
    );
  };

/** The error code of a response that exceeds the size limit of its connection. */
export const ANSWER_TOO_LONG = 'ERR_ANSWER_TOO_LONG';
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Counts the bytes read since the last request was written. undici limits headers, and our reader limits bodies; but
 * interim responses or chunk extensions would be parsed for as long as they arrive.
 */
function limitAnswerSize(socket: Socket, maxBytes: number): Socket {
  const read = socket.read.bind(socket);
  let [bytes, written] = [0, 0];
  return Object.assign(socket, {
    read(size?: number): Buffer | null {
      const chunk: Buffer | null = read(size);
      if (socket.bytesWritten !== written) [bytes, written] = [0, socket.bytesWritten];
      bytes += chunk?.length ?? 0;
      if (bytes <= maxBytes) return chunk;
      socket.destroy(Object.assign(new Error('the response is too long'), { code: ANSWER_TOO_LONG }));
      return null;
    },
  });
}
