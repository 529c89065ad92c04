import { isIPv4, isIPv6 } from 'node:net';
import { resolve } from 'node:path';
import type { Platform } from './channels.ts';
import { StartupError } from './db/startup-error.ts';
import { trimCharacterEnd } from './schema.ts';
import { KEYS, type Key, type LOG_LEVELS } from './settings.ts';

export type LogLevel = (typeof LOG_LEVELS)[number];

/** The validated settings. The rest of the program reads its settings only from here. */
export type Config = {
  readonly host: string;
  readonly port: number;
  /** The number of the database's cell: its ids begin at `cell` * 2^40. */
  readonly cell: number;
  /** Settings of commands that concern several cells. */
  readonly cells: {
    /** The database of the directory. */
    readonly directoryUrl: string | undefined;
    /** The databases of all cells, by their numbers. */
    readonly databases: ReadonlyMap<number, string>;
  };
  /** Number of processes of `serve`. */
  readonly processes: number;
  /** Port on which a `worker` process serves health and metrics; undefined: none. */
  readonly workerPort: number | undefined;
  /** SMPP listener to which customers bind. */
  readonly smpp: SmppListening;
  /** Absolute path. */
  readonly dataDir: string;
  /** Undefined: the program runs its own PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** Standbys that long reads may use; one or several hosts. */
  readonly databaseUrlRead: string | undefined;
  /** Maximum number of PostgreSQL connections per process. */
  readonly databasePool: number;
  /** Absolute paths of PEM files; undefined: plain HTTP. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Addresses and CIDR blocks of the proxies whose X-Forwarded-* headers are trusted. */
  readonly trustProxy: readonly string[];
  /** Limits on resources held by clients at the same time, per process. */
  readonly bounds: {
    readonly connections: number;
    readonly connectionsPerAddress: number;
    /** Bytes of request bodies of callers with valid credentials. */
    readonly bodyBytes: number;
  };
  /** 32 bytes; undefined: generated and kept in `dataDir`. */
  readonly secretKey: Buffer | undefined;
  readonly sandbox: 'auto' | 'on' | 'off';
  readonly logLevel: LogLevel;
  /** Public URL, without a trailing slash. */
  readonly publicUrl: string;
  readonly retentionDays: number;
  readonly failoverSeconds: number;
  /** Maximum number of days that messages may be scheduled ahead. */
  readonly maxScheduleDays: number;
  /** Maximum paid lookups of the networks of numbers in a day, for all accounts. */
  readonly numberLookupsPerDay: number;
  readonly webhooks: {
    /** Addresses and CIDR blocks that may be called in addition to public addresses. */
    readonly allowedBlocks: readonly string[];
    readonly ports: readonly number[];
    /** Absolute path of a PEM file. */
    readonly caFile: string | undefined;
  };
  /** The ports that the providers of single sign-on may have. */
  readonly singleSignOnPorts: readonly number[];
  /** Name servers as `address` or `address:port`; none: those of the machine. */
  readonly dnsServers: readonly string[];
  /** Storage of uploaded and exported files. */
  readonly storage: { readonly kind: 'file' } | S3Config;
  /** Our app at each social network. */
  readonly social: Readonly<Record<Platform, SocialApp>>;
  /** The mail server and our address; undefined: no mails are sent. */
  readonly mail: { readonly smtpUrl: string; readonly from: string } | undefined;
};

export type SmppListening = {
  readonly host: string;
  /** Plain port; undefined: not without TLS. */
  readonly port: number | undefined;
  /** TLS port; undefined: not with TLS. */
  readonly tlsPort: number | undefined;
  /** Absolute paths of PEM files. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** The tags of optional parameters that are passed on to carriers. */
  readonly passedTags: ReadonlySet<number>;
  /** Connections of one network in a minute that do not lead to a bind; 0: unlimited. */
  readonly strangersPerMinute: number;
};

