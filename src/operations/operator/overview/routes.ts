import { Type } from 'typebox';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { channelName, instant, orNull } from '../../../platform/lib/schema.ts';
import { KIND_NAMES } from '../attention/kinds.ts';
import { SEVERITIES } from '../attention/sql.ts';
import { KindName } from '../connection-kinds/schema.ts';
import { CountsOut } from '../connections/schema.ts';
import { amount, OPERATOR_PATH } from '../fields.ts';
import { marginFigures } from '../margins/margin.ts';
import { describeGateway } from './describe.ts';

const figures = {
  sent: Type.Integer(),
  delivered: Type.Integer(),
  read: Type.Integer(),
  failed: Type.Integer(),
  cost: amount(),
};

const AttentionOut = Type.Object({
  kind: Type.Enum([...KIND_NAMES], {
    type: 'string',
    description: 'The thresholds of the kinds are listed by `operatorListAlertRules`.',
  }),
  severity: Type.Enum([...SEVERITIES], { type: 'string' }),
  count: orNull(
    Type.Integer({
      description:
        'Messages, receipts, routes or credentials; the percentage that was delivered (delivery_falling), MiB that are ' +
        'free (disk_low), or the days that are left (certificate_expiring).',
    }),
  ),
  accounts: orNull(Type.Integer({ description: 'The number of accounts whose messages wait.' })),
  compared: orNull(
    Type.Number({
      description:
        'The percentage of the week before (delivery_falling), or the days until the first credential expires ' +
        '(token_expiring).',
    }),
  ),
  subject: orNull(Type.String({ description: 'The name of the connection, the account or the machine.' })),
  subjectId: orNull(Type.Integer({ description: 'The id of the connection or of the account.' })),
  since: orNull(instant('UTC')),
  detail: orNull(Type.String({ description: 'More about it, such as the error text of the carrier.' })),
});

const OverviewOut = Type.Object({
  asOf: instant('UTC'),
  fence: Type.Object({ paused: Type.Boolean(), reason: orNull(Type.String()), since: instant('UTC') }),
  workers: Type.Integer({ description: 'The number of live workers.' }),
  accounts: Type.Object({ total: Type.Integer(), active: Type.Integer(), suspended: Type.Integer() }),
  last24h: Type.Object(figures, { description: 'Messages of the last 24 hours and of the current hour.' }),
  channels: Type.Array(Type.Object({ channel: channelName(), ...figures })),
  margin: Type.Object(marginFigures, { description: 'Figures of today and the six days before, in UTC.' }),
  credit: Type.Array(Type.Object({ currency: Type.String(), available: amount(), frozen: amount() })),
  queue: Type.Object({
    waiting: Type.Integer(),
    inFlight: Type.Integer(),
    oldestSeconds: orNull(amount('The age of the oldest due message.')),
  }),
  perSecond: amount('Messages per second that carriers accepted in the last ten seconds.'),
  connections: Type.Array(
    Type.Object({
      name: Type.String(),
      kind: KindName,
      channel: channelName(),
      status: Type.Enum(['active', 'paused'], { type: 'string' }),
      up: Type.Boolean(),
      perSecond: amount('Messages per second that the carrier accepted in the last ten seconds.'),
      lastHour: CountsOut,
      queued: Type.Integer(),
      oldestSeconds: amount('The age of the oldest due message.'),
    }),
  ),
  series: Type.Array(
    Type.Object({
      minute: instant('UTC'),
      SMS: Type.Integer(),
      RCS: Type.Integer(),
      WHATSAPP: Type.Integer(),
      refused: Type.Integer(),
      unknown: Type.Integer(),
    }),
    { description: 'Messages that carriers accepted, by minute: the last 60 minutes, including empty ones.' },
  ),
  top: Type.Array(Type.Object({ accountId: Type.Integer(), account: Type.String(), sent: Type.Integer() }), {
    description: 'The accounts with the most messages in the current hour and the one before.',
  }),
  attention: Type.Array(AttentionOut),
});

/** Registers the route behind the first page of the operator console. */
export function operatorOverviewRoutes(app: App, { pool, clock }: PlatformDeps): void {
  app.get(`${OPERATOR_PATH}/overview`, {
    onRequest: requireOperator(),
    schema: {
      tags: ['Operator: health'],
      operationId: 'operatorFindOverview',
      summary: 'Get rates, totals and attention items of all accounts',
      response: { 200: OverviewOut },
    },
    handler: () => describeGateway(pool, clock.now()),
  });
}
