import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configurationMarkdown, loadConfig, SETTING_NAMES } from './config.ts';
import { StartupError } from './db/startup-error.ts';

const problemsOf = (env: Record<string, string>): string => {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof StartupError) return error.message;
    throw error;
  }
  return '';
};

/** The social apps without any setting. */
const app = (apiVersion: string, ...scopes: string[]) => ({
  clientId: '',
  clientSecret: '',
  scopes,
  configId: null,
  apiVersion,
  simulated: null,
});
const APPS = {
  facebook: app('v25.0', 'pages_show_list', 'pages_read_engagement', 'business_management'),
  instagram: app('v25.0', 'instagram_business_basic'),
  linkedin: app('202608', 'openid', 'profile', 'email', 'w_member_social'),
  google: app('', 'https://www.googleapis.com/auth/business.manage', 'openid', 'email', 'profile'),
  tiktok: app('', 'user.info.basic'),
};

const SIMULATED = { apiUrl: 'http://127.0.0.1:9000', pagesUrl: 'http://127.0.0.1:9000' };

test('without any variable the program serves this machine only, with its own database', () => {
  expect(loadConfig({})).toEqual({
    host: '127.0.0.1',
    port: 8080,
    cell: 0,
    cells: { directoryUrl: undefined, databases: new Map() },
    workerPort: undefined,
    smpp: {
      host: '127.0.0.1',
      port: undefined,
      tlsPort: undefined,
      tls: undefined,
      passedTags: new Set(),
      unboundPerMinute: 120,
    },
    dataDir: resolve('data'),
    databaseUrl: undefined,
    databaseUrlRead: undefined,
    databasePool: 20,
    tls: undefined,
    trustProxy: [],
    bounds: { connections: 5000, connectionsPerAddress: 500, bodyBytes: 256 * 1024 * 1024 },
    secretKey: undefined,
    sandbox: 'auto',
    logLevel: 'info',
    whatsappFreeMessages: 0,
    numberLookupsPerDay: 200_000,
    publicUrl: 'http://127.0.0.1:8080',
    hasPublicUrl: false,
    retentionDays: 90,
    failoverSeconds: 30,
    webhooks: { allowedBlocks: [], ports: [443, 8443], caFile: undefined },
    singleSignOnPorts: [443],
    dnsServers: [],
    storage: { kind: 'file' },
    social: APPS,
  });
});

