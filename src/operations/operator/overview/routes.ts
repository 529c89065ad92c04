import { Type } from 'typebox';
import { requireOperator } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { amount, OPERATOR_PATH } from '../fields.ts';
import { KindName } from '../connections/kinds.ts';
import { CountsOut } from '../connections/schema.ts';
import { describeGateway } from './describe.ts';
import { channelName, instant, orNull } from '../../../platform/lib/schema.ts';

const figures = {
  sent: Type.Integer(),
  delivered: Type.Integer(),
  read: Type.Integer(),
  failed: Type.Integer(),
  cost: amount(),
};

const AttentionOut = Type.Object({
  kind: Type.String({
    description:
      'sending_paused, no_worker, connection_down, connection_fault, queue_stuck (5 minutes), unknown_outcomes, ' +
      'receipts_unmatched (an hour), webhook_failing (an hour), webhook_disabled, low_credit (less than the last 24 ' +
      'hours cost), missed_schedules or agents_requested.',
  }),
  severity: Type.Enum(['error', 'warning', 'info'], { type: 'string' }),
  count: orNull(Type.Integer()),
  subject: orNull(Type.String({ description: 'Name of the connection or of the account.' })),
  subjectId: orNull(Type.Integer({ description: 'Its id.' })),
  since: orNull(instant('UTC')),
  detail: orNull(Type.String({ description: 'The words of the carrier, or whatever else tells more.' })),
});

const OverviewOut = Type.Object({
  asOf: instant('UTC'),
  fence: Type.Object({ paused: Type.Boolean(), reason: orNull(Type.String()), since: instant('UTC') }),
  workers: Type.Integer({ description: 'That live.' }),
  accounts: Type.Object({ total: Type.Integer(), active: Type.Integer(), suspended: Type.Integer() }),
  last24h: Type.Object(figures, { description: 'Messages of the last 24 hours and of the hour under way.' }),
  channels: Type.Array(Type.Object({ channel: channelName(), ...figures })),
  credit: Type.Array(Type.Object({ currency: Type.String(), available: amount(), frozen: amount() })),
  queue: Type.Object({
    waiting: Type.Integer(),
    inFlight: Type.Integer(),
    oldestSeconds: orNull(amount('Of what is due.')),
  }),
  perSecond: amount('Messages that carriers took a second, of the last ten seconds.'),
  connections: Type.Array(
    Type.Object({
      name: Type.String(),
      kind: KindName,
      channel: channelName(),
      status: Type.Enum(['active', 'paused'], { type: 'string' }),
      up: Type.Boolean(),
      perSecond: amount('As above.'),
      lastHour: CountsOut,
      queued: Type.Integer(),
      oldestSeconds: amount('Of what is due.'),
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
    { description: 'Messages that carriers took, by the minute: 60 of them, empty ones too.' },
  ),
  top: Type.Array(Type.Object({ accountId: Type.Integer(), account: Type.String(), sent: Type.Integer() }), {
    description: 'The accounts that sent most in this hour and the one before.',
  }),
  attention: Type.Array(AttentionOut),
});

/** What an operator sees first. */
export function operatorOverviewRoutes(app: App, { pool, clock }: PlatformDeps): void {
  app.get(`${OPERATOR_PATH}/overview`, {
    onRequest: requireOperator(),
    schema: {
      tags: ['Operator: health'],
      operationId: 'operatorFindOverview',
      summary: 'Rates, totals, and what needs somebody, over all accounts',
      response: { 200: OverviewOut },
    },
    handler: () => describeGateway(pool, clock.now()),
  });
}
