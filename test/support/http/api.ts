import pg from 'pg';
import type { ApiDeps } from '../../../src/api.ts';
import { loadConfig } from '../../../src/core/config.ts';
import { createReports } from '../../../src/core/db/reports.ts';
import { AppError } from '../../../src/core/errors.ts';
import { createLog, silentLog } from '../../../src/core/log.ts';
import { createMetrics } from '../../../src/core/metrics.ts';
import { createGuard } from '../../../src/core/outbound.ts';
import { createSecretKey } from '../../../src/core/secrets.ts';
import { createLinkSigner } from '../../../src/core/storage.ts';
import { systemClock } from '../../../src/core/time.ts';
import { NO_ROUTE } from '../../../src/routing/choice.ts';
import { NO_NETWORKS } from '../../../src/routing/number-lookups.ts';
import { NO_TLV_TAGS } from '../../../src/routing/account-tlvs.ts';
import { NO_DLT_TEMPLATES } from '../../../src/routing/dlt-templates.ts';
import { NO_SENDER_RULES } from '../../../src/routing/sender-rules.ts';

const refuse = () => Promise.reject(new AppError('unauthenticated'));

/**
 * Returns the dependencies of `buildApi`: silent, refusing all credentials and connected to nothing. A test overrides
 * what it needs.
 */
export function apiDeps(overrides: Partial<ApiDeps> = {}): ApiDeps {
  const { pool = new pg.Pool({ host: '127.0.0.1', port: 1 }) } = overrides;
  return { ...defaultDeps(pool), ...overrides };
}

const defaultDeps = (pool: pg.Pool): ApiDeps => ({
  config: loadConfig({}),
  pool,
  reports: createReports({ pool, log: silentLog }),
  log: createLog('silent'),
  metrics: createMetrics(),
  authenticate: refuse,
  checkPassword: refuse,
  countSigned: () => undefined,
  signInLimits: {
    guess: refuse,
    begin: () => undefined,
    failed: () => new AppError('unauthenticated'),
    succeeded: refuse,
  },
  probes: [],
  clock: systemClock,
  accept: { one: refuse, many: refuse, once: refuse },
  tables: {
    findRoute: () => NO_ROUTE,
    findPrice: () => null,
    maySend: () => false,
    senderRules: NO_SENDER_RULES,
    tlvTags: NO_TLV_TAGS,
    dltTemplates: NO_DLT_TEMPLATES,
    networks: NO_NETWORKS,
  },
  secretKey: createSecretKey(Buffer.alloc(32, 1)),
  socialPage: null,
  outbound: {
    guard: createGuard({ allowedBlocks: [], ports: [443] }),
    poster: { post: refuse, close: refuse },
    fetchPicture: refuse,
    signOn: { guard: createGuard({ allowedBlocks: [], ports: [443] }), fetch: refuse },
    resolveTexts: refuse,
  },
  receivers: { find: () => undefined, sharing: () => [], reload: refuse },
  storeCallback: refuse,
  keepUnclaimed: refuse,
  onTemplatesChange: refuse,
  presence: { report: refuse, hear: () => undefined, listen: () => () => undefined },
  inboxHub: { wake: () => undefined, listen: refuse, count: () => 0 },
  storage: { put: refuse, get: refuse, stat: refuse, exists: refuse, delete: refuse, close: refuse },
  links: createLinkSigner(createSecretKey(Buffer.alloc(32, 1))),
  answers: {
    find: refuse,
    seal: (key) => ({ ...key, answer: key.requestHash }),
    claim: refuse,
    store: refuse,
    isTaken: () => false,
    storeSoon: refuse,
  },
});