test('every variable reaches its setting', () => {
  const config = loadConfig({
    HOST: '::',
    PORT: '443',
    CELL: '8190',
    DIRECTORY_URL: 'postgresql://u:p@front/directory',
    CELL_DATABASES: '0=postgresql://u:p@db/x 8190=postgresql://u:p@db2/x',
    SMPP_HOST: '0.0.0.0',
    SMPP_PORT: '2775',
    SMPP_TLS_PORT: '3550',
    SMPP_PASSED_TLVS: '0x1401,0x000d',
    SMPP_UNBOUND_PER_MINUTE: '30',
    WORKER_PORT: '9090',
    DATA_DIR: '/srv/heliograph',
    DATABASE_URL: 'postgresql://u:p@db/x',
    DATABASE_URL_READ: 'postgresql://u:p@db2,db3/x',
    DATABASE_POOL: '40',
    TLS_CERT: '/etc/cert.pem',
    TLS_KEY: '/etc/key.pem',
    TRUST_PROXY: '10.0.0.0/8, 192.0.2.1,2001:db8::/32',
    MAX_CONNECTIONS: '20000',
    MAX_CONNECTIONS_PER_ADDRESS: '1000',
    MAX_BODY_MIB: '1024',
    SECRET_KEY: 'ab'.repeat(32),
    SANDBOX: 'off',
    LOG_LEVEL: 'warn',
    PUBLIC_URL: 'https://sms.example.com/',
    RETENTION_DAYS: '30',
    FAILOVER_SECONDS: '5',
    WEBHOOK_ALLOW_CIDRS: '10.0.0.0/8,::1',
    WEBHOOK_PORTS: '443, 9443',
    SINGLE_SIGN_ON_PORTS: '443, 10443',
    DNS_SERVERS: '192.0.2.1, 192.0.2.2:5353,[2001:db8::1]:53',
    WEBHOOK_CA_FILE: '/etc/ca.pem',
    STORAGE: 's3',
    FACEBOOK_CLIENT_ID: 'fb',
    FACEBOOK_CLIENT_SECRET: 'its secret',
    FACEBOOK_CONFIG_ID: '42',
    FACEBOOK_API_VERSION: 'v26.0',
    LINKEDIN_SCOPES: 'r_basicprofile, rw_organization_admin',
    LINKEDIN_API_VERSION: '202610',
    TIKTOK_CLIENT_ID: 'tt',
    SOCIAL_URL: 'http://127.0.0.1:9000/',
    S3_BUCKET: 'files',
    S3_REGION: 'eu-south-1',
    S3_ENDPOINT: 'https://s3.example.com',
    S3_ACCESS_KEY_ID: 'us',
    S3_SECRET_ACCESS_KEY: 'secret',
    S3_PREFIX: '/heliograph/',
  });
  expect(config).toEqual({
    host: '::',
    port: 443,
    cell: 8190,
    cells: {
      directoryUrl: 'postgresql://u:p@front/directory',
      databases: new Map([
        [0, 'postgresql://u:p@db/x'],
        [8190, 'postgresql://u:p@db2/x'],
      ]),
    },
    workerPort: 9090,
    smpp: {
      host: '0.0.0.0',
      port: 2775,
      tlsPort: 3550,
      tls: { certFile: '/etc/cert.pem', keyFile: '/etc/key.pem' },
      passedTags: new Set([0x1401, 0x000d]),
      unboundPerMinute: 30,
    },
    dataDir: '/srv/heliograph',
    databaseUrl: 'postgresql://u:p@db/x',
    databaseUrlRead: 'postgresql://u:p@db2,db3/x',
    databasePool: 40,
    tls: { certFile: '/etc/cert.pem', keyFile: '/etc/key.pem' },
    trustProxy: ['10.0.0.0/8', '192.0.2.1', '2001:db8::/32'],
    bounds: { connections: 20_000, connectionsPerAddress: 1000, bodyBytes: 1024 * 1024 * 1024 },
    secretKey: Buffer.alloc(32, 0xab),
    sandbox: 'off',
    logLevel: 'warn',
    whatsappFreeMessages: 0,
    numberLookupsPerDay: 200_000,
    publicUrl: 'https://sms.example.com',
    hasPublicUrl: true,
    retentionDays: 30,
    failoverSeconds: 5,
    webhooks: { allowedBlocks: ['10.0.0.0/8', '::1'], ports: [443, 9443], caFile: '/etc/ca.pem' },
    singleSignOnPorts: [443, 10443],
    dnsServers: ['192.0.2.1', '192.0.2.2:5353', '[2001:db8::1]:53'],
    storage: {
      kind: 's3',
      bucket: 'files',
      region: 'eu-south-1',
      endpoint: 'https://s3.example.com',
      pathStyle: true,
      credentials: { accessKeyId: 'us', secretAccessKey: 'secret' },
      prefix: 'heliograph/',
    },
    social: {
      facebook: {
        ...APPS.facebook,
        clientId: 'fb',
        clientSecret: 'its secret',
        configId: '42',
        apiVersion: 'v26.0',
        simulated: SIMULATED,
      },
      instagram: { ...APPS.instagram, simulated: SIMULATED },
      linkedin: {
        ...APPS.linkedin,
        scopes: ['r_basicprofile', 'rw_organization_admin'],
        apiVersion: '202610',
        simulated: SIMULATED,
      },
      google: { ...APPS.google, simulated: SIMULATED },
      tiktok: { ...APPS.tiktok, clientId: 'tt', simulated: SIMULATED },
    },
  });
});

