import { type Static, Type } from 'typebox';
import { amount, isoOrNull } from '../accounts/operator-fields.ts';
import { countRows, type Db, many, raw, sql } from '../core/db/query.ts';
import { isOwnerAlive } from '../core/db/worker-session.ts';
import { channelName, instant, orNull } from '../core/schema.ts';
import { MISSED_AFTER } from '../dispatch/store.ts';
import { type Counts, IS_SHOWN, LAST_ERROR } from '../routing/connection-store.ts';
import { callbackUrlOf } from '../routing/connections.ts';
import { HasSetup, KindName, RoutedBy, SECRETS, SyncsTemplates, TOKENS, traitsOf } from '../routing/kind-admin.ts';
import { type ConnectionKind, kindOf } from '../routing/kinds.ts';
import { ALL_ROUTES } from '../routing/routes.ts';

const Status = Type.Enum(['active', 'paused'], {
  type: 'string',
  description: 'Paused: its messages go over the next connection of their route, or wait.',
});
const count = (description?: string) => Type.Integer(description === undefined ? {} : { description });
const anything = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description });

export const CountsOut = Type.Object({
  accepted: count('Messages that the carrier took.'),
  refused: count(),
  retried: count('Messages that it asked to send again later.'),
  unknown: count('Messages without a response.'),
});

const connection = {
  id: Type.Integer(),
  name: Type.String(),
  kind: KindName,
  channel: channelName(),
  routedBy: RoutedBy,
  syncsTemplates: SyncsTemplates,
  hasSetup: HasSetup,
  status: Status,
  sandbox: Type.Boolean({ description: 'True if it connects to the built-in sandbox.' }),
  up: Type.Boolean({ description: 'A worker can submit over it.' }),
  downSince: orNull(instant('Time since which no worker can, though it is not paused.')),
  bindsUp: count('Links of all workers together that can submit.'),
  bindsWanted: count(),
  workers: count('Number of workers that run it.'),
  inFlight: count('Messages without a response, ten seconds ago at most.'),
  window: orNull(count('Maximum of them at a time, over all links of one worker.')),
  rateLimit: orNull(amount('Messages (SMS: parts) a second that were agreed; null: no limit.')),
  perSecond: amount('Messages that the carrier took a second, of the last ten seconds.'),
  lastHour: CountsOut,
  fault: orNull(Type.String({ description: "Error that requires action, in the carrier's own words." })),
  lastError: orNull(
    Type.String({
      description:
        'The later of: the reason why a link last failed or was lost, until all links are up again; its last ' +
        'response to a message that it did not take, numbers masked.',
    }),
  ),
  lastErrorAt: orNull(instant('UTC')),
  notices: Type.Array(
    Type.Object({
      text: Type.String({ description: "In the network's own words." }),
      serious: Type.Boolean({
        description: 'True if action is required; superseded by a newer notice on the same subject.',
      }),
      at: instant('UTC'),
    }),
    {
      description:
        'Reports of the network about the account and its senders in the last 30 days, the newest on each subject.',
    },
  ),
  queued: count('Messages that wait for it.'),
  oldestSeconds: amount('Age of the oldest due message.'),
  waitingAccounts: count('Number of accounts with waiting messages.'),
  unknowns: count('Messages with an unknown outcome.'),
  unmatchedReceipts: count('Receipts that fit no message, or several.'),
  routes: count('Number of routes that use it.'),
  senders: count('Numbers and agents that send over it.'),
  numbers: count('Numbers whose inbound messages come over it.'),
  callbackUrl: orNull(
    Type.String({ description: 'The URL to register at the carrier; null when the carrier does not post callbacks.' }),
  ),
  settings: anything('As described in docs/carriers.md; never a secret.'),
  createdAt: instant('UTC'),
};
export const ConnectionOut = Type.Object(connection);

export const ConnectionMade = Type.Object({
  ...connection,
  tokens: Type.Record(Type.String(), Type.String(), {
    description: `Secrets that the carrier must be given, too: ${TOKENS}.`,
  }),
});

const Settings = anything('As described in docs/carriers.md for this kind.');
const Secret = anything(SECRETS);

export const LinksIn = Type.Object({ kind: KindName, settings: Settings, secret: Secret });

export const ConnectionIn = Type.Object({
  name: Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$',
    description: 'Part of its callback address.',
    'x-message': 'must have 1 to 63 letters, digits, dots, hyphens and underscores',
  }),
  ...LinksIn.properties,
});

