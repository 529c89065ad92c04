import { isIPv4, isIPv6 } from 'node:net';
import { resolve } from 'node:path';
import { StartupError } from './db/startup-error.ts';
import type { Platform } from './lib/social-platform.ts';
import { addressBlocks, integer, oneOf, optional, ports, secretKey, text, url } from './lib/setting-rules.ts';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The validated settings. The rest of the program reads its settings only from here. */
export type Config = {
  readonly host: string;
  readonly port: number;
  /** Port on which a `worker` process serves health and metrics; undefined: none. */
  readonly workerPort: number | undefined;
  /** Absolute path. */
  readonly dataDir: string;
  /** Undefined: the program runs its own PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** Maximum number of PostgreSQL connections per process. */
  readonly databasePool: number;
  /** Absolute paths of PEM files; undefined: plain HTTP. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Addresses and CIDR blocks of the proxies whose X-Forwarded-* headers are trusted. */
  readonly trustProxy: readonly string[];
  /** 32 bytes; undefined: generated and kept in `dataDir`. */
  readonly secretKey: Buffer | undefined;
  readonly sandbox: 'auto' | 'on' | 'off';
  readonly logLevel: LogLevel;
  /** Without a trailing slash. */
  readonly publicUrl: string;
  readonly retentionDays: number;
  readonly failoverSeconds: number;
  readonly webhooks: {
    /** Addresses and CIDR blocks that may be posted to in addition to public addresses. */
    readonly allowedBlocks: readonly string[];
    readonly ports: readonly number[];
    /** Absolute path of a PEM file. */
    readonly caFile: string | undefined;
  };
  /** Where uploaded and exported files are stored. */
  readonly storage: { readonly kind: 'file' } | S3Config;
  readonly social: {
    /** Undefined: the networks themselves. */
    readonly baseUrl: string | undefined;
    /** Our credentials at each network; empty strings where they are not set. */
    readonly clients: Readonly<Record<Platform, SocialClient>>;
  };
};

export type SocialClient = { readonly clientId: string; readonly clientSecret: string };

type S3Config = {
  readonly kind: 's3';
  readonly bucket: string;
  readonly region: string;
  /** Undefined: the endpoint of AWS. */
  readonly endpoint: string | undefined;
  /** Undefined: the default AWS credential chain. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
  /** Whether to address objects as `https://host/bucket/key` instead of `https://bucket.host/key`. */
  readonly pathStyle: boolean;
  /** Prefix of each key: empty, or ending with a slash. */
  readonly prefix: string;
};

/** One setting. `parse` returns the value, or throws an Error whose message completes the sentence "<KEY> …". */
type Key<T> = { readonly type: string; readonly fallback: string; readonly help: string; parse(text: string): T };

/** The client ID of our app at a social network. */
const appId = (network: string): Key<string> => ({
  type: 'name',
  fallback: '',
  help: `Client ID of your ${network} app, through which profiles are connected. Its redirect URI is PUBLIC_URL followed by /oauth/${network.toLowerCase()}/callback.`,
  parse: text,
});
const appSecret = (network: string): Key<string> => ({
  type: 'secret',
  fallback: '',
  help: `Client secret of your ${network} app.`,
  parse: text,
});

