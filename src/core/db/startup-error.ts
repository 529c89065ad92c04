import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';

/**
 * A problem that the operator has to solve before the program can run. The message states the problem and the
 * correction. It is printed without a stack trace, and the program exits with 1.
 */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}

const UNTRUSTED =
  'The certificate of PostgreSQL is not from a known authority: add sslrootcert=/path/to/ca.pem to DATABASE_URL, with the ' +
  'certificate of the authority that signed it.';
const CLIENT_REFUSED =
  'PostgreSQL does not accept our certificate: set sslcert and sslkey in DATABASE_URL to one from an authority that it knows.';

/** Explanations by SQLSTATE or system error code. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  '25006': 'PostgreSQL accepts no writes: set DATABASE_URL to the primary, or promote this server.',
  '28P01': 'PostgreSQL rejected the password: correct the user and the password in DATABASE_URL.',
  '28000':
    'PostgreSQL rejected this user or address: correct DATABASE_URL, or allow the connection in its pg_hba.conf.',
  '3D000': 'The database named in DATABASE_URL does not exist: create it, or correct the name.',
  '42501': 'The database user lacks privileges: make it the owner of the database named in DATABASE_URL.',
  '53100': 'The disk of the database is full: free some space, then start again.',
  '53300': 'PostgreSQL has no free connection slots: raise its max_connections, or lower DATABASE_POOL.',
  '57P03': 'PostgreSQL is starting or stopping: try again in a moment.',
  ECONNREFUSED: 'Nothing responds at the address in DATABASE_URL: start PostgreSQL there, or correct host and port.',
  ETIMEDOUT: 'The address in DATABASE_URL does not respond: check host, port and firewall.',
  ENOTFOUND: 'The host name in DATABASE_URL does not exist: correct it.',
  EAI_AGAIN: 'The host name in DATABASE_URL could not be resolved: check the DNS settings of this machine.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: CLIENT_REFUSED,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: CLIENT_REFUSED,
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: CLIENT_REFUSED,
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: CLIENT_REFUSED,
  ERR_TLS_CERT_ALTNAME_INVALID:
    'The certificate of PostgreSQL is for another host name than the one in DATABASE_URL: use that name, or sslmode=verify-ca.',
  CERT_HAS_EXPIRED: 'The certificate of PostgreSQL has expired: renew it.',
  CERT_NOT_YET_VALID: 'The certificate of PostgreSQL is not valid yet: check the clock of this machine, or renew it.',
  ENOSPC: 'The disk is full: free some space, then start again.',
  EROFS: 'PATH is on a read-only file system: set DATA_DIR to a folder that this user may write to.',
  EACCES: 'PATH may not be read or written by this user: change its owner, or set DATA_DIR to another folder.',
  EPERM: 'PATH may not be changed by this user: change its owner, or set DATA_DIR to another folder.',
};

/**
 * Turns an error that the operator can solve (database unreachable, wrong password, disk full, folder not writable)
 * into a StartupError with the correction. Any other error is returned as it is. `setting` is the one that has the URL.
 */
export function explainDatabaseError(error: unknown, setting = 'DATABASE_URL'): unknown {
  const explanation =
    error instanceof StartupError ? error.message : (explainText(error) ?? EXPLANATIONS[errorCode(error)]);
  if (explanation === undefined || (error instanceof StartupError && setting === 'DATABASE_URL')) return error;
  const message = explanation.replace('PATH', pathOf(error)).replaceAll('DATABASE_URL', setting);
  return new StartupError(message, { cause: error });
}

/** Returns true if the server is starting or stopping, or closed the connection: a retry a moment later may succeed. */
export const isDatabaseStarting = (error: unknown): boolean =>
  /^57P0[123]$/.test(errorCode(error)) || (error instanceof Error && /connection terminated/i.test(error.message));

const pathOf = (error: unknown): string =>
  error instanceof Error && 'path' in error && typeof error.path === 'string' ? error.path : 'DATA_DIR';

/** Returns the code of a system or PostgreSQL error; a host with several addresses fails with an AggregateError. */
function errorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error instanceof AggregateError ? errorCode(error.errors[0]) : '';
}

