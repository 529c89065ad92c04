import { type Static, Type } from 'typebox';
import { callbackUrlOf } from '../../../network/connections/add.ts';
import { kindOf } from '../../../network/connections/kinds/kinds.ts';
import { amount, isoOrNull } from '../fields.ts';
import { HasSetup, KindName, RoutedBy, SECRETS, SyncsTemplates, TOKENS, traitsOf } from '../connection-kinds/schema.ts';
import type { ConnectionRow, MinuteRow } from './sql.ts';
import { channelName, instant, orNull } from '../../../platform/lib/schema.ts';

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

/** A connection as the interface writes it. */
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