/** The only table of settings, with types, defaults and descriptions; docs/configuration.md is generated from it. */
const KEYS = {
  HOST: {
    type: 'address',
    fallback: '127.0.0.1',
    help: 'Address to listen on. Any address other than loopback needs TLS_CERT and TLS_KEY, or TRUST_PROXY.',
    parse: text,
  },
  PORT: { type: 'number', fallback: '8080', help: 'Port to listen on; 0 picks a free one.', parse: integer(0, 65535) },
  WORKER_PORT: {
    type: 'number',
    fallback: '',
    help: 'Port on HOST on which a `worker` process serves /health/live, /health/ready and /metrics, and nothing else, under the same rules as PORT; 0 picks a free one. If empty, it does not listen.',
    parse: optional(integer(0, 65535)),
  },
  DATA_DIR: {
    type: 'path',
    fallback: './data',
    help: 'Folder for everything that the program keeps on disk: the built-in PostgreSQL, the secret key, stored files.',
    parse: (value: string) => resolve(value),
  },
  DATABASE_URL: {
    type: 'URL',
    fallback: '',
    help: 'URL of your own PostgreSQL 18. If empty, the program runs one in DATA_DIR, reachable only on 127.0.0.1.',
    parse: url(['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/database'),
  },
  DATABASE_POOL: {
    type: 'number',
    fallback: '20',
    help: 'Maximum number of PostgreSQL connections per process.',
    parse: integer(2, 1000),
  },
  TLS_CERT: {
    type: 'path',
    fallback: '',
    help: 'PEM file with the certificate chain; together with TLS_KEY it enables HTTPS (TLS 1.2 or newer).',
    parse: text,
  },
  TLS_KEY: { type: 'path', fallback: '', help: 'PEM file with the private key of TLS_CERT.', parse: text },
  TRUST_PROXY: {
    type: 'list',
    fallback: '',
    help: 'Comma-separated addresses or CIDR blocks of the HTTPS proxies in front. Only their X-Forwarded-For and X-Forwarded-Proto headers are trusted.',
    parse: addressBlocks,
  },
  SECRET_KEY: {
    type: 'secret',
    fallback: '',
    help: 'Key that encrypts stored passwords and tokens: 32 bytes in hex or base64url. If empty, a key is generated once and kept in DATA_DIR/secret.key. All processes on one database need the same key.',
    parse: secretKey,
  },
  SANDBOX: {
    type: 'auto, on or off',
    fallback: 'auto',
    help: 'Whether to run the built-in sandbox carriers, which deliver to nobody; auto: while no other carrier is configured.',
    parse: oneOf<Config['sandbox']>(['auto', 'on', 'off']),
  },
  LOG_LEVEL: {
    type: LOG_LEVELS.join(', '),
    fallback: 'info',
    help: 'Minimum level that is logged.',
    parse: oneOf(LOG_LEVELS),
  },
  PUBLIC_URL: {
    type: 'URL',
    fallback: '',
    help: 'URL at which others reach the server, used in links and callback URLs. If empty, it is built from HOST and PORT.',
    parse: url(['http:', 'https:'], 'https://messages.example.com'),
  },
  RETENTION_DAYS: {
    type: 'number',
    fallback: '90',
    help: 'Days after which messages, their history and receipts, inbound messages, campaign recipients, imports and exports are deleted. The audit log, the ledger, figures and contacts are kept.',
    parse: integer(1, 3650),
  },
  FAILOVER_SECONDS: {
    type: 'number',
    fallback: '30',
    help: 'Seconds without any bind after which a connection counts as down: its waiting messages move to the next connection of their route.',
    parse: integer(1, 86_400),
  },
  WEBHOOK_ALLOW_CIDRS: {
    type: 'list',
    fallback: '',
    help: 'Comma-separated addresses or CIDR blocks to which webhooks may be posted in addition to public addresses: for receivers in a private network. Anyone who may register a webhook can reach every host in them.',
    parse: addressBlocks,
  },
  WEBHOOK_PORTS: {
    type: 'list',
    fallback: '443,8443',
    help: 'Comma-separated ports that a webhook URL may use.',
    parse: ports,
  },
  WEBHOOK_CA_FILE: {
    type: 'path',
    fallback: '',
    help: 'PEM file with certificate authorities that are accepted for webhook receivers in addition to the public ones.',
    parse: text,
  },
  STORAGE: {
    type: 'file or s3',
    fallback: 'file',
    help: 'Where media and exports are stored: in the folder `files` of DATA_DIR, or in a bucket of an S3-compatible store, which processes on several machines need.',
    parse: oneOf<Config['storage']['kind']>(['file', 's3']),
  },
  S3_BUCKET: {
    type: 'name',
    fallback: '',
    help: 'Name of the bucket, which must exist. Required with STORAGE=s3.',
    parse: text,
  },
  S3_REGION: { type: 'name', fallback: 'us-east-1', help: 'Region of the bucket.', parse: text },
  S3_ENDPOINT: {
    type: 'URL',
    fallback: '',
    help: 'URL of the store, if it is not AWS. Path-style addressing is used.',
    parse: url(['http:', 'https:'], 'https://s3.example.com'),
  },
  S3_ACCESS_KEY_ID: {
    type: 'name',
    fallback: '',
    help: 'Access key ID. If empty, the default AWS credential chain is used (the machine’s role or the AWS_… variables).',
    parse: text,
  },
  S3_SECRET_ACCESS_KEY: {
    type: 'secret',
    fallback: '',
    help: 'Secret access key that belongs to S3_ACCESS_KEY_ID.',
    parse: text,
  },
  S3_PREFIX: {
    type: 'path',
    fallback: '',
    help: 'Folder within the bucket, if the bucket also contains other files.',
    parse: (value: string) => value.replace(/^\/+|\/+$/g, ''),
  },
  FACEBOOK_CLIENT_ID: appId('Facebook'),
  FACEBOOK_CLIENT_SECRET: appSecret('Facebook'),
  INSTAGRAM_CLIENT_ID: appId('Instagram'),
  INSTAGRAM_CLIENT_SECRET: appSecret('Instagram'),
  LINKEDIN_CLIENT_ID: appId('LinkedIn'),
  LINKEDIN_CLIENT_SECRET: appSecret('LinkedIn'),
  GOOGLE_CLIENT_ID: appId('Google'),
  GOOGLE_CLIENT_SECRET: appSecret('Google'),
  TIKTOK_CLIENT_ID: appId('TikTok'),
  TIKTOK_CLIENT_SECRET: appSecret('TikTok'),
  SOCIAL_URL: {
    type: 'URL',
    fallback: '',
    help: 'For tests: base URL of a server that replaces the social networks; https://host/path is requested as <SOCIAL_URL>/host/path.',
    parse: url(['http:', 'https:'], 'http://127.0.0.1:9000'),
  },
} satisfies Record<string, Key<unknown>>;

type KeyName = keyof typeof KEYS;
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads and checks every setting; an empty variable counts as not set.
 * Throws one StartupError that names each wrong key and says what to set.
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
  const tls =
    certFile !== '' && keyFile !== '' ? { certFile: resolve(certFile), keyFile: resolve(keyFile) } : undefined;
  return {
    host,
    port,
    workerPort: read('WORKER_PORT', KEYS.WORKER_PORT),
    dataDir: read('DATA_DIR', KEYS.DATA_DIR),
    databaseUrl: read('DATABASE_URL', KEYS.DATABASE_URL) || undefined,
    databasePool: read('DATABASE_POOL', KEYS.DATABASE_POOL),
    tls,
    trustProxy: read('TRUST_PROXY', KEYS.TRUST_PROXY),
    secretKey: read('SECRET_KEY', KEYS.SECRET_KEY),
    sandbox: read('SANDBOX', KEYS.SANDBOX),
    logLevel: read('LOG_LEVEL', KEYS.LOG_LEVEL),
    publicUrl: read('PUBLIC_URL', KEYS.PUBLIC_URL).replace(/\/+$/, '') || listenUrl(host, port, tls !== undefined),
    retentionDays: read('RETENTION_DAYS', KEYS.RETENTION_DAYS),
    failoverSeconds: read('FAILOVER_SECONDS', KEYS.FAILOVER_SECONDS),
    webhooks: readWebhooks(read),
    storage: readStorage(read),
    social: readSocial(read),
  };
}

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
  const clientOf = (network: Uppercase<Platform>): SocialClient => {
    const [id, secret] = [`${network}_CLIENT_ID`, `${network}_CLIENT_SECRET`] as const;
    return { clientId: read(id, KEYS[id]), clientSecret: read(secret, KEYS[secret]) };
  };
  const clients = {
    facebook: clientOf('FACEBOOK'),
    instagram: clientOf('INSTAGRAM'),
    linkedin: clientOf('LINKEDIN'),
    google: clientOf('GOOGLE'),
    tiktok: clientOf('TIKTOK'),
  };
  return { baseUrl: read('SOCIAL_URL', KEYS.SOCIAL_URL).replace(/\/+$/, '') || undefined, clients };
}

