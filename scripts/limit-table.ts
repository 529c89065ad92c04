// What docs/limits.md lists. Numbers come from the code: `at` names the file and the constant, `by` a setting with its default.
import { retryDelayMs } from '../src/messaging/webhooks/delivery/retry-delay.ts';
import { KEYS } from '../src/platform/setting-table.ts';
import { valueAt } from './source-values.ts';

/** One line: what is limited; the limit; what happens beyond it or who can change it. */
export type Limit = readonly [what: string, limit: string, note: string];
export type LimitGroup = { readonly title: string; readonly about: string; readonly limits: readonly Limit[] };

const KIB = 1024;
const MIB = 1024 * KIB;
const HOUR_S = 3600;

const count = (value: number): string => value.toLocaleString('en');
const at = (file: string, place: string | RegExp): string => count(valueAt(`src/${file}`, place));

/** A size in the largest unit in which it is a whole number. */
function size(file: string, place: string | RegExp): string {
  const bytes = valueAt(`src/${file}`, place);
  if (bytes % MIB === 0) return `${count(bytes / MIB)} MiB`;
  return bytes % KIB === 0 ? `${count(bytes / KIB)} KiB` : `${count(bytes)} bytes`;
}

const UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [24 * HOUR_S, 'day'],
  [HOUR_S, 'hour'],
  [60, 'minute'],
  [1, 'second'],
];

/** A time in the largest unit in which it is a whole number; a single day is 24 hours. */
function time(seconds: number): string {
  const [length, name] = UNITS.find(([unit]) => seconds % unit === 0 && (unit < 24 * HOUR_S || seconds > unit)) ?? [
    1,
    'second',
  ];
  return `${count(seconds / length)} ${name}${seconds === length ? '' : 's'}`;
}
const seconds = (file: string, place: string | RegExp): string => time(valueAt(`src/${file}`, place));
const ms = (file: string, place: string | RegExp): string => time(valueAt(`src/${file}`, place) / 1000);
const by = (name: keyof typeof KEYS): string => count(Number(KEYS[name].fallback));
const setting = (name: keyof typeof KEYS): string => `setting [\`${name}\`](configuration.md)`;

const plan = (name: string, unit: string): string =>
  at('identity/accounts/gate.ts', new RegExp(`${name}: \\{.*${unit}: ([\\d_]+)`));

const sessions = (name: string): string =>
  at('identity/accounts/gate.ts', new RegExp(`SESSIONS_AT_LIMIT.*${name}: (\\d+)`));
const keys = (name: string): string => at('identity/api-keys/create.ts', new RegExp(`MAX_KEYS.*${name}: (\\d+)`));

/** The delays of a webhook's retries, without their jitter. */
const DELAYS = Array.from({ length: 100 }, (_, before) => retryDelayMs(before + 1, null, 0.5)).filter(
  (delay) => delay !== null,
);
const HOURS_OF_RETRIES = Math.round(DELAYS.reduce((sum, delay) => sum + delay, 0) / (HOUR_S * 1000));