export const LINKS_EXAMPLE: Static<typeof LinksIn> = {
  kind: 'smpp',
  settings: { host: '127.0.0.1', port: 2775, systemId: 'acme', window: 50, tps: 100 },
  secret: { password: 'secret08' },
};
export const CONNECTION_EXAMPLE: Static<typeof ConnectionIn> = { name: 'acme-smsc', ...LINKS_EXAMPLE };

export const ConnectionPatch = Type.Object({
  status: Type.Optional(Status),
  settings: Type.Optional(anything('Settings to change; null resets one to its default.')),
  secret: Type.Optional(anything('Parts of the secret to change.')),
});

export const ConnectionName = Type.Object({ name: Type.String({ maxLength: 63 }) });

export const MinutesOut = Type.Object({
  data: Type.Array(Type.Object({ minute: instant('UTC'), ...CountsOut.properties })),
});

export const TriedOut = Type.Object({
  ok: Type.Boolean(),
  detail: Type.String({ description: 'Description of the error, in the words of the carrier if it gave any.' }),
  steps: Type.Array(
    Type.Object({
      name: Type.Enum(['resolve', 'connect', 'bind', 'exchange', 'subscribe', 'register'], {
        type: 'string',
        description:
          'Resolve the name, open a connection to the port, sign in as the program would; over HTTP, a request and ' +
          'a response; for stored connections to WhatsApp, whether the app is subscribed to the account, and the ' +
          'numbers are registered.',
      }),
      ok: orNull(Type.Boolean({ description: 'Null if the step was not reached.' })),
      detail: Type.String(),
      durationMs: Type.Integer(),
    }),
  ),
});

export const SetupIn = Type.Object({
  pin: Type.Optional(
    Type.String({
      writeOnly: true,
      pattern: '^[0-9]{6}$',
      description: 'Registers the numbers that are not registered yet, with this PIN of the two-step verification.',
      'x-message': 'must have 6 digits',
    }),
  ),
});

export const SetupOut = Type.Object({
  ok: Type.Boolean(),
  steps: Type.Array(
    Type.Object({
      name: Type.Enum(['subscribe', 'register'], { type: 'string' }),
      ok: Type.Boolean(),
      detail: Type.String({ description: 'The existing setup, or the missing one and how to get it.' }),
    }),
  ),
});

export const SyncOut = Type.Object({
  ok: Type.Boolean(),
  templates: orNull(Type.Integer({ description: 'Number of templates at the network.' })),
  detail: orNull(Type.String({ description: 'Reason why the network could not be queried.' })),
});

export function listed(row: ConnectionRow, publicUrl: string): Static<typeof ConnectionOut> {
  const { accepted, refused, retried, unknown, createdAt, downSince, lastErrorAt, notices, ...rest } = row;
  return {
    ...rest,
    ...limitsOf(row),
    ...traitsOf(kindOf(row)),
    downSince: isoOrNull(downSince),
    lastErrorAt: isoOrNull(lastErrorAt),
    notices: notices.map(({ at, ...notice }) => ({ ...notice, at: new Date(at).toISOString() })),
    lastHour: { accepted, refused, retried, unknown },
    callbackUrl: callbackUrlOf(publicUrl, row),
    createdAt: createdAt.toISOString(),
  };
}

/** Returns null limits if the settings of an older version are no longer valid. */
function limitsOf(row: ConnectionRow): { window: number | null; rateLimit: number | null } {
  try {
    const { window, perSecond } = kindOf(row).limitsOf(row.settings);
    return { window, rateLimit: perSecond === 0 ? null : perSecond };
  } catch {
    return { window: null, rateLimit: null };
  }
}

export const toMinute = ({ minute, ...counts }: MinuteRow) => ({ minute: minute.toISOString(), ...counts });

export type ConnectionRow = {
  id: number;
  name: string;
  kind: ConnectionKind;
  status: 'active' | 'paused';
  sandbox: boolean;
  settings: Record<string, unknown>;
  createdAt: Date;
  /** Its state, combined over all live workers. */
  up: boolean;
  downSince: Date | null;
  bindsUp: number;
  bindsWanted: number;
  workers: number;
  inFlight: number;
  perSecond: number;
  fault: string | null;
  lastError: string | null;
  lastErrorAt: Date | null;
  notices: { text: string; serious: boolean; at: string }[];
  queued: number;
  oldestSeconds: number;
  waitingAccounts: number;
  unknowns: number;
  unmatchedReceipts: number;
  routes: number;
  senders: number;
  numbers: number;
} & Counts;

