import { resolve } from 'node:path';
import type { Platform } from './channels.ts';
import { trimCharacter } from './schema.ts';
import {
  addressBlocks,
  cellDatabases,
  databaseUrl,
  integer,
  mailAddress,
  matching,
  nameServers,
  oneOf,
  optional,
  ports,
  publicUrl,
  scopesOf,
  secretKey,
  text,
  tlvTags,
  url,
} from './setting-rules.ts';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

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
const appScopes = (platform: Platform, fallback: string, help: string): Key<readonly string[]> => ({
  type: 'list',
  fallback,
  help,
  parse: scopesOf(platform),
});
/** Meta supports each version for two years (developers.facebook.com/docs/graph-api/changelog/versions). */
const graphVersion = (network: string): Key<string> => ({
  type: 'version',
  fallback: 'v25.0',
  help: `Version of the Graph API at ${network}. Meta ends v25.0 on 29 July 2028.`,
  parse: matching(/^v\d{1,3}\.\d$/, 'v25.0'),
});

/** The only table of settings, with types, defaults and descriptions; docs/configuration.md is generated from it. */
export const KEYS = {
  HOST: {
    type: 'address',
    fallback: '127.0.0.1',
    help: 'Address to listen on. Any address other than loopback needs TLS_CERT and TLS_KEY, or TRUST_PROXY.',
    parse: text,
  },
  PORT: { type: 'number', fallback: '8080', help: 'Port to listen on; 0 picks a free one.', parse: integer(0, 65535) },
  CELL: {
    type: 'number',
    fallback: '0',
    help: 'Number of this installation among several that share nothing, 0 to 8190: the ids of its database begin at that many times 2^40, so that those of two installations never meet and an account can move. Fixed by the first start on a database.',
    parse: integer(0, 8190),
  },
  DIRECTORY_URL: {
    type: 'URL',
    fallback: '',
    help: 'URL of the database of the directory, which knows the accounts that have moved to another cell: a separate database, not that of a cell. For the commands that concern several cells, and for workers of cells that accounts leave.',
    parse: databaseUrl,
  },
  CELL_DATABASES: {
    type: 'list',
    fallback: '',
    help: 'The databases of all cells, as number=URL separated by spaces: `0=postgres://user:password@host/name 1=postgres://user:password@host/name`. For the commands that concern several cells, and for workers of cells that accounts leave.',
    parse: cellDatabases,
  },
  PROCESSES: {
    type: 'number',
    fallback: '1',
    help: 'Number of processes that `serve` runs in, at one address; `serve --processes` takes precedence. With more than one, another process supervises them. Each works as `api` and `worker` do together: it opens all binds of each connection, and takes 200 to 350 MB of memory. On two cores, more than one is slower.',
    parse: integer(1, 64),
  },
  WORKER_PORT: {
    type: 'number',
    fallback: '',
    help: 'Port on HOST on which a `worker` process serves /health/live, /health/ready and /metrics, and nothing else, under the same rules as PORT; 0 picks a free one. If empty, it does not listen.',
    parse: optional(integer(0, 65535)),
  },
  SMPP_PORT: {
    type: 'number',
    fallback: '',
    help: 'Port on SMPP_HOST on which customers bind over SMPP without encryption (2775 is usual); 0 picks a free one. If empty, it does not listen.',
    parse: optional(integer(0, 65535)),
  },
  SMPP_HOST: {
    type: 'address',
    fallback: '127.0.0.1',
    help: 'Address on which SMPP_PORT and SMPP_TLS_PORT listen. Passwords and messages cross SMPP_PORT unencrypted: use addresses other than loopback only in private networks.',
    parse: text,
  },
  SMPP_TLS_PORT: {
    type: 'number',
    fallback: '',
    help: 'Port on SMPP_HOST on which customers bind over SMPP with TLS (1.2 or newer); 0 picks a free one. Needs a certificate. If empty, it does not listen.',
    parse: optional(integer(0, 65535)),
  },
  SMPP_TLS_CERT: {
    type: 'path',
    fallback: '',
    help: 'PEM file with the certificate chain of SMPP_TLS_PORT. If empty, TLS_CERT.',
    parse: text,
  },
  SMPP_TLS_KEY: {
    type: 'path',
    fallback: '',
    help: 'PEM file with the private key of SMPP_TLS_CERT. If empty, TLS_KEY.',
    parse: text,
  },
  SMPP_PASSED_TLVS: {
    type: 'list',
    fallback: '',
    help: 'Comma-separated tags of optional parameters that submits of SMPP customers pass on to SMPP carriers, in hexadecimal: 0x1401,0x000d. Tags that the gateway itself writes or reads are not allowed.',
    parse: tlvTags,
  },
  SMPP_STRANGERS_PER_MINUTE: {
    type: 'number',
    fallback: '120',
    help: 'Connections to the SMPP server that one network (an IPv4 address, an IPv6 /64) may open in a minute without binding; beyond that they are closed immediately, before TLS. All networks without a bind so far may together open 20 times as many. Each process counts for itself; 0 means unlimited.',
    parse: integer(0, 1_000_000),
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
    help: 'URL of your own PostgreSQL (16 or newer); with a primary and standbys, all their hosts, separated by commas (host1:5432,host2:5432), of which the one that accepts writes is used. sslmode, sslrootcert and similar parameters have the same meaning as in libpq. If empty, the program runs one in DATA_DIR, reachable only on 127.0.0.1.',
    parse: databaseUrl,
  },
  DATABASE_URL_READ: {
    type: 'URL',
    fallback: '',
    help: 'URL of one or more standbys of DATABASE_URL, with the same user, from which exports, statistics and past messages are read: host1:5432,host2:5432. If empty, or while none is new enough, they are read from the primary.',
    parse: databaseUrl,
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
  MAX_CONNECTIONS: {
    type: 'number',
    fallback: '5000',
    help: 'Maximum number of client connections per process, which needs as many open files (`ulimit -n`). When it is reached, the addresses with the most connections make room for others.',
    parse: integer(10, 1_000_000),
  },
  MAX_CONNECTIONS_PER_ADDRESS: {
    type: 'number',
    fallback: '500',
    help: 'Maximum number of connections from one address (IPv6: one /64 block). Does not apply to the addresses in TRUST_PROXY.',
    parse: integer(1, 1_000_000),
  },
  MAX_BODY_MIB: {
    type: 'number',
    fallback: '256',
    help: 'Maximum size in MiB of all request bodies that a process handles at the same time, for callers with valid credentials; one account may use a quarter of it. Callers without credentials share another quarter on top, of which one address may use an eighth. With 256, that is 256 MiB for callers with credentials (64 MiB for one account) and 64 MiB more for callers without (8 MiB for one address). Bodies of up to 16 KiB do not count, and neither do uploads: they go to disk.',
    parse: integer(128, 65_536),
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
    help: 'Run the built-in sandbox: carriers that deliver no messages, and simulations of social networks without an app; auto: while no other carrier is configured, and in addition to others after `sandbox restore`. It runs only in the command `serve`; `api` and `worker` have none.',
    parse: oneOf<'auto' | 'on' | 'off'>(['auto', 'on', 'off']),
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
    parse: publicUrl,
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
  MAX_SCHEDULE_DAYS: {
    type: 'number',
    fallback: '366',
    help: 'Maximum number of days that single messages and messages of the bulk API may be scheduled ahead.',
    parse: integer(1, 3650),
  },
  NUMBER_LOOKUPS_PER_DAY: {
    type: 'number',
    fallback: '200000',
    help: 'Maximum lookups of the networks of numbers in a day (UTC), for all accounts. The service charges for them. Beyond the limit, messages are routed without a network, and operators are alerted.',
    parse: integer(0, 100_000_000),
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
  SINGLE_SIGN_ON_PORTS: {
    type: 'list',
    fallback: '443',
    help: 'Comma-separated ports that the issuer of a single sign-on may use, for example `443,8443` for your own provider. An issuer in a private network also needs `WEBHOOK_ALLOW_CIDRS`.',
    parse: ports,
  },
  DNS_SERVERS: {
    type: 'list',
    fallback: '',
    help: 'Comma-separated name servers, as `192.0.2.1` or `192.0.2.1:5353`, that resolve the hosts of webhooks and of single sign-on, and the records that prove mail domains. If empty, those of the machine.',
    parse: nameServers,
  },
  STORAGE: {
    type: 'file or s3',
    fallback: 'file',
    help: 'Where media and exports are stored: in the folder `files` of DATA_DIR, or in a bucket of an S3-compatible store, which processes on several machines need.',
    parse: oneOf<'file' | 's3'>(['file', 's3']),
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
    parse: (value: string) => trimCharacter(value, '/'),
  },
  SMTP_URL: {
    type: 'secret',
    fallback: '',
    help: 'URL of the mail server for invitations and forgotten passwords, with user and password: smtps://user:password@mail.example.com, or smtp:// with STARTTLS, which only servers on this machine may omit. If empty, no mails are sent and administrators pass links on.',
    parse: url(['smtp:', 'smtps:'], 'smtps://user:password@mail.example.com'),
  },
  MAIL_FROM: {
    type: 'address',
    fallback: '',
    help: 'Address from which mails are sent, such as messages@example.com. Required with SMTP_URL.',
    parse: optional(mailAddress),
  },
  FACEBOOK_CLIENT_ID: appId('Facebook'),
  FACEBOOK_CLIENT_SECRET: appSecret('Facebook'),
  FACEBOOK_SCOPES: appScopes(
    'facebook',
    'pages_show_list,pages_read_engagement,business_management',
    'Comma-separated scopes that users are asked for at Facebook. Each must be in the use case of your app. Not sent with FACEBOOK_CONFIG_ID.',
  ),
  FACEBOOK_CONFIG_ID: {
    type: 'number',
    fallback: '',
    help: 'ID of the configuration of Facebook Login for Business in your app, which then defines the permissions that users are asked for. Apps with that product need it.',
    parse: matching(/^\d{0,32}$/, '1234567890123456'),
  },
  FACEBOOK_API_VERSION: graphVersion('Facebook'),
  INSTAGRAM_CLIENT_ID: appId('Instagram'),
  INSTAGRAM_CLIENT_SECRET: appSecret('Instagram'),
  INSTAGRAM_SCOPES: appScopes(
    'instagram',
    'instagram_business_basic',
    'Comma-separated scopes that users are asked for at Instagram.',
  ),
  INSTAGRAM_API_VERSION: graphVersion('Instagram'),
  LINKEDIN_CLIENT_ID: appId('LinkedIn'),
  LINKEDIN_CLIENT_SECRET: appSecret('LinkedIn'),
  LINKEDIN_SCOPES: appScopes(
    'linkedin',
    'openid,profile,email,w_member_social',
    'Comma-separated scopes that users are asked for at LinkedIn. LinkedIn rejects the sign-in if your app lacks one of them. An app with the Community Management API needs others, such as r_basicprofile,w_member_social,rw_organization_admin,w_organization_social; organisations are listed only with r_organization_admin or rw_organization_admin.',
  ),
  LINKEDIN_API_VERSION: {
    type: 'version',
    fallback: '202608',
    help: 'Version of the LinkedIn API, as YYYYMM. LinkedIn ends each version about a year after that month.',
    parse: matching(/^20\d{2}(0[1-9]|1[0-2])$/, '202608'),
  },
  GOOGLE_CLIENT_ID: appId('Google'),
  GOOGLE_CLIENT_SECRET: appSecret('Google'),
  GOOGLE_SCOPES: appScopes(
    'google',
    'https://www.googleapis.com/auth/business.manage,openid,email,profile',
    'Comma-separated scopes that users are asked for at Google.',
  ),
  TIKTOK_CLIENT_ID: appId('TikTok'),
  TIKTOK_CLIENT_SECRET: appSecret('TikTok'),
  TIKTOK_SCOPES: appScopes(
    'tiktok',
    'user.info.basic',
    'Comma-separated scopes that users are asked for at TikTok. Each must be approved for your app, except user.info.basic; with user.info.profile, the username is shown.',
  ),
  SOCIAL_URL: {
    type: 'URL',
    fallback: '',
    help: 'For tests: base URL of a server that replaces the social networks; https://host/path is requested as <SOCIAL_URL>/host/path.',
    parse: url(['http:', 'https:'], 'http://127.0.0.1:9000'),
  },
} satisfies Record<string, Key<unknown>>;

/** One setting. `parse` returns the value, or throws an Error whose message completes the sentence "<KEY> …". */
export type Key<T> = {
  readonly type: string;
  readonly fallback: string;
  readonly help: string;
  parse(text: string): T;
};
