import { isIPv4, isIPv6 } from 'node:net';
import type { Platform } from './channels.ts';
import { StartupError } from './db/startup-error.ts';
import { trimCharacterEnd } from './schema.ts';
import { SETTINGS, type Setting, type SettingTree } from './settings.ts';

/** The validated settings. The rest of the program reads its settings only from here. */
export type Config = Readonly<ReturnType<typeof combine>>;

export type LogLevel = Config['logLevel'];

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
  readonly pagesUrl: string;
};

type Environment = Readonly<Record<string, string | undefined>>;
type Values<T> = { readonly [K in keyof T]: T[K] extends Setting<infer V> ? V : Values<T[K]> };
type Given = Values<typeof SETTINGS>;

/**
 * Reads and checks every setting; an empty variable counts as not set. Throws one StartupError that names each invalid
 * key and its correction.
 */
export function loadConfig(env: Environment): Config {
  const problems: string[] = [];
  const given = readAll(SETTINGS, ({ env: name, default: fallback = '', parse }) => {
    try {
      return parse(env[name]?.trim() || fallback);
    } catch (error) {
      problems.push(`${name} ${error instanceof Error ? error.message : String(error)}`);
      return parse(fallback);
    }
  });
  const config = combine(given);
  problems.push(...combinationProblems(given, config, env));
  if (problems.length > 0) throw new StartupError(`The configuration is not valid:\n${problems.join('\n')}`);
  return config;
}

const isSetting = (node: SettingTree | Setting<unknown>): node is Setting<unknown> =>
  typeof node['parse'] === 'function';

function readAll<T extends SettingTree>(tree: T, read: (setting: Setting<unknown>) => unknown): Values<T> {
  const values = Object.entries(tree).map(([name, node]) => [name, isSetting(node) ? read(node) : readAll(node, read)]);
  // Each name has the type of its setting, which fromEntries() cannot express.
  return Object.fromEntries(values) as Values<T>;
}

/** Makes what the program uses of the values of the single settings. */
function combine({ Server, Data, Messages, SMPP, Requests, Files, Mail, Social, Cells }: Given) {
  const tls = filesOf(Server.tls);
  return {
    ...Server,
    ...Data,
    ...Messages,
    ...Requests,
    ...Cells,
    publicUrl: Server.publicUrl ?? listenUrl(Server, tls !== undefined),
    /** False: `publicUrl` is what the server listens on, which phones may not reach. */
    hasPublicUrl: Server.publicUrl !== undefined,
    /** Undefined: plain HTTP. */
    tls,
    smpp: { ...SMPP, tls: filesOf(SMPP.tls) ?? tls },
    storage: Files.kind === 's3' ? bucketOf(Files) : { kind: 'file' as const },
    social: appsOf(Social),
    /** Undefined: no mails are sent. */
    mail: mailOf(Mail),
  };
}

const filesOf = ({ certFile, keyFile }: Given['Server']['tls']) =>
  certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };

const mailOf = ({ smtpUrl, from }: Given['Mail']) =>
  smtpUrl === undefined || from === undefined ? undefined : { smtpUrl, from };

const bucketOf = ({ accessKeyId, secretAccessKey, ...bucket }: Given['Files']) => ({
  ...bucket,
  kind: 's3' as const,
  /** Undefined: the default AWS credential chain. */
  credentials: accessKeyId === '' ? undefined : { accessKeyId, secretAccessKey },
  /** True: address objects as `https://host/bucket/key` instead of `https://bucket.host/key`. */
  pathStyle: bucket.endpoint !== undefined,
});

function appsOf({ simulatedUrl: url, ...apps }: Given['Social']): Readonly<Record<Platform, SocialApp>> {
  const base = url && trimCharacterEnd(url, '/');
  const simulated = base === undefined ? null : { apiUrl: base, pagesUrl: base };
  const { facebook, instagram, linkedin, google, tiktok } = apps;
  return {
    facebook: { ...facebook, configId: facebook.configId ?? null, simulated },
    instagram: { ...instagram, configId: null, simulated },
    linkedin: { ...linkedin, configId: null, simulated },
    google: { ...google, configId: null, apiVersion: '', simulated },
    tiktok: { ...tiktok, configId: null, apiVersion: '', simulated },
  };
}