export const LIMITS: readonly LimitGroup[] = [
  {
    title: 'Requests',
    about: 'Requests with a key name what is left of its limit in `X-RateLimit-…` ([rate limits](api.md#rate-limits)).',
    limits: [
      [
        'requests of one API key, plan `production`',
        `${plan('production', 'perMinute')} a minute, ${plan('production', 'perSecond')} a second`,
        '429; `account limit` changes it',
      ],
      [
        'requests of one API key, plan `trial`',
        `${plan('trial', 'perMinute')} a minute, ${plan('trial', 'perSecond')} a second`,
        '429; `account limit` changes it',
      ],
      [
        'requests of all keys of an account',
        `${at('identity/accounts/gate.ts', 'KEYS_AT_LIMIT')} times those of one key`,
        '429',
      ],
      [
        'requests of a session',
        `${at('identity/accounts/gate.ts', /SESSION_RATE: Rate = \{ perMinute: ([\d_]+)/)} a minute`,
        `429; all sessions of an account: ${sessions('production')} times as many, plan \`trial\` ${sessions('trial')} times`,
      ],
      [
        'failed sign-ins from one network',
        `${at('identity/users/login-limits.ts', /RATE_PER_NETWORK: Rate = \{ perMinute: ([\d_]+)/)} a minute`,
        '429; an IPv6 network is a /64',
      ],
      [
        'failed sign-ins of one user from new networks',
        `${at('identity/users/login-limits.ts', /RATE_FROM_UNKNOWN_NETWORKS: Rate = \{ perMinute: ([\d_]+)/)} a minute`,
        '429',
      ],
      [
        'failed requests at routes without credentials, from one address',
        `${at('platform/http/bounds/strangers.ts', /RATE: Rate = \{ perMinute: ([\d_]+)/)} a minute`,
        '429',
      ],
      [
        'long requests at a time (large bodies, reads of pages)',
        `${at('platform/http/turns.ts', /LONG = .*perAccount: (\d+)/)} of an account, ${at('platform/http/turns.ts', /LONG = \{ size: (\d+)/)} of all`,
        'they wait; per process',
      ],
      [
        'mails to one address in an hour, over all accounts',
        at('platform/mail/budget.ts', /FROM_OTHERS: .*perHour: ([\d_]+)/),
        '429, or dropped ([mails](invitations.md#how-mails-are-sent))',
      ],
      [
        'mails of an account in a day',
        `plan \`trial\` ${at('platform/lib/plan.ts', /trial: \{ mails: ([\d_]+)/)}, \`production\` ${at('platform/lib/plan.ts', /production: \{ mails: ([\d_]+)/)}`,
        'the same; links for a new password do not count',
      ],
      [
        'paid look-ups of networks for an account in a day',
        `plan \`trial\` ${at('platform/lib/plan.ts', /trial: \{.*lookups: ([\d_]+)/)}, \`production\` ${at('platform/lib/plan.ts', /production: \{.*lookups: ([\d_]+)/)}`,
        'routed without the network',
      ],
      [
        'paid look-ups of networks for all accounts in a day',
        by('NUMBER_LOOKUPS_PER_DAY'),
        `${setting('NUMBER_LOOKUPS_PER_DAY')}; routed without the network, and an alert`,
      ],
      ['repeats with the same `Idempotency-Key`, or the same own ID', '24 hours', 'later it is a new request'],
    ],
  },
  {
    title: 'Sizes of requests',
    about: 'A larger body is answered 413.',
    limits: [
      ['body', size('platform/http/server.ts', 'MAX_BODY_BYTES'), 'unless stated otherwise'],
      ['body of a bulk request', size('messaging/sending/routes.ts', 'BULK_LIMIT_BYTES'), ''],
      ['body of a campaign', size('engagement/campaigns/routes.ts', 'LIMIT_BYTES'), ''],
      ['body of a route without credentials', size('platform/http/bounds/strangers.ts', 'DOOR_BODY_BYTES'), ''],
      ['callback of Meta', size('network/connections/kinds/whatsapp.ts', /maxBodyBytes: ([^,]+),/), ''],
      ['callback of a carrier by HTTP', size('network/connections/kinds/http.ts', /maxBodyBytes: ([^,]+),/), ''],
      ['URL and headers', size('platform/http/server.ts', /maxHeaderSize: ([^,]+),/), '431'],
      ['values in a body', at('platform/http/body-limits.ts', 'MAX_VALUES'), 'fewer where the schema allows fewer'],
      ['levels of a body', at('platform/http/body-scan.ts', 'MAX_DEPTH'), '400'],
      ['fields of one object', at('platform/http/body-scan.ts', 'MAX_FIELDS'), '400'],
      ['entries of a page', at('platform/http/page.ts', /limit: .*maximum: ([\d_]+)/), 'field `limit`; 10 by default'],
      ['IDs in one question for states', at('messaging/tracking/routes.ts', 'MAX_IDS'), ''],
    ],
  },
  {
    title: 'Messages',
    about: '',
    limits: [
      ['parts of an SMS', at('messaging/sending/prepare.ts', 'MAX_PARTS'), 'refused'],
      [
        'characters of an SMS',
        at('messaging/sending/schema.ts', /maxLength: ([\d_]+),\n {2}description: 'At most 10 parts/),
        '670 if one of them is not in GSM 03.38',
      ],
      ['octets of a binary SMS', at('messaging/sending/prepare.ts', 'MAX_BINARY_BYTES'), 'with the user data header'],
      ['characters of an RCS text', at('engagement/inbox/compose.ts', 'MAX_RCS_CHARACTERS'), ''],
      ['destinations of a bulk request', at('messaging/sending/bulk/send.ts', 'MAX_DESTINATIONS'), ''],
      [
        'characters of your own ID of a message',
        at('messaging/sending/schema.ts', /maxLength: ([\d_]+), description: 'Another name/),
        `${at('messaging/smpp-server/read-submit.ts', 'MAX_CLIENT_ID_LENGTH')} by SMPP`,
      ],
      [
        'validity of an SMS that a request may state',
        time(valueAt('src/messaging/sending/schema.ts', /maximum: ([\d_]+), description: 'Minutes until/) * 60),
        `without one ${ms('messaging/messages/validity.ts', 'DEFAULT_VALIDITY_MS')}`,
      ],
      [
        'validity on WhatsApp and RCS',
        time(valueAt('src/messaging/sending/rich/schema.ts', /maximum: ([\d_]+),\n {6}description: 'Minutes/) * 60),
        '',
      ],
      ['time ahead of a schedule', `${by('MAX_SCHEDULE_DAYS')} days`, setting('MAX_SCHEDULE_DAYS')],
      [
        'attempts after an answer “later”',
        at('network/dispatch/judge.ts', 'MAX_ATTEMPTS'),
        'then REJECTED; after two over another connection, if there is one',
      ],
      [
        'time without any bind until messages change the connection',
        time(Number(KEYS.FAILOVER_SECONDS.fallback)),
        setting('FAILOVER_SECONDS'),
      ],
      ['RCS templates of an account', at('network/templates/create.ts', 'MAX_RCS_TEMPLATES'), '409'],
    ],
  },
  {
    title: 'SMPP server',
    about: 'Limits of a credential are its fields ([SMPP server](smpp.md#credentials)).',
    limits: [
      [
        'binds of a credential',
        at('identity/smpp-credentials/schema.ts', /maximum: ([\d_]+),\n {4}description: 'Binds that/),
        '2 by default: `maxBinds`',
      ],
      ['binds of an account', at('messaging/smpp-server/sql.ts', 'MAX_BINDS_OF_ACCOUNT'), '`ESME_RBINDFAIL`'],
      [
        'window of a bind',
        at('identity/smpp-credentials/schema.ts', /maximum: ([\d_]+),\n {4}description:\n {6}'Requests without/),
        '50 by default: `window`',
      ],
      [
        'octets without an answer on a bind',
        size('messaging/smpp-server/session.ts', 'MAX_UNANSWERED_OCTETS'),
        'more is read later',
      ],
      ['octets of a PDU', at('carriers/smpp/frames.ts', 'MAX_FRAME'), 'generic_nack, and the end of the connection'],
      ['octets of a PDU before the bind', at('messaging/smpp-server/session.ts', 'MAX_STRANGER_FRAME'), 'the same'],
      ['time until a bind', ms('messaging/smpp-server/session.ts', /bindMs: ([\d_]+)/), ''],
      [
        'silence until the connection is closed',
        time(
          (valueAt('src/messaging/smpp-server/session.ts', /enquireMs: ([\d_]+)/) / 1000) *
            valueAt('src/messaging/smpp-server/session.ts', 'SILENT_PERIODS'),
        ),
        `enquire_link after ${ms('messaging/smpp-server/session.ts', /enquireMs: ([\d_]+)/)}`,
      ],
      [
        'time for the answer to a deliver_sm',
        ms('messaging/smpp-server/session.ts', /answerMs: ([\d_]+)/),
        'then again',
      ],
      [
        'time that receipts wait for a receiver',
        ms('messaging/smpp-outbox/tasks.ts', 'KEEP_MS'),
        'then they are dropped',
      ],
      [
        'connections of one network that do not bind',
        `${at('messaging/smpp-server/strangers.ts', 'MAX_PER_NETWORK')} open, ${by('SMPP_STRANGERS_PER_MINUTE')} a minute`,
        setting('SMPP_STRANGERS_PER_MINUTE'),
      ],
    ],
  },
  {
    title: 'Webhooks',
    about: '',
    limits: [
      ['time for an answer, with the connection', ms('platform/outbound/post.ts', 'DEADLINE_MS'), 'counts as failed'],
      [
        'retries of an event',
        `${DELAYS.length} within about ${count(HOURS_OF_RETRIES)} hours`,
        'then it can be replayed',
      ],
      [
        'delay that a receiver may ask for by `Retry-After`',
        ms('messaging/webhooks/delivery/retry-delay.ts', 'MAX_RETRY_AFTER_MS'),
        '',
      ],
      [
        'concurrent requests to one receiver',
        at('messaging/webhooks/delivery/concurrency.ts', 'MAX_CONCURRENCY'),
        'fewer while it fails',
      ],
      ['events of one replay', at('messaging/webhooks/delivery-log/sql.ts', 'MAX_REPLAYED'), 'call it again'],
      ['ports of a URL', KEYS.WEBHOOK_PORTS.fallback.replace(',', ' and '), setting('WEBHOOK_PORTS')],
    ],
  },
  {
    title: 'Contacts, lists and imports',
    about: 'An operator can limit the number of contacts of an account (`contact limit`).',
    limits: [
      ['custom fields of an account', at('engagement/contacts/fields/save.ts', 'MAX_FIELDS'), '403'],
      ['characters of a custom text', at('engagement/contacts/fields/values.ts', 'MAX_TEXT_LENGTH'), ''],
      [
        'contacts that one request adds to lists',
        at('engagement/contacts/lists/schema.ts', 'MAX_CONTACTS'),
        '`allContacts` has no limit',
      ],
      ['CSV or vCard file', size('engagement/contacts/imports/limits.ts', 'textBytes'), '413'],
      ['Excel file', size('engagement/contacts/imports/limits.ts', 'xlsxBytes'), '413'],
      ['rows of a file', at('engagement/contacts/imports/limits.ts', 'rows'), '413'],
      ['columns of a file', at('engagement/contacts/imports/limits.ts', 'columns'), '400'],
      [
        'rows that are imported within the request',
        at('engagement/contacts/imports/start.ts', 'MAX_IMMEDIATE_ROWS'),
        'more in the background',
      ],
      [
        'rejected rows that are kept',
        at('engagement/contacts/imports/import-rows.ts', 'MAX_REJECTS'),
        'all are counted',
      ],
      [
        'files that wait to be imported',
        at('engagement/contacts/imports/uploads/keep.ts', 'MAX_KEPT'),
        `for ${at('engagement/contacts/imports/uploads/schema.ts', 'KEPT_HOURS')} hours`,
      ],
    ],
  },
  {
    title: 'Campaigns and inbox',
    about: 'A campaign has as many recipients as its lists have.',
    limits: [
      ['lists of a campaign', at('engagement/campaigns/schema.ts', 'MAX_LISTS'), ''],
      ['numbers that a campaign names beside lists', at('engagement/campaigns/schema.ts', 'MAX_DESTINATIONS'), ''],
      ['stored drafts', at('engagement/campaigns/drafts/save.ts', 'MAX_DRAFTS'), ''],
      ['keyword rules', at('messaging/keywords/change.ts', 'MAX_RULES'), '409'],
      ['automatic answers to one person in an hour', at('messaging/keywords/react.ts', 'MAX_PER_HOUR'), 'then none'],
      ['labels of an account', at('engagement/inbox/desk/labels/change.ts', 'MAX_LABELS'), '409'],
      [
        'canned answers of an account',
        at('engagement/inbox/desk/canned-answers/change.ts', 'MAX_CANNED_ANSWERS'),
        '409',
      ],
      [
        'file of an inbound message',
        size('engagement/inbox/media/fetch.ts', 'MAX_BYTES'),
        'a larger one is not stored',
      ],
      ['event streams of an account', at('engagement/inbox/stream/routes.ts', 'MAX_STREAMS'), '429; per process'],
      [
        'free texts on WhatsApp after the person wrote',
        ms('engagement/inbox/receive-inbound.ts', 'WINDOW_MS'),
        'then only templates: a rule of Meta',
      ],
    ],
  },
  {
    title: 'Files and exports',
    about: '',
    limits: [
      ['picture', size('media/limits.ts', 'imageBytes'), '413'],
      ['video', size('media/limits.ts', 'videoBytes'), '413'],
      ['pixels of a picture, over all frames', at('media/limits.ts', 'pixels'), '400'],
      ['life of a link to a file', ms('media/links.ts', 'LIFETIME_MS'), ''],
      ['life of an export', `${at('reporting/exports/make.ts', 'AVAILABLE_HOURS')} hours`, ''],
      ['exports of an account that wait', at('reporting/exports/lifecycle.ts', 'MAX_WAITING'), '429'],
      ['range of statistics', `${at('reporting/stats/range.ts', 'MAX_YEARS')} years`, '400'],
    ],
  },
  {
    title: 'Users, sessions and keys',
    about: '',
    limits: [
      [
        'session',
        seconds('identity/sessions/sql.ts', 'SESSION_SECONDS'),
        `${seconds('identity/sessions/sql.ts', 'IDLE_SECONDS')} without a request`,
      ],
      ['sessions of a user', at('identity/sessions/sign-in.ts', 'MAX_SESSIONS_PER_USER'), 'the oldest ends'],
      [
        'keys of an account',
        `${keys('production')}; plan \`trial\` ${keys('trial')}, \`unlimited\` ${keys('unlimited')}`,
        '409',
      ],
      ['open invitations of an account', at('identity/invitations/invite.ts', 'MAX_OPEN'), '409'],
      ['life of an invitation', seconds('identity/invitations/invite.ts', 'VALID_SECONDS'), ''],
      [
        'life of a rotated key beside the new one',
        `up to ${seconds('identity/api-keys/schema.ts', 'MAX_GRACE_SECONDS')}`,
        '',
      ],
      [
        'mails for a forgotten password',
        `${at('platform/mail/budget.ts', /OWN_SECURITY: .*perHour: ([\d_]+)/)} an hour`,
        'per user',
      ],
      ['addresses in an allow-list', at('identity/accounts/security/schema.ts', 'MAX_BLOCKS'), ''],
      ['recipients of alerts', at('operations/operator/alerts/targets/change.ts', 'MAX_TARGETS'), '409'],
    ],
  },
  {
    title: 'The program',
    about: 'Per process. [Limits of clients](operating.md#limits-of-clients) says what happens beyond them.',
    limits: [
      ['connections of clients', by('MAX_CONNECTIONS'), setting('MAX_CONNECTIONS')],
      ['connections of one address', by('MAX_CONNECTIONS_PER_ADDRESS'), setting('MAX_CONNECTIONS_PER_ADDRESS')],
      ['request bodies in memory', `${by('MAX_BODY_MIB')} MiB`, setting('MAX_BODY_MIB')],
      ['connections to PostgreSQL', by('DATABASE_POOL'), setting('DATABASE_POOL')],
      ['time of the headers of a request', ms('platform/http/server.ts', /headersTimeout: ([\d_]+)/), '408'],
      ['time of a whole request', ms('platform/http/server.ts', /requestTimeout: ([\d_]+)/), '408'],
      [
        'idle connection',
        ms('platform/http/server.ts', 'KEEP_ALIVE_MS'),
        `${ms('platform/http/server.ts', 'KEEP_ALIVE_BEHIND_PROXY_MS')} with \`TRUST_PROXY\``,
      ],
      ['messages, receipts, inbound messages, files', `${by('RETENTION_DAYS')} days`, setting('RETENTION_DAYS')],
    ],
  },
];