test('on AWS the region and the bucket are enough', () => {
  expect(loadConfig({ STORAGE: 's3', S3_BUCKET: 'files' }).storage).toEqual({
    kind: 's3',
    bucket: 'files',
    region: 'us-east-1',
    pathStyle: false,
    prefix: '',
    endpoint: undefined,
    credentials: undefined,
  });
});

test('an empty or blank variable counts as not set', () => {
  expect(loadConfig({ PORT: '', HOST: ' ', DATABASE_URL: '' })).toEqual(loadConfig({}));
});

const REFUSED: [env: Record<string, string>, sentence: string][] = [
  [{ PORT: '65536' }, 'PORT must be a whole number from 0 to 65535'],
  [{ PORT: '80a' }, 'PORT must be'],
  [{ PORT: '-1' }, 'PORT must be'],
  [{ DATABASE_POOL: '1' }, 'DATABASE_POOL must be a whole number from 2'],
  [{ DATABASE_URL: 'mysql://db' }, 'DATABASE_URL must be a URL such as postgres://'],
  [{ DATABASE_URL: 'nonsense' }, 'DATABASE_URL must be a URL'],
  [{ DATABASE_URL: 'postgres://a:5432,b:port/x' }, 'DATABASE_URL must be a URL'],
  [{ TRUST_PROXY: 'true' }, 'TRUST_PROXY must be comma-separated IP addresses'],
  [{ TRUST_PROXY: '10.0.0.0/33' }, '"10.0.0.0/33" is neither'],
  [{ TRUST_PROXY: '::1/129' }, '"::1/129" is neither'],
  [{ TRUST_PROXY: '10.0.0.0/8/8' }, 'TRUST_PROXY must be'],
  [{ SECRET_KEY: 'too-short' }, 'SECRET_KEY must be 32 random bytes'],
  [{ SANDBOX: 'yes' }, 'SANDBOX must be one of auto, on, off'],
  [{ LOG_LEVEL: 'verbose' }, 'LOG_LEVEL must be one of'],
  [{ PUBLIC_URL: 'sms.example.com' }, 'PUBLIC_URL must be a URL'],
  [{ DATABASE_URL: 'postgres://u:p@host/db\nhidden' }, 'DATABASE_URL must be a single-line URL'],
  [{ PUBLIC_URL: 'https://me:hidden@sms.example.com' }, 'PUBLIC_URL must be a URL without user and password'],
  [{ PUBLIC_URL: 'https://sms.example.com/?token=1' }, 'PUBLIC_URL must be a URL without spaces, query and fragment'],
  [{ RETENTION_DAYS: '0' }, 'RETENTION_DAYS must be'],
  [{ WEBHOOK_PORTS: '443;8443' }, 'WEBHOOK_PORTS must be comma-separated ports from 1 to 65535'],
  [{ WEBHOOK_PORTS: '443,0' }, 'WEBHOOK_PORTS must be'],
  [{ SINGLE_SIGN_ON_PORTS: '443,0' }, 'SINGLE_SIGN_ON_PORTS must be'],
  [{ DNS_SERVERS: 'dns.example.com' }, 'DNS_SERVERS must be'],
  [{ STORAGE: 'disk' }, 'STORAGE must be one of file, s3'],
  [{ STORAGE: 's3' }, 'S3_BUCKET must be set'],
  [{ STORAGE: 's3', S3_BUCKET: 'b', S3_ACCESS_KEY_ID: 'us' }, 'S3_SECRET_ACCESS_KEY must be set'],
  [{ S3_ENDPOINT: 's3.example.com' }, 'S3_ENDPOINT must be a URL'],
  [{ FACEBOOK_SCOPES: 'pages_manage_posts' }, 'FACEBOOK_SCOPES must be scopes that include pages_show_list'],
  [{ LINKEDIN_SCOPES: 'openid' }, 'LINKEDIN_SCOPES must be scopes that include profile'],
  [{ TIKTOK_SCOPES: 'user.info.basic,"x"' }, 'TIKTOK_SCOPES must be comma-separated scopes'],
  [{ LINKEDIN_API_VERSION: '202613' }, 'LINKEDIN_API_VERSION must be such as 202608'],
  [{ INSTAGRAM_API_VERSION: '25' }, 'INSTAGRAM_API_VERSION must be such as v25.0'],
  [{ FACEBOOK_CONFIG_ID: 'mine' }, 'FACEBOOK_CONFIG_ID must be such as 1234567890123456'],
  [{ WEBHOOK_ALLOW_CIDRS: 'localhost' }, 'WEBHOOK_ALLOW_CIDRS must be comma-separated IP addresses'],
];
test.each(REFUSED)('%o is rejected with what to set', (env, sentence) => {
  expect(problemsOf(env)).toContain(sentence);
});