/** Our app at a social network. */
export type SocialApp = {
  /** Empty if not set, like the secret. */
  readonly clientId: string;
  readonly clientSecret: string;
  /** The scopes that users are asked for. */
  readonly scopes: readonly string[];
  /** The configuration of Facebook Login for Business, which replaces the scopes; null: none. */
  readonly configId: string | null;
  /** The version of the network's API; empty for networks whose version is not a setting. */
  readonly apiVersion: string;
  /** URLs of the simulated network; null: the real one. */
  readonly simulated: SimulatedNetwork | null;
};

/** Base URLs below which `https://host/path` is found as `/host/path`. */
export type SimulatedNetwork = {
  /** URL for requests of this program. */
  readonly apiUrl: string;
  /** URL for browsers. */
  readonly pagesUrl: string;
};

type S3Config = {
  readonly kind: 's3';
  readonly bucket: string;
  readonly region: string;
  /** Undefined: the endpoint of AWS. */
  readonly endpoint: string | undefined;
  /** Credentials; undefined: the default AWS credential chain. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
  /** True: address objects as `https://host/bucket/key` instead of `https://bucket.host/key`. */
  readonly pathStyle: boolean;
  /** Prefix of each key: empty, or ending with a slash. */
  readonly prefix: string;
};

type KeyName = keyof typeof KEYS;
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads and checks every setting; an empty variable counts as not set. Throws one StartupError that names each invalid
 * key and its correction.
 */
export function loadConfig(env: Environment): Config {
  const problems: string[] = [];
  const config = readAll((name, key) => {
    try {
      return key.parse(env[name]?.trim() || key.fallback);
    } catch (error) {
      problems.push(`${name} ${error instanceof Error ? error.message : String(error)}`);
      return key.parse(key.fallback);
    }
  });
  problems.push(...combinationProblems(config, env));
  if (problems.length > 0) throw new StartupError(`The configuration is not valid:\n${problems.join('\n')}`);
  return config;
}

type Read = <T>(name: KeyName, key: Key<T>) => T;

function readAll(read: Read): Config {
  const [host, port] = [read('HOST', KEYS.HOST), read('PORT', KEYS.PORT)];
  const [certFile, keyFile] = [read('TLS_CERT', KEYS.TLS_CERT), read('TLS_KEY', KEYS.TLS_KEY)];
  const tls = filesOf(certFile, keyFile);
  return {
    host,
    port,
    cell: read('CELL', KEYS.CELL),
    cells: {
      directoryUrl: read('DIRECTORY_URL', KEYS.DIRECTORY_URL) || undefined,
      databases: read('CELL_DATABASES', KEYS.CELL_DATABASES),
    },
    processes: read('PROCESSES', KEYS.PROCESSES),
    workerPort: read('WORKER_PORT', KEYS.WORKER_PORT),
    smpp: readSmpp(read, tls),
    dataDir: read('DATA_DIR', KEYS.DATA_DIR),
    databaseUrl: read('DATABASE_URL', KEYS.DATABASE_URL) || undefined,
    databaseUrlRead: read('DATABASE_URL_READ', KEYS.DATABASE_URL_READ) || undefined,
    databasePool: read('DATABASE_POOL', KEYS.DATABASE_POOL),
    tls,
    trustProxy: read('TRUST_PROXY', KEYS.TRUST_PROXY),
    bounds: readBounds(read),
    secretKey: read('SECRET_KEY', KEYS.SECRET_KEY),
    sandbox: read('SANDBOX', KEYS.SANDBOX),
    logLevel: read('LOG_LEVEL', KEYS.LOG_LEVEL),
    publicUrl: trimCharacterEnd(read('PUBLIC_URL', KEYS.PUBLIC_URL), '/') || listenUrl(host, port, tls !== undefined),
    retentionDays: read('RETENTION_DAYS', KEYS.RETENTION_DAYS),
    failoverSeconds: read('FAILOVER_SECONDS', KEYS.FAILOVER_SECONDS),
    maxScheduleDays: read('MAX_SCHEDULE_DAYS', KEYS.MAX_SCHEDULE_DAYS),
    numberLookupsPerDay: read('NUMBER_LOOKUPS_PER_DAY', KEYS.NUMBER_LOOKUPS_PER_DAY),
    webhooks: readWebhooks(read),
    singleSignOnPorts: read('SINGLE_SIGN_ON_PORTS', KEYS.SINGLE_SIGN_ON_PORTS),
    dnsServers: read('DNS_SERVERS', KEYS.DNS_SERVERS),
    storage: readStorage(read),
    social: readSocial(read),
    mail: readMail(read),
  };
}

