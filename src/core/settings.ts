import type { Platform } from './channels.ts';
import {
  addressBlocks,
  cellDatabases,
  databaseUrl,
  folder,
  integer,
  mailAddress,
  matching,
  mebibytes,
  nameServers,
  oneOf,
  optional,
  path,
  ports,
  publicUrl,
  type Rule,
  scopesOf,
  secretKey,
  text,
  tlvTags,
  url,
} from './setting-rules.ts';

/** One setting. `parse` throws an Error whose message completes the sentence "<env> …". */
export type Setting<T> = {
  /** The name of the environment variable. */
  readonly env: string;
  /** Empty if there is none. */
  readonly default?: string;
  readonly help: string;
  readonly parse: Rule<T>;
  /** True: docs/configuration.md calls it a secret. */
  readonly secret?: true;
};

export type SettingTree = { readonly [name: string]: SettingTree | Setting<unknown> };

/** The settings of our app at a social network. */
const app = (platform: Platform, network: string, scopes: Omit<Setting<unknown>, 'parse'>) =>
  ({
    clientId: {
      env: `${platform.toUpperCase()}_CLIENT_ID`,
      help: `Client ID of your ${network} app, through which profiles are connected. Its redirect URI is PUBLIC_URL followed by /oauth/${platform}/callback.`,
      parse: text('name'),
    },
    clientSecret: {
      env: `${platform.toUpperCase()}_CLIENT_SECRET`,
      help: `Client secret of your ${network} app.`,
      parse: text('name'),
      secret: true,
    },
    scopes: { ...scopes, parse: scopesOf(platform) },
  }) as const;

/** Meta supports each version for two years (developers.facebook.com/docs/graph-api/changelog/versions). */
const graphVersion = (env: string, network: string): Setting<string> => ({
  env,
  default: 'v25.0',
  help: `Version of the Graph API at ${network}. Meta ends v25.0 on 29 July 2028.`,
  parse: matching('version', /^v\d{1,3}\.\d$/, 'v25.0'),
});

