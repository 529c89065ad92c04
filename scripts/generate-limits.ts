// Writes docs/limits.md: the values come from the constants of the program; --check fails if the file is out of date.

import { RATE_PER_PLAN, KEYS_AT_LIMIT, SESSION_RATE, SESSIONS_AT_LIMIT } from '../src/accounts/accounts.ts';
import { MAX_KEYS } from '../src/accounts/api-keys.ts';
import * as invitations from '../src/accounts/invitations.ts';
import * as passwords from '../src/accounts/password.ts';
import { MAX_SESSIONS_PER_USER } from '../src/accounts/session-routes.ts';
import { IDLE_SECONDS, SESSION_SECONDS } from '../src/accounts/sessions.ts';
import { MAX_BINDS, MAX_WINDOW } from '../src/accounts/smpp-credential-routes.ts';
import * as drafts from '../src/campaigns/drafts.ts';
import * as campaignRoutes from '../src/campaigns/routes.ts';
import * as campaigns from '../src/campaigns/schema.ts';
import { MAX_FIELDS as MAX_CUSTOM_FIELDS } from '../src/contacts/fields.ts';
import { LIMITS as FILE } from '../src/contacts/import-check.ts';
import { KEPT_HOURS } from '../src/contacts/import-schema.ts';
import { MAX_KEPT } from '../src/contacts/import-uploads.ts';
import { MAX_IMMEDIATE_ROWS, MAX_REJECTS } from '../src/contacts/import.ts';
import { MAX_ASSOCIATIONS } from '../src/contacts/list-members.ts';
import { MAX_CONTACTS } from '../src/contacts/list-routes.ts';
import { DAILY_BUDGETS } from '../src/core/actor.ts';
import { ACCOUNTS_AT_ONCE, LEAST_FOR_ACCOUNT, SHARE_OF_ACCOUNTS } from '../src/core/db/transaction.ts';
import * as fairQueue from '../src/core/fair-queue.ts';
import * as body from '../src/core/http/body.ts';
import * as bounds from '../src/core/http/bounds.ts';
import * as server from '../src/core/http/server.ts';
import * as turns from '../src/core/http/turns.ts';
import * as unauthenticated from '../src/core/http/unauthenticated.ts';
import { MAX_MS as MAX_RETRY_AFTER_MS } from '../src/core/outbound.ts';
import { SETTINGS } from '../src/core/settings.ts';
import { DAY_MS, HOUR_MS, MAX_SCHEDULE_DAYS, MINUTE_MS, SECOND_MS } from '../src/core/time.ts';
import { MAX_ERRORS, MAX_TRIES_BEFORE_MOVE } from '../src/dispatch/pump.ts';
import { AVAILABLE_HOURS, MAX_WAITING as MAX_WAITING_EXPORTS } from '../src/exports/make.ts';
import { CANNED_ANSWERS } from '../src/inbox/canned-answers.ts';
import { LABELS } from '../src/inbox/labels.ts';
import { MAX_BYTES as MAX_INBOUND_BYTES } from '../src/inbox/fetch.ts';
import { MAX_STREAMS } from '../src/inbox/stream.ts';
import { LIMITS as MEDIA } from '../src/media/inspect.ts';
import { KEYWORD_RULES } from '../src/messages/keyword-routes.ts';
import { DEFAULT_VALIDITY_MS } from '../src/messages/load.ts';
import { MAX_PARTS } from '../src/messages/prepare.ts';
import { MAX_RICH_VALIDITY_MINUTES } from '../src/messages/rich-schema.ts';
import { BULK_LIMIT_BYTES, MAX_DESTINATIONS } from '../src/messages/send-routes.ts';
import { MAX_CLIENT_ID_LENGTH, MAX_VALIDITY_MINUTES } from '../src/messages/send-schema.ts';
import { MAX_TARGETS } from '../src/operate/alert-targets.ts';
import { kindOf } from '../src/routing/kinds.ts';
import { MAX_FRAME } from '../src/smpp/link.ts';
import { LIMITS as PART } from '../src/smpp/text.ts';
import * as submits from '../src/smpp-server/read-submit.ts';
import * as smpp from '../src/smpp-server/session.ts';
import { MAX_BINDS_OF_ACCOUNT } from '../src/smpp-server/sign-in.ts';
import { MAX_YEARS } from '../src/stats/stats-store.ts';
import { MAX_RCS_TEMPLATES } from '../src/templates/change.ts';
import { MAX_CONCURRENCY } from '../src/webhooks/account-queue.ts';
import { MAX_REPLAYED } from '../src/webhooks/delivery-log.ts';
import { MAX_HEADER_LENGTH, MAX_HEADERS, MAX_TYPES } from '../src/webhooks/endpoint-routes.ts';
import { MAX_ENDPOINTS } from '../src/webhooks/endpoints.ts';
import * as feed from '../src/webhooks/feed.ts';
import { MAX_FILTER_VALUES } from '../src/webhooks/filters.ts';
import { KEEP_MS as KEEP_RECEIPTS_MS } from '../src/webhooks/smpp-outbox.ts';
import { checkOrWrite } from './generated-file.ts';