/** Explains the errors that have no code, or one that is less specific than the text. */
function explainText(error: unknown): string | undefined {
  const text = error instanceof Error ? error.message : '';
  // Before the codes, which mean a file or a folder everywhere else.
  if (/^connect (EACCES|EPERM) /.test(text))
    return `${text.replace(/^connect \w+ /, '')} does not let this user connect: run this as the user of the gateway, or correct DATABASE_URL.`;
  if (/timeout expired|timeout exceeded|connection timeout/i.test(text)) return EXPLANATIONS['ETIMEDOUT'];
  if (/does not support SSL/i.test(text))
    return 'PostgreSQL does not support TLS: remove sslmode from DATABASE_URL, or set ssl = on in its postgresql.conf.';
  if (
    (text.includes('no pg_hba.conf entry') && text.includes('no encryption')) ||
    /SSL (connection is )?required/i.test(text)
  )
    return 'PostgreSQL takes only encrypted connections from here: set sslmode=require or stricter in DATABASE_URL.';
  if (/connection requires a valid client certificate/i.test(text))
    return 'PostgreSQL wants a certificate from us: set sslcert and sslkey in DATABASE_URL to the paths of one and its key.';
  return /password must be a string/i.test(text) ? 'DATABASE_URL has no password: add it.' : undefined;
}

/**
 * Creates DATA_DIR if it is missing. Only its owner may read its files; if root creates it, other users may enter the
 * folder, since PostgreSQL runs in it as another user. Throws a StartupError if the path is not a folder.
 */
export async function createDataDir(dataDir: string): Promise<void> {
  const root = process.getuid?.() === 0;
  const mode = root ? 0o711 : 0o700;
  const created = await mkdir(dataDir, { recursive: true, mode }).catch((error: unknown) => {
    if (!hasCode(error, 'EEXIST') && !hasCode(error, 'ENOTDIR')) throw error;
    throw new StartupError(`DATA_DIR ${dataDir} is not a folder: set DATA_DIR to a folder.`);
  });
  if (created !== undefined && root) await chmod(dataDir, mode);
}

/**
 * Returns the text of the file. If it does not exist, it is created with the result of `make`, readable only by its
 * owner (0600). Of several concurrent processes one creates it, atomically, and all read the same text.
 */
export async function readOrCreate(path: string, make: () => string): Promise<string> {
  const found = await readIfExists(path);
  if (found !== undefined) return found;
  const draft = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    await writeFile(draft, make(), { mode: 0o600, flag: 'wx', flush: true });
    // Unlike a rename, a link never replaces a file that another process has created in the meantime.
    await link(draft, path).catch(ignoreCode('EEXIST'));
  } finally {
    await rm(draft, { force: true });
  }
  return readFile(path, 'utf8');
}

/** Returns the text of the file, or undefined if it does not exist. */
export async function readIfExists(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(ignoreCode('ENOENT'));
}

/** Returns a handler for `catch` that turns errors with this code into undefined and rethrows others. */
export const ignoreCode =
  (code: string) =>
  (error: unknown): undefined => {
    if (!hasCode(error, code)) throw error;
  };

/** Returns true if an error is a system error with this code, such as ENOENT. */
export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

type ListenAt = {
  readonly host: string;
  readonly port: number;
  /** The settings that port and host come from. */
  readonly setting: string;
  readonly hostSetting: string;
};

/** Explanations of errors of listening, with their remedy, by error code. */
const LISTEN_EXPLANATIONS: Readonly<Record<string, (at: ListenAt) => string>> = {
  EADDRINUSE: ({ port, setting }) =>
    `Port ${port} is in use: stop the program that uses it, or set ${setting} to another port.`,
  EACCES: ({ port, setting }) => `Port ${port} needs root privileges: set ${setting} to a port above 1023.`,
  EADDRNOTAVAIL: ({ host, hostSetting }) => `${host} is not an address of this machine: correct ${hostSetting}.`,
  ENOTFOUND: ({ host, hostSetting }) => `The host name ${host} cannot be resolved: correct ${hostSetting}.`,
};

/** Waits until a server listens. Throws a StartupError for a known reason why it cannot. */
export async function explainListening<T>(listening: Promise<T>, at: ListenAt): Promise<T> {
  try {
    return await listening;
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const sentence = LISTEN_EXPLANATIONS[code]?.(at);
    throw sentence === undefined ? cause : new StartupError(sentence, { cause });
  }
}