const filesOf = (certFile: string, keyFile: string): Config['tls'] =>
  certFile !== '' && keyFile !== '' ? { certFile: resolve(certFile), keyFile: resolve(keyFile) } : undefined;

function readSmpp(read: Read, tls: Config['tls']): SmppListening {
  return {
    host: read('SMPP_HOST', KEYS.SMPP_HOST),
    port: read('SMPP_PORT', KEYS.SMPP_PORT),
    tlsPort: read('SMPP_TLS_PORT', KEYS.SMPP_TLS_PORT),
    tls: filesOf(read('SMPP_TLS_CERT', KEYS.SMPP_TLS_CERT), read('SMPP_TLS_KEY', KEYS.SMPP_TLS_KEY)) ?? tls,
    passedTags: new Set(read('SMPP_PASSED_TLVS', KEYS.SMPP_PASSED_TLVS)),
    strangersPerMinute: read('SMPP_STRANGERS_PER_MINUTE', KEYS.SMPP_STRANGERS_PER_MINUTE),
  };
}

function readMail(read: Read): Config['mail'] {
  const [smtpUrl, from] = [read('SMTP_URL', KEYS.SMTP_URL), read('MAIL_FROM', KEYS.MAIL_FROM)];
  return smtpUrl === '' || from === undefined ? undefined : { smtpUrl, from };
}

const readBounds = (read: Read): Config['bounds'] => ({
  connections: read('MAX_CONNECTIONS', KEYS.MAX_CONNECTIONS),
  connectionsPerAddress: read('MAX_CONNECTIONS_PER_ADDRESS', KEYS.MAX_CONNECTIONS_PER_ADDRESS),
  bodyBytes: read('MAX_BODY_MIB', KEYS.MAX_BODY_MIB) * 1024 * 1024,
});

function readWebhooks(read: Read): Config['webhooks'] {
  const caFile = read('WEBHOOK_CA_FILE', KEYS.WEBHOOK_CA_FILE);
  return {
    allowedBlocks: read('WEBHOOK_ALLOW_CIDRS', KEYS.WEBHOOK_ALLOW_CIDRS),
    ports: read('WEBHOOK_PORTS', KEYS.WEBHOOK_PORTS),
    caFile: caFile === '' ? undefined : resolve(caFile),
  };
}

function readStorage(read: Read): Config['storage'] {
  const [kind, endpoint] = [read('STORAGE', KEYS.STORAGE), read('S3_ENDPOINT', KEYS.S3_ENDPOINT)];
  const accessKeyId = read('S3_ACCESS_KEY_ID', KEYS.S3_ACCESS_KEY_ID);
  const secretAccessKey = read('S3_SECRET_ACCESS_KEY', KEYS.S3_SECRET_ACCESS_KEY);
  const prefix = read('S3_PREFIX', KEYS.S3_PREFIX);
  const s3: S3Config = {
    kind: 's3',
    bucket: read('S3_BUCKET', KEYS.S3_BUCKET),
    region: read('S3_REGION', KEYS.S3_REGION),
    endpoint: endpoint || undefined,
    credentials: accessKeyId === '' ? undefined : { accessKeyId, secretAccessKey },
    pathStyle: endpoint !== '',
    prefix: prefix === '' ? '' : `${prefix}/`,
  };
  return kind === 's3' ? s3 : { kind };
}