/** A limit, its values, and the response or the effect beyond it, or what changes it. */
type Row = readonly [what: string, limit: string, beyond?: string];
type Section = { readonly title: string; readonly introduction?: string; readonly rows: readonly Row[] };

const number = (value: number): string => value.toLocaleString('en-US');

const KIB = 1024;
const MIB = 1024 * KIB;

/** Writes bytes in the largest unit that divides them. */
function size(bytes: number): string {
  if (bytes % MIB === 0) return `${number(bytes / MIB)} MiB`;
  return bytes % KIB === 0 ? `${number(bytes / KIB)} KiB` : `${number(bytes)} bytes`;
}

const UNITS: readonly (readonly [ms: number, name: string])[] = [
  [DAY_MS, 'day'],
  [HOUR_MS, 'hour'],
  [MINUTE_MS, 'minute'],
  [SECOND_MS, 'second'],
];

/** Writes a time in the largest unit of which it has at least two, and a whole number. */
function duration(ms: number): string {
  const [unit, name] = UNITS.find(([one]) => ms % one === 0 && ms >= 2 * one) ?? [SECOND_MS, 'second'];
  return `${number(ms / unit)} ${name}s`;
}

/** Reads the default of a setting that is a number. */
const defaultOf = ({ default: text }: { readonly default: string }): number => Number(text);

const { production, trial } = RATE_PER_PLAN;
const { bounds: BOUNDS } = SETTINGS.Server;
const BODIES = defaultOf(BOUNDS.bodyBytes) * MIB;
const POOL = defaultOf(SETTINGS.Data.databasePool);
const POOL_OF_ACCOUNTS = Math.floor(POOL * SHARE_OF_ACCOUNTS);
const POOL_OF_ACCOUNT = Math.max(LEAST_FOR_ACCOUNT, Math.floor(POOL_OF_ACCOUNTS / ACCOUNTS_AT_ONCE));
const callbackOf = (kind: 'whatsapp' | 'http'): string => size(kindOf({ kind }).callbacks?.maxBodyBytes ?? 0);

const REQUESTS: Section = {
  title: 'Requests',
  rows: [
    [
      'requests of one API key',
      `plan \`production\` ${number(production?.perMinute ?? 0)} a minute and ${production?.perSecond} a second; \`trial\` ${trial?.perMinute} and ${trial?.perSecond}; \`unlimited\` any number`,
      '429; `account change` changes it',
    ],
    ['requests of all keys of an account', `${KEYS_AT_LIMIT} times those of one key`, '429'],
    ['requests of a session', `${number(SESSION_RATE.perMinute)} a minute`, '429'],
    [
      'requests of all sessions of an account',
      `${SESSIONS_AT_LIMIT.production} times those of one; plan \`trial\` ${SESSIONS_AT_LIMIT.trial} times`,
      '429',
    ],
    [
      'failed sign-ins',
      `${passwords.RATE_PER_NETWORK.perMinute} a minute from one network; ${passwords.RATE_FROM_UNKNOWN_NETWORKS.perMinute} for one user from networks that are new to them`,
      '429',
    ],
    [
      'failed requests at routes without credentials, from one address',
      `${unauthenticated.RATE.perMinute} a minute`,
      '429',
    ],
    [
      'paid look-ups of networks in a day',
      `plan \`trial\` ${number(DAILY_BUDGETS.trial.lookups ?? 0)}, \`production\` ${number(DAILY_BUDGETS.production.lookups ?? 0)}; all accounts ${number(defaultOf(SETTINGS.Messages.numberLookupsPerDay))}`,
      'routed without the network; setting [`NUMBER_LOOKUPS_PER_DAY`](configuration.md)',
    ],
  ],
};