const listenUrl = ({ host, port }: Given['Server'], secure: boolean): string =>
  `${secure ? 'https' : 'http'}://${isIPv6(host) ? `[${host}]` : host}:${port}`;

/** Returns true if only this machine can reach a host: 127.0.0.0/8, ::1 and the name localhost. */
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

const isHalf = ({ certFile, keyFile }: Given['Server']['tls']): boolean =>
  (certFile === undefined) !== (keyFile === undefined);

/** Lists problems that involve several settings. Rejects plain HTTP beyond this machine, before anything listens. */
function* combinationProblems({ Server, SMPP, Files }: Given, config: Config, env: Environment): Generator<string> {
  if (isHalf(Server.tls)) {
    const missing = Server.tls.certFile === undefined ? 'TLS_CERT' : 'TLS_KEY';
    yield `${missing} must be set too: a certificate and its key go together`;
  }
  yield* smppProblems(SMPP, config);
  if (Files.kind === 's3') yield* bucketProblems(Files);
  if (Boolean(env['SMTP_URL']?.trim()) !== Boolean(env['MAIL_FROM']?.trim()))
    yield 'SMTP_URL and MAIL_FROM must be set together';
  if (config.tls === undefined && Server.trustProxy.length === 0 && !isLoopback(Server.host))
    yield `HOST ${Server.host} can be reached from other machines, which needs HTTPS: ` +
      'set TLS_CERT and TLS_KEY, or TRUST_PROXY to the address of the HTTPS proxy in front, or leave HOST at 127.0.0.1';
}

function* smppProblems({ tls, tlsPort }: Given['SMPP'], config: Config): Generator<string> {
  if (isHalf(tls)) yield 'SMPP_TLS_CERT and SMPP_TLS_KEY must be set together';
  if (tlsPort !== undefined && config.smpp.tls === undefined)
    yield 'SMPP_TLS_PORT needs a certificate: set SMPP_TLS_CERT and SMPP_TLS_KEY, or TLS_CERT and TLS_KEY';
}

function* bucketProblems({ bucket, accessKeyId, secretAccessKey }: Given['Files']): Generator<string> {
  if (bucket === '') yield 'S3_BUCKET must be set: STORAGE is s3';
  if (accessKeyId !== '' && secretAccessKey === '')
    yield 'S3_SECRET_ACCESS_KEY must be set: it belongs to S3_ACCESS_KEY_ID';
}

const settingsIn = (tree: SettingTree): Setting<unknown>[] =>
  Object.values(tree).flatMap((node) => (isSetting(node) ? [node] : settingsIn(node)));

/** The names of all environment variables that the program reads as settings. */
export const SETTING_NAMES: ReadonlySet<string> = new Set(settingsIn(SETTINGS).map(({ env }) => env));

/** Renders the content of docs/configuration.md. */
export function configurationMarkdown(): string {
  const row = ({ env, default: fallback, help, parse, secret }: Setting<unknown>): string =>
    `| \`${env}\` | ${secret ? 'secret' : parse.type} | ${fallback === undefined ? '–' : `\`${fallback}\``} | ${help} |`;
  const head = ['| Variable | Type | Default | Description |', '|---|---|---|---|'];
  return [
    '# Configuration',
    '',
    'Settings are environment variables. This page is generated from `src/core/settings.ts`',
    '(`node scripts/generate-configuration.ts`).',
    '',
    ...Object.entries(SETTINGS).flatMap(([name, tree]) => [
      `## ${name}`,
      '',
      ...head,
      ...settingsIn(tree).map(row),
      '',
    ]),
  ].join('\n');
}