const listenUrl = (host: string, port: number, secure: boolean): string =>
  `${secure ? 'https' : 'http'}://${isIPv6(host) ? `[${host}]` : host}:${port}`;

/** Whether only this machine can reach a host: 127.0.0.0/8, ::1 and the name localhost. */
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

/** Problems that involve several settings. Refuses plain HTTP beyond this machine, before anything listens. */
function combinationProblems(config: Config, env: Environment): string[] {
  const problems: string[] = [];
  const [cert, key] = [env['TLS_CERT']?.trim() ?? '', env['TLS_KEY']?.trim() ?? ''];
  if ((cert === '') !== (key === '')) {
    problems.push(`${cert === '' ? 'TLS_CERT' : 'TLS_KEY'} must be set too: a certificate and its key go together`);
  }
  if (config.storage.kind === 's3') problems.push(...storageProblems(config.storage));
  if (config.tls === undefined && config.trustProxy.length === 0 && !isLoopback(config.host)) {
    problems.push(
      `HOST ${config.host} can be reached from other machines, which needs HTTPS: ` +
        'set TLS_CERT and TLS_KEY, or TRUST_PROXY to the address of the HTTPS proxy in front, or leave HOST at 127.0.0.1',
    );
  }
  return problems;
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
    'Settings are environment variables. This page is generated from `src/platform/config.ts`',
    '(`node scripts/generate-configuration.ts`).',
    '',
    '| Variable | Type | Default | Description |',
    '|---|---|---|---|',
    ...Object.entries<Key<unknown>>(KEYS).map(row),
    '',
  ].join('\n');
}