const SIZES: Section = {
  title: 'Sizes of requests',
  introduction: `A larger body returns 413, and so does one with more than ${number(body.MAX_VALUES)} values, or with more than ${number(body.MAX_FIELDS)} fields in one
object; one with more than ${body.MAX_DEPTH} levels returns 400.`,
  rows: [
    [
      'body',
      `${size(server.MAX_BODY_BYTES)}; bulk request ${size(BULK_LIMIT_BYTES)}, campaign ${size(campaignRoutes.LIMIT_BYTES)}, route without credentials ${size(unauthenticated.UNAUTHENTICATED_BODY_BYTES)}`,
    ],
    ['callback', `from Meta ${callbackOf('whatsapp')}, from a carrier over HTTP ${callbackOf('http')}`],
    ['URL and headers', size(server.NODE_OPTIONS.maxHeaderSize), '431'],
  ],
};

const MESSAGES: Section = {
  title: 'Messages',
  rows: [
    [
      'parts of an SMS',
      `${MAX_PARTS}: ${number(MAX_PARTS * PART.gsm7.udh8)} characters, or ${MAX_PARTS * PART.ucs2.udh8} in UCS-2`,
      'rejected',
    ],
    ['destinations of a bulk request', number(MAX_DESTINATIONS)],
    ['characters of your own message ID', `${MAX_CLIENT_ID_LENGTH}; over SMPP ${submits.MAX_CLIENT_ID_LENGTH}`],
    [
      'validity of an SMS',
      `${duration(MAX_VALIDITY_MINUTES * MINUTE_MS)}; ${duration(DEFAULT_VALIDITY_MS)} if the request states none`,
    ],
    ['validity on WhatsApp and RCS', duration(MAX_RICH_VALIDITY_MINUTES * MINUTE_MS)],
    ['scheduling ahead', duration(MAX_SCHEDULE_DAYS * DAY_MS)],
    [
      'attempts while the carrier answers “later”',
      `${MAX_ERRORS}; after ${MAX_TRIES_BEFORE_MOVE} over another connection, if there is one`,
      'REJECTED',
    ],
    ['RCS templates of an account', number(MAX_RCS_TEMPLATES), '409'],
  ],
};

const SMPP: Section = {
  title: 'SMPP server',
  rows: [
    ['binds', `of a credential ${MAX_BINDS}, of an account ${MAX_BINDS_OF_ACCOUNT}`, '`ESME_RBINDFAIL`'],
    ['window of a bind', number(MAX_WINDOW)],
    [
      'size of a PDU',
      `${number(MAX_FRAME)} bytes; before the bind ${number(smpp.MAX_UNBOUND_FRAME)}`,
      'generic_nack, and the end of the connection',
    ],
    ['time for the response to a deliver_sm', duration(smpp.TIMING.answerMs), 'sent again'],
    ['time for which receipts wait for a receiver', duration(KEEP_RECEIPTS_MS), 'dropped'],
  ],
};