/** All settings by the sections of docs/configuration.md, and in them by their names in `Config`. */
export const SETTINGS = {
  Server: {
    host: {
      env: 'HOST',
      default: '127.0.0.1',
      help: 'Address to listen on. Any address other than loopback needs TLS_CERT and TLS_KEY, or TRUST_PROXY.',
      parse: text('address'),
    },
    port: { env: 'PORT', default: '8080', help: 'Port to listen on; 0 picks a free one.', parse: integer(0, 65535) },
    workerPort: {
      env: 'WORKER_PORT',
      help: 'Port on HOST on which a `worker` process serves /health/live, /health/ready and /metrics, and nothing else, under the same rules as PORT; 0 picks a free one. If empty, it does not listen.',
      parse: optional(integer(0, 65535)),
    },
    publicUrl: {
      env: 'PUBLIC_URL',
      help: 'URL at which others reach the server, used in links and callback URLs. If empty, it is built from HOST and PORT.',
      parse: optional(publicUrl),
    },
    tls: {
      certFile: {
        env: 'TLS_CERT',
        help: 'PEM file with the certificate chain; together with TLS_KEY it enables HTTPS (TLS 1.2 or newer).',
        parse: optional(path),
      },
      keyFile: { env: 'TLS_KEY', help: 'PEM file with the private key of TLS_CERT.', parse: optional(path) },
    },
    trustProxy: {
      env: 'TRUST_PROXY',
      help: 'Comma-separated addresses or CIDR blocks of the HTTPS proxies in front. Only their X-Forwarded-For and X-Forwarded-Proto headers are trusted.',
      parse: addressBlocks,
    },
    bounds: {
      connections: {
        env: 'MAX_CONNECTIONS',
        default: '5000',
        help: 'Maximum number of client connections per process, which needs as many open files (`ulimit -n`). When it is reached, the addresses with the most connections make room for others.',
        parse: integer(10, 1_000_000),
      },
      connectionsPerAddress: {
        env: 'MAX_CONNECTIONS_PER_ADDRESS',
        default: '500',
        help: 'Maximum number of connections from one address (IPv6: one /64 block). Does not apply to the addresses in TRUST_PROXY.',
        parse: integer(1, 1_000_000),
      },
      bodyBytes: {
        env: 'MAX_BODY_MIB',
        default: '256',
        help: 'Maximum size in MiB of all request bodies that a process handles at the same time, for callers with valid credentials; one account may use a quarter of it. Callers without credentials share another quarter on top, of which one address may use an eighth. With 256, that is 256 MiB for callers with credentials (64 MiB for one account) and 64 MiB more for callers without (8 MiB for one address). Bodies of up to 16 KiB do not count, and neither do uploads: they go to disk.',
        parse: mebibytes(128, 65_536),
      },
    },
    logLevel: {
      env: 'LOG_LEVEL',
      default: 'info',
      help: 'Minimum level that is logged.',
      parse: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    },
  },
  Data: {
    dataDir: {
      env: 'DATA_DIR',
      default: './data',
      help: 'Folder for everything that the program keeps on disk: the built-in PostgreSQL, the secret key, stored files.',
      parse: path,
    },
    secretKey: {
      env: 'SECRET_KEY',
      help: 'Key that encrypts stored passwords and tokens: 32 bytes in hex or base64url. If empty, a key is generated once and kept in DATA_DIR/secret.key. All processes on one database need the same key.',
      parse: optional(secretKey),
      secret: true,
    },
    databaseUrl: {
      env: 'DATABASE_URL',
      help: 'URL of your own PostgreSQL (16 or newer); with a primary and standbys, all their hosts, separated by commas (host1:5432,host2:5432), of which the one that accepts writes is used. sslmode, sslrootcert and similar parameters have the same meaning as in libpq. If empty, the program runs one in DATA_DIR, reachable only on 127.0.0.1.',
      parse: optional(databaseUrl),
    },
    databaseUrlRead: {
      env: 'DATABASE_URL_READ',
      help: 'URL of one or more standbys of DATABASE_URL, with the same user, from which exports, statistics and past messages are read: host1:5432,host2:5432. If empty, or while none is new enough, they are read from the primary.',
      parse: optional(databaseUrl),
    },
    databasePool: {
      env: 'DATABASE_POOL',
      default: '20',
      help: 'Maximum number of PostgreSQL connections per process.',
      parse: integer(2, 1000),
    },
    retentionDays: {
      env: 'RETENTION_DAYS',
      default: '90',
      help: 'Days after which messages, their history and receipts, inbound messages, campaign recipients, imports and exports are deleted. The audit log, the ledger, figures and contacts are kept.',
      parse: integer(1, 3650),
    },
  },
  Messages: {
    sandbox: {
      env: 'SANDBOX',
      default: 'auto',
      help: 'Run the built-in sandbox: carriers that deliver no messages, and simulations of social networks without an app; auto: while no other carrier is configured, and in addition to others after `sandbox restore`. It runs only in the command `serve`; `api` and `worker` have none.',
      parse: oneOf(['auto', 'on', 'off']),
    },
    failoverSeconds: {
      env: 'FAILOVER_SECONDS',
      default: '30',
      help: 'Seconds without any bind after which a connection counts as down: its waiting messages move to the next connection of their route.',
      parse: integer(1, 86_400),
    },
    whatsappFreeMessages: {
      env: 'WHATSAPP_FREE_MESSAGES',
      default: '0',
      help: 'Service messages of each WhatsApp number in a month (UTC) that have the price for the window FREE. Meta grants such an allowance since October 2026; see the billing page of your account.',
      parse: integer(0, 100_000_000),
    },
    numberLookupsPerDay: {
      env: 'NUMBER_LOOKUPS_PER_DAY',
      default: '200000',
      help: 'Maximum lookups of the networks of numbers in a day (UTC), for all accounts. The service charges for them. Beyond the limit, messages are routed without a network, and operators are alerted.',
      parse: integer(0, 100_000_000),
    },
  },
  SMPP: {
    host: {
      env: 'SMPP_HOST',
      default: '127.0.0.1',
      help: 'Address on which SMPP_PORT and SMPP_TLS_PORT listen. Passwords and messages cross SMPP_PORT unencrypted: use addresses other than loopback only in private networks.',
      parse: text('address'),
    },
    port: {
      env: 'SMPP_PORT',
      help: 'Port on SMPP_HOST on which customers bind over SMPP without encryption (2775 is usual); 0 picks a free one. If empty, it does not listen.',
      parse: optional(integer(0, 65535)),
    },
    tlsPort: {
      env: 'SMPP_TLS_PORT',
      help: 'Port on SMPP_HOST on which customers bind over SMPP with TLS (1.2 or newer); 0 picks a free one. Needs a certificate. If empty, it does not listen.',
      parse: optional(integer(0, 65535)),
    },
    tls: {
      certFile: {
        env: 'SMPP_TLS_CERT',
        help: 'PEM file with the certificate chain of SMPP_TLS_PORT. If empty, TLS_CERT.',
        parse: optional(path),
      },
      keyFile: {
        env: 'SMPP_TLS_KEY',
        help: 'PEM file with the private key of SMPP_TLS_CERT. If empty, TLS_KEY.',
        parse: optional(path),
      },
    },
    passedTags: {
      env: 'SMPP_PASSED_TLVS',
      help: 'Comma-separated tags of optional parameters that submits of SMPP customers pass on to SMPP carriers, in hexadecimal: 0x1401,0x000d. Tags that the gateway itself writes or reads are not allowed.',
      parse: tlvTags,
    },
    unboundPerMinute: {
      env: 'SMPP_UNBOUND_PER_MINUTE',
      default: '120',
      help: 'Connections to the SMPP server that one network (an IPv4 address, an IPv6 /64) may open in a minute without binding; beyond that they are closed immediately, before TLS. All networks without a bind so far may together open 20 times as many. Each process counts for itself; 0 means unlimited.',
      parse: integer(0, 1_000_000),
    },
  },
  Requests: {
    webhooks: {
      allowedBlocks: {
        env: 'WEBHOOK_ALLOW_CIDRS',
        help: 'Comma-separated addresses or CIDR blocks to which webhooks may be posted in addition to public addresses: for receivers in a private network. Anyone who may register a webhook can reach every host in them.',
        parse: addressBlocks,
      },
      ports: {
        env: 'WEBHOOK_PORTS',
        default: '443,8443',
        help: 'Comma-separated ports that a webhook URL may use.',
        parse: ports,
      },
      caFile: {
        env: 'WEBHOOK_CA_FILE',
        help: 'PEM file with certificate authorities that are accepted for webhook receivers in addition to the public ones.',
        parse: optional(path),
      },
    },
    singleSignOnPorts: {
      env: 'SINGLE_SIGN_ON_PORTS',
      default: '443',
      help: 'Comma-separated ports that the issuer of a single sign-on may use, for example `443,8443` for your own provider. An issuer in a private network also needs `WEBHOOK_ALLOW_CIDRS`.',
      parse: ports,
    },
    dnsServers: {
      env: 'DNS_SERVERS',
      help: 'Comma-separated name servers, as `192.0.2.1` or `192.0.2.1:5353`, that resolve the hosts of webhooks and of single sign-on, and the records that prove mail domains. If empty, those of the machine.',
      parse: nameServers,
    },
  },
  Files: {
    kind: {
      env: 'STORAGE',
      default: 'file',
      help: 'Where media and exports are stored: in the folder `files` of DATA_DIR, or in a bucket of an S3-compatible store, which processes on several machines need.',
      parse: oneOf(['file', 's3']),
    },
    bucket: {
      env: 'S3_BUCKET',
      help: 'Name of the bucket, which must exist. Required with STORAGE=s3.',
      parse: text('name'),
    },
    region: { env: 'S3_REGION', default: 'us-east-1', help: 'Region of the bucket.', parse: text('name') },
    endpoint: {
      env: 'S3_ENDPOINT',
      help: 'URL of the store, if it is not AWS. Path-style addressing is used.',
      parse: optional(url(['http:', 'https:'], 'https://s3.example.com')),
    },
    accessKeyId: {
      env: 'S3_ACCESS_KEY_ID',
      help: 'Access key ID. If empty, the default AWS credential chain is used (the machine’s role or the AWS_… variables).',
      parse: text('name'),
    },
    secretAccessKey: {
      env: 'S3_SECRET_ACCESS_KEY',
      help: 'Secret access key that belongs to S3_ACCESS_KEY_ID.',
      parse: text('name'),
      secret: true,
    },
    prefix: {
      env: 'S3_PREFIX',
      help: 'Folder within the bucket, if the bucket also contains other files.',
      parse: folder,
    },
  },
  Mail: {
    smtpUrl: {
      env: 'SMTP_URL',
      help: 'URL of the mail server for invitations and forgotten passwords, with user and password: smtps://user:password@mail.example.com, or smtp:// with STARTTLS, which only servers on this machine may omit. If empty, no mails are sent and administrators pass links on.',
      parse: optional(url(['smtp:', 'smtps:'], 'smtps://user:password@mail.example.com')),
      secret: true,
    },
    from: {
      env: 'MAIL_FROM',
      help: 'Address from which mails are sent, such as messages@example.com. Required with SMTP_URL.',
      parse: optional(mailAddress),
    },
  },
  Social: {
    facebook: {
      ...app('facebook', 'Facebook', {
        env: 'FACEBOOK_SCOPES',
        default: 'pages_show_list,pages_read_engagement,business_management',
        help: 'Comma-separated scopes that users are asked for at Facebook. Each must be in the use case of your app. Not sent with FACEBOOK_CONFIG_ID.',
      }),
      configId: {
        env: 'FACEBOOK_CONFIG_ID',
        help: 'ID of the configuration of Facebook Login for Business in your app, which then defines the permissions that users are asked for. Apps with that product need it.',
        parse: optional(matching('number', /^\d{1,32}$/, '1234567890123456')),
      },
      apiVersion: graphVersion('FACEBOOK_API_VERSION', 'Facebook'),
    },
    instagram: {
      ...app('instagram', 'Instagram', {
        env: 'INSTAGRAM_SCOPES',
        default: 'instagram_business_basic',
        help: 'Comma-separated scopes that users are asked for at Instagram.',
      }),
      apiVersion: graphVersion('INSTAGRAM_API_VERSION', 'Instagram'),
    },
    linkedin: {
      ...app('linkedin', 'LinkedIn', {
        env: 'LINKEDIN_SCOPES',
        default: 'openid,profile,email,w_member_social',
        help: 'Comma-separated scopes that users are asked for at LinkedIn. LinkedIn rejects the sign-in if your app lacks one of them. An app with the Community Management API needs others, such as r_basicprofile,w_member_social,rw_organization_admin,w_organization_social; organisations are listed only with r_organization_admin or rw_organization_admin.',
      }),
      apiVersion: {
        env: 'LINKEDIN_API_VERSION',
        default: '202608',
        help: 'Version of the LinkedIn API, as YYYYMM. LinkedIn ends each version about a year after that month.',
        parse: matching('version', /^20\d{2}(0[1-9]|1[0-2])$/, '202608'),
      },
    },
    google: app('google', 'Google', {
      env: 'GOOGLE_SCOPES',
      default: 'https://www.googleapis.com/auth/business.manage,openid,email,profile',
      help: 'Comma-separated scopes that users are asked for at Google.',
    }),
    tiktok: app('tiktok', 'TikTok', {
      env: 'TIKTOK_SCOPES',
      default: 'user.info.basic',
      help: 'Comma-separated scopes that users are asked for at TikTok. Each must be approved for your app, except user.info.basic; with user.info.profile, the username is shown.',
    }),
    simulatedUrl: {
      env: 'SOCIAL_URL',
      help: 'For tests: base URL of a server that replaces the social networks; https://host/path is requested as <SOCIAL_URL>/host/path.',
      parse: optional(url(['http:', 'https:'], 'http://127.0.0.1:9000')),
    },
  },
  Cells: {
    cell: {
      env: 'CELL',
      default: '0',
      help: 'Number of this installation among several that share nothing, 0 to 8190: the ids of its database begin at that many times 2^40, so that those of two installations never meet and an account can move. Fixed by the first start on a database.',
      parse: integer(0, 8190),
    },
    cells: {
      directoryUrl: {
        env: 'DIRECTORY_URL',
        help: 'URL of the database of the directory, which knows the accounts that have moved to another cell: a separate database, not that of a cell. For the commands that concern several cells, and for workers of cells that accounts leave.',
        parse: optional(databaseUrl),
      },
      databases: {
        env: 'CELL_DATABASES',
        help: 'The databases of all cells, as number=URL separated by spaces: `0=postgres://user:password@host/name 1=postgres://user:password@host/name`. For the commands that concern several cells, and for workers of cells that accounts leave.',
        parse: cellDatabases,
      },
    },
  },
} satisfies SettingTree;