/** State by connection `c.id`, as live workers saw it within the last minute. */
const SEEN = sql`
  SELECT coalesce(bool_or(s.up), false) AS up, coalesce(sum(s.binds_up), 0)::int AS "bindsUp",
         coalesce(sum(s.binds_wanted), 0)::int AS "bindsWanted", count(s.worker)::int AS workers,
         coalesce(sum(s.in_flight), 0)::int AS "inFlight", coalesce(sum(s.per_second), 0)::float8 AS "perSecond",
         max(s.fault) AS fault
  FROM connection_status s
  WHERE s.connection_id = c.id AND s.updated_at > now() - interval '1 minute' AND ${isOwnerAlive(raw('s.worker'))}`;

const LAST_HOUR = sql`
  SELECT coalesce(sum(m.accepted), 0)::bigint AS accepted, coalesce(sum(m.refused), 0)::bigint AS refused,
         coalesce(sum(m.retried), 0)::bigint AS retried, coalesce(sum(m.unknown), 0)::bigint AS unknown
  FROM connection_minute m
  WHERE m.connection_id = c.id AND m.minute > date_trunc('minute', now()) - interval '1 hour'`;

const QUEUE = sql`
  SELECT coalesce(sum(q.size - q.intent), 0)::bigint AS queued,
         count(DISTINCT q.account_id) FILTER (WHERE q.size > q.intent)::int AS "waitingAccounts",
         coalesce(extract(epoch FROM now() - min(q.available_at) FILTER (WHERE q.available_at <= now()
           AND (NOT q.scheduled OR q.available_at > now() - ${MISSED_AFTER}))), 0)::float8 AS "oldestSeconds"
  FROM dispatch_chunk q WHERE q.connection_id = c.id`;

/** Reports of the carrier by connection `c.id` in the last 30 days, the newest first. */
const NOTICES = sql`
  (SELECT coalesce(json_agg(json_build_object('text', n.text, 'serious', n.serious, 'at', n.at)
                            ORDER BY n.at DESC, n.subject), '[]')
   FROM connection_notice n WHERE n.connection_id = c.id AND n.at >= now() - interval '30 days')`;

/** A page of the connections, or the one of this name; without those of a retired sandbox. */
export async function listConnectionPage(
  db: Db,
  { name, limit, offset }: { name: string | null; limit: number; offset: number },
): Promise<ConnectionRow[]> {
  return many(
    db,
    sql`SELECT c.id, c.name, c.kind, c.status, c.sandbox, c.settings, c.created_at AS "createdAt",
               CASE WHEN c.status = 'active' AND NOT seen.up THEN d.since END AS "downSince", seen.*, hour.*, queue.*,
               error.*, ${NOTICES} AS notices,
               (SELECT count(*) FROM unknown_outcome o WHERE o.connection_id = c.id) AS unknowns,
               (SELECT count(*) FROM receipt_unmatched u WHERE u.connection_id = c.id) AS "unmatchedReceipts",
               (SELECT count(*) FROM ${ALL_ROUTES} AS r WHERE r.connection_id = c.id) AS routes,
               (SELECT count(*) FROM sender e WHERE e.connection_id = c.id) AS senders,
               (SELECT count(*) FROM inbound_number n WHERE n.connection_id = c.id) AS numbers
        FROM (SELECT * FROM connection c WHERE (${name}::text IS NULL OR name = ${name}) AND ${IS_SHOWN}
              ORDER BY id LIMIT ${limit} OFFSET ${offset}) AS c
        LEFT JOIN connection_down d ON d.connection_id = c.id
        CROSS JOIN LATERAL (${SEEN}) AS seen CROSS JOIN LATERAL (${LAST_HOUR}) AS hour
        CROSS JOIN LATERAL (${QUEUE}) AS queue LEFT JOIN LATERAL (${LAST_ERROR}) AS error ON true
        ORDER BY c.id`,
  );
}

export const countConnections = (db: Db): Promise<number> => countRows(db, sql`FROM connection c WHERE ${IS_SHOWN}`);

type MinuteRow = Counts & { minute: Date };

/** The last 60 minutes of a connection, including the current minute and minutes without traffic. */
export async function listMinutes(db: Db, { connectionId }: { connectionId: number }): Promise<MinuteRow[]> {
  return many(
    db,
    sql`SELECT t.minute, coalesce(m.accepted, 0)::bigint AS accepted, coalesce(m.refused, 0)::bigint AS refused,
               coalesce(m.retried, 0)::bigint AS retried, coalesce(m.unknown, 0)::bigint AS unknown
        FROM generate_series(date_trunc('minute', now()) - interval '59 minutes', date_trunc('minute', now()),
                             interval '1 minute') AS t (minute)
        LEFT JOIN connection_minute m ON m.connection_id = ${connectionId} AND m.minute = t.minute
        ORDER BY t.minute`,
  );
}