test('all invalid settings are named together', () => {
  const problems = problemsOf({ PORT: 'x', SANDBOX: 'x', HOST: '0.0.0.0' });
  expect(problems).toMatch(/PORT[^]*SANDBOX[^]*HOST/);
});

test('an invalid secret is never repeated in the message', () => {
  expect(problemsOf({ SECRET_KEY: 'my-secret' })).not.toContain('my-secret');
});

test('SECRET_KEY may be given in base64url', () => {
  const secretKey = Buffer.alloc(32, 0xfe);
  expect(loadConfig({ SECRET_KEY: secretKey.toString('base64url') }).secretKey).toEqual(secretKey);
});

describe('listening beyond this machine', () => {
  test.each(['0.0.0.0', '::', '192.0.2.1', 'sms.example.com', '1270.0.0.1'])('plain HTTP on %s is rejected', (HOST) => {
    expect(problemsOf({ HOST })).toContain('set TLS_CERT and TLS_KEY, or TRUST_PROXY');
  });
  test.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('plain HTTP on %s is allowed', (HOST) => {
    expect(loadConfig({ HOST }).host).toBe(HOST);
  });
  test('TLS allows it', () => {
    expect(loadConfig({ HOST: '0.0.0.0', TLS_CERT: 'c', TLS_KEY: 'k' }).publicUrl).toBe('https://0.0.0.0:8080');
  });
  test('a named proxy in front allows it', () => {
    expect(loadConfig({ HOST: '0.0.0.0', TRUST_PROXY: '10.0.0.1' }).tls).toBeUndefined();
  });
  test('half of the TLS settings is rejected, and the other half named', () => {
    expect(problemsOf({ TLS_CERT: 'c' })).toContain('TLS_KEY must be set too');
    expect(problemsOf({ TLS_KEY: 'k' })).toContain('TLS_CERT must be set too');
  });
});

describe('SMPP with TLS', () => {
  test('may have its own certificate', () => {
    const own = { SMPP_TLS_CERT: '/c', SMPP_TLS_KEY: '/k', TLS_CERT: '/a', TLS_KEY: '/b' };
    expect(loadConfig(own).smpp.tls).toEqual({ certFile: '/c', keyFile: '/k' });
  });
  test('needs one, and both halves of it', () => {
    expect(problemsOf({ SMPP_TLS_PORT: '3550' })).toContain('SMPP_TLS_PORT needs a certificate');
    expect(problemsOf({ SMPP_TLS_CERT: '/c' })).toContain('SMPP_TLS_CERT and SMPP_TLS_KEY must be set together');
  });
});

test('an IPv6 host is in brackets in the public URL', () => {
  expect(loadConfig({ HOST: '::1' }).publicUrl).toBe('http://[::1]:8080');
});

test('the configuration page has one row for every variable', () => {
  const rows = [...configurationMarkdown().matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  expect(rows).toEqual([...SETTING_NAMES]);
});