const WEBHOOKS: Section = {
  title: 'Webhooks',
  rows: [
    ['delay that a receiver may request with `Retry-After`', duration(MAX_RETRY_AFTER_MS)],
    ['concurrent requests to one receiver', String(MAX_CONCURRENCY), 'fewer while it fails'],
    ['events of one replay', number(MAX_REPLAYED), 'call it again'],
    ['endpoints next to the webhook', String(MAX_ENDPOINTS), '403'],
    ['events of one page of the feed', number(feed.MAX_LIMIT), '400'],
    ['age of events in the feed', duration(feed.FEED_DAYS * DAY_MS), '410 for an older cursor'],
    ['requests of an account that wait for the feed', `${feed.MAX_WAITING} in each process`, '429'],
    ['event types, and values of each filter, of an endpoint', `${MAX_TYPES}, ${MAX_FILTER_VALUES}`],
    ['headers of an endpoint', `${MAX_HEADERS} of ${number(MAX_HEADER_LENGTH)} characters`],
  ],
};

const ACCOUNTS: Section = {
  title: 'Accounts',
  introduction:
    'An operator can limit the number of contacts of an account (`account change --contact-limits.plan-limit`).',
  rows: [
    ['custom fields of an account', String(MAX_CUSTOM_FIELDS), '403'],
    ['contacts that one request adds to lists', number(MAX_CONTACTS), '`allContacts` has no limit'],
    [
      'lists of a request, times the contacts that it adds to them',
      `${number(MAX_ASSOCIATIONS)}; one list has no limit`,
      '400',
    ],
    [
      'file of contacts',
      `CSV or vCard ${size(FILE.textBytes)}, Excel ${size(FILE.xlsxBytes)}; ${number(FILE.rows)} rows`,
      '413',
    ],
    ['rows that are imported within the request', number(MAX_IMMEDIATE_ROWS), 'imported in the background'],
    ['rejected rows that are kept', number(MAX_REJECTS), 'only counted'],
    [
      'files that wait to be imported',
      `${MAX_KEPT}, each for ${duration(KEPT_HOURS * HOUR_MS)}`,
      'the oldest is deleted',
    ],
    ['lists of a campaign', number(campaigns.MAX_LISTS)],
    ['numbers that a campaign names next to lists', number(campaigns.MAX_DESTINATIONS)],
    ['drafts of campaigns', `${drafts.MAX_DRAFTS}, and ${size(drafts.MAX_BYTES)} in all`, '400'],
    ['keyword rules', number(KEYWORD_RULES.max), '409'],
    ['labels', String(LABELS.max), '409'],
    ['canned answers', String(CANNED_ANSWERS.max), '409'],
    ['file of an inbound message', size(MAX_INBOUND_BYTES), 'not stored'],
    ['event streams of an account', `${MAX_STREAMS} in each process`, '429'],
    ['picture, video', `${size(MEDIA.imageBytes)}, ${size(MEDIA.videoBytes)}`, '413'],
    ['pixels of a picture, over all frames', number(MEDIA.pixels), '400'],
    ['time for which an export can be downloaded', duration(AVAILABLE_HOURS * HOUR_MS)],
    ['exports of an account that wait', number(MAX_WAITING_EXPORTS), '429'],
    ['range of statistics', `${MAX_YEARS} years`, '400'],
    ['session', `${duration(SESSION_SECONDS * SECOND_MS)}, or ${duration(IDLE_SECONDS * SECOND_MS)} without a request`],
    ['sessions of a user', String(MAX_SESSIONS_PER_USER), 'the oldest ends'],
    [
      'API keys of an account',
      `${MAX_KEYS.production}; plan \`trial\` ${MAX_KEYS.trial}, \`unlimited\` ${number(MAX_KEYS.unlimited)}`,
      '409',
    ],
    ['open invitations of an account', String(invitations.MAX_OPEN), '409'],
    ['validity of an invitation', duration(invitations.VALID_SECONDS * SECOND_MS)],
    ['passwords that an account sets for its users', `${passwords.RATE_OF_ACCOUNT.perMinute} a minute`, '429'],
    ['recipients of alerts', String(MAX_TARGETS), '409'],
  ],
};