function readSocial(read: Read): Config['social'] {
  const url = trimCharacterEnd(read('SOCIAL_URL', KEYS.SOCIAL_URL), '/');
  const simulated = url === '' ? null : { apiUrl: url, pagesUrl: url };
  const appOf = (network: Uppercase<Platform>, apiVersion: string, configId: string | null = null): SocialApp => {
    const [id, secret, scopes] = [`${network}_CLIENT_ID`, `${network}_CLIENT_SECRET`, `${network}_SCOPES`] as const;
    return {
      clientId: read(id, KEYS[id]),
      clientSecret: read(secret, KEYS[secret]),
      scopes: read(scopes, KEYS[scopes]),
      configId,
      apiVersion,
      simulated,
    };
  };
  const configId = read('FACEBOOK_CONFIG_ID', KEYS.FACEBOOK_CONFIG_ID) || null;
  return {
    facebook: appOf('FACEBOOK', read('FACEBOOK_API_VERSION', KEYS.FACEBOOK_API_VERSION), configId),
    instagram: appOf('INSTAGRAM', read('INSTAGRAM_API_VERSION', KEYS.INSTAGRAM_API_VERSION)),
    linkedin: appOf('LINKEDIN', read('LINKEDIN_API_VERSION', KEYS.LINKEDIN_API_VERSION)),
    google: appOf('GOOGLE', ''),
    tiktok: appOf('TIKTOK', ''),
  };
}

const listenUrl = (host: string, port: number, secure: boolean): string =>
  `${secure ? 'https' : 'http'}://${isIPv6(host) ? `[${host}]` : host}:${port}`;

/** Returns true if only this machine can reach a host: 127.0.0.0/8, ::1 and the name localhost. */
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

/** Lists problems that involve several settings. Rejects plain HTTP beyond this machine, before anything listens. */
function combinationProblems(config: Config, env: Environment): string[] {
  const problems: string[] = [];
  const [cert, key] = [env['TLS_CERT']?.trim() ?? '', env['TLS_KEY']?.trim() ?? ''];
  if ((cert === '') !== (key === '')) {
    problems.push(`${cert === '' ? 'TLS_CERT' : 'TLS_KEY'} must be set too: a certificate and its key go together`);
  }
  problems.push(...smppProblems(config, env));
  if (config.storage.kind === 's3') problems.push(...storageProblems(config.storage));
  if (Boolean(env['SMTP_URL']?.trim()) !== Boolean(env['MAIL_FROM']?.trim()))
    problems.push('SMTP_URL and MAIL_FROM must be set together');
  if (config.tls === undefined && config.trustProxy.length === 0 && !isLoopback(config.host)) {
    problems.push(
      `HOST ${config.host} can be reached from other machines, which needs HTTPS: ` +
        'set TLS_CERT and TLS_KEY, or TRUST_PROXY to the address of the HTTPS proxy in front, or leave HOST at 127.0.0.1',
    );
  }
  return problems;
}

function smppProblems({ smpp }: Config, env: Environment): string[] {
  const [cert, key] = ['SMPP_TLS_CERT', 'SMPP_TLS_KEY'].map((name) => (env[name]?.trim() ?? '') !== '');
  return [
    ...(cert === key ? [] : ['SMPP_TLS_CERT and SMPP_TLS_KEY must be set together']),
    ...(smpp.tlsPort !== undefined && smpp.tls === undefined
      ? ['SMPP_TLS_PORT needs a certificate: set SMPP_TLS_CERT and SMPP_TLS_KEY, or TLS_CERT and TLS_KEY']
      : []),
  ];
}

function storageProblems({ bucket, credentials }: S3Config): string[] {
  return [
    ...(bucket === '' ? ['S3_BUCKET must be set: STORAGE is s3'] : []),
    ...(credentials?.secretAccessKey === ''
      ? ['S3_SECRET_ACCESS_KEY must be set: it belongs to S3_ACCESS_KEY_ID']
      : []),
  ];
}

/** Renders the content of docs/configuration.md. */
export function configurationMarkdown(): string {
  const row = ([name, key]: [string, Key<unknown>]): string =>
    `| \`${name}\` | ${key.type} | ${key.fallback === '' ? '–' : `\`${key.fallback}\``} | ${key.help} |`;
  return [
    '# Configuration',
    '',
    'Settings are environment variables. This page is generated from `src/core/settings.ts`',
    '(`node scripts/generate-configuration.ts`).',
    '',
    '| Variable | Type | Default | Description |',
    '|---|---|---|---|',
    ...Object.entries<Key<unknown>>(KEYS).map(row),
    '',
  ].join('\n');
}