const CLIENTS: Section = {
  title: 'Limits of clients',
  introduction: `These apply to each process; an IPv6 address counts as its /64 block. \`heliograph_http_refused_total\` counts what exceeded them. Raise
\`ulimit -n\` above \`MAX_CONNECTIONS\`. Shares are of the defaults.`,
  rows: [
    [
      'connections',
      `${number(defaultOf(BOUNDS.connections))}, of which ${number(defaultOf(BOUNDS.connectionsPerAddress))} from one address, except those in \`TRUST_PROXY\``,
      '[`MAX_CONNECTIONS`](configuration.md), `MAX_CONNECTIONS_PER_ADDRESS`; closed, unless they ask for `/health/…`',
    ],
    [
      'request bodies in memory',
      `${size(BODIES)}, of which ${size(BODIES * bounds.BODY_SHARES.account)} for one account; ${size(BODIES * bounds.BODY_SHARES.unauthenticated)} more without credentials, of which ${size(BODIES * bounds.BODY_SHARES.address)} for one address`,
      '[`MAX_BODY_MIB`](configuration.md); 429 or 503 with `Retry-After`',
    ],
    ['time of the headers', duration(server.NODE_OPTIONS.headersTimeout), '408'],
    [
      'time of a body',
      `${duration(bounds.MAX_SWEEPS * bounds.SWEEP_MS)} for each ${size(bounds.MIN_BYTES)}, ${duration(server.NODE_OPTIONS.requestTimeout)} in all`,
      '408',
    ],
    [
      'idle connection',
      `${duration(server.KEEP_ALIVE_MS)}; ${duration(server.KEEP_ALIVE_BEHIND_PROXY_MS)} with \`TRUST_PROXY\``,
      'closed',
    ],
    ['connection whose client does not read the response', duration(server.IDLE_TIMEOUT_MS), 'closed'],
    [
      'requests on one connection',
      `one at a time, ${unauthenticated.MAX_WAITING} waiting`,
      `closed; after ${unauthenticated.FLOODS.perMinute} in a minute, new connections of that address too`,
    ],
    [
      `long requests (bodies from ${size(turns.LARGE_BYTES)}, reads of pages, prices of campaigns)`,
      `${turns.LONG.perAccount} at a time for an account, ${turns.LONG.size} for all`,
      'wait',
    ],
    [
      `requests at a route that has sent a response of ${size(turns.LARGE_BYTES)}`,
      `${turns.LARGE.perAccount} at a time for an account, ${turns.LARGE.size} for all; above ${size(turns.LARGEST.freeBytes)} at about ${Math.round((turns.LARGEST.bytesPerMs * SECOND_MS) / MIB)} MiB/s`,
      'wait',
    ],
    [
      'connections to PostgreSQL',
      `of ${POOL}: ${POOL_OF_ACCOUNT} for one account, ${POOL_OF_ACCOUNTS} for all`,
      `[\`DATABASE_POOL\`](configuration.md); requests wait, and beyond ${number(fairQueue.MAX_WAITING)} of an account return 429`,
    ],
    ['password hashes', `${passwords.HASHES_AT_ONCE} at a time`, 'wait'],
  ],
};

const rowOf = ([what, limit, beyond = '']: Row): string => `| ${what} | ${limit} | ${beyond} |`;

const sectionOf = ({ title, introduction, rows }: Section): string =>
  `## ${title}

${introduction === undefined ? '' : `${introduction}\n\n`}| What | Limit | Beyond it, or what changes it |
|---|---|---|
${rows.map(rowOf).join('\n')}
`;

const SECTIONS = [REQUESTS, SIZES, MESSAGES, SMPP, WEBHOOKS, ACCOUNTS, CLIENTS];

const TEXT = `# Limits

This page is generated (\`node scripts/generate-limits.ts\`) from the constants of the program.

A limit without a setting or a command is fixed. Elsewhere: limits of [carriers](carriers.md),
[emails](invitations.md#how-emails-are-sent) and [machines](how-to/capacity-planning.md), lengths of fields ([the API](operations.md)),
and [how long data is kept](how-to/gdpr.md#where-personal-data-is).

${SECTIONS.map(sectionOf).join('\n')}`;

await checkOrWrite(new URL('../docs/limits.md', import.meta.url), TEXT);
