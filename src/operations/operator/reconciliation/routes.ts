import { Type } from 'typebox';
import { reconcileNamed } from '../../../messaging/receipts/reconcile.ts';
import { invalidFields } from '../../../platform/errors.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { createNodeServer } from '../../../platform/http/server.ts';
import { instantField, parseInstant } from '../../../platform/lib/instant.ts';
import { instant, orNull } from '../../../platform/lib/schema.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';
import { examine } from '../../diagnosis/examine.ts';
import { connectionField, isoOrNull, OPERATOR_PATH } from '../fields.ts';
import { reconcile } from './reconcile.ts';

const tags = ['Operator: health'];

const CheckOut = Type.Object({
  name: Type.Enum(['ledger_balanced', 'balances_match', 'frozen_matches', 'figures_match', 'receipts_matched'], {
    type: 'string',
  }),
  ok: orNull(Type.Boolean({ description: 'Null: the check took longer than 20 s.' })),
  detail: Type.String(),
  durationMs: Type.Integer(),
  data: Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: 'Up to 20 differences or sums.' }),
});

const HourOut = Type.Object({
  hour: instant('UTC'),
  connection: Type.String(),
  submitted: Type.Integer({ description: 'Parts that the carrier accepted: the sum of final, open and unmatched.' }),
  final: Type.Integer(),
  open: Type.Integer(),
  unmatched: Type.Integer({ description: 'Receipts that match no known submit.' }),
  finalPercent: Type.Number({ description: 'The share of the submitted parts that are final.' }),
  oldestOpen: orNull(instant('UTC')),
});

const FindingOut = Type.Object({
  name: Type.String(),
  ok: Type.Boolean(),
  detail: Type.String(),
  advice: orNull(Type.String({ description: 'Remedy for a failed check.' })),
});

const HoursQuery = Type.Object({
  hours: Type.Integer({
    minimum: 1,
    maximum: 168,
    default: 24,
    description: 'Number of full hours that are compared.',
  }),
});
const PeriodQuery = Type.Object({
  from: Type.Optional(instantField('The start, inclusive. Default: a day before `to`.')),
  to: Type.Optional(instantField('The end, exclusive. Default: now.')),
  connection: connectionField,
});

/** Registers the routes that check the stored data against itself, and the state of this machine. */
export function operatorHealthRoutes(app: App, { pool, config, clock }: PlatformDeps): void {
  const onRequest = requireOperator();

  app.get(`${OPERATOR_PATH}/reconciliation`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorReconcile',
      summary: 'Check whether money, figures and receipts agree',
      description: 'Reads whole tables; each check stops after 20 s. Not meant for polling.',
      querystring: HoursQuery,
      response: {
        200: Type.Object({ asOf: instant('UTC'), ok: Type.Boolean(), checks: Type.Array(CheckOut) }),
      },
    },
    handler: async ({ query }) => {
      const now = clock.now();
      const checks = await reconcile(pool, { hours: query.hours, now });
      return { asOf: now.toISOString(), ok: checks.every(({ ok }) => ok !== false), checks };
    },
  });

  app.get(`${OPERATOR_PATH}/receipts/hours`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorReconcileReceipts',
      summary: 'List submits and their receipts by connection and hour',
      querystring: PeriodQuery,
      response: { 200: Type.Object({ data: Type.Array(HourOut) }) },
    },
    handler: async ({ query }) => {
      const { connection } = query;
      const hours = await reconcileNamed(pool, { ...periodOf(query, clock.now()), connection });
      return {
        data: hours.map((row) => ({ ...row, hour: row.hour.toISOString(), oldestOpen: isoOrNull(row.oldestOpen) })),
      };
    },
  });

  app.get(`${OPERATOR_PATH}/doctor`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorDoctor',
      summary: 'Check database, carriers, disk, clock, secrets and TLS',
      description: 'As seen by the machine that responds.',
      response: { 200: Type.Object({ ok: Type.Boolean(), findings: Type.Array(FindingOut) }) },
    },
    handler: async () => {
      const makeServer = (): unknown => createNodeServer(config, () => undefined);
      const findings = await examine({ config, pool, makeServer });
      return {
        ok: findings.every(({ ok }) => ok),
        findings: findings.map(({ advice = null, ...finding }) => ({ ...finding, advice: finding.ok ? null : advice })),
      };
    },
  });
}

type Period = { readonly from?: string | undefined; readonly to?: string | undefined };

function periodOf(query: Period, now: Date): { from: Date; to: Date } {
  const to = query.to === undefined ? now : parseInstant(query.to);
  const from = query.from === undefined ? to && new Date(to.getTime() - DAY_MS) : parseInstant(query.from);
  const message = 'is not a valid date';
  if (!from || !to)
    throw invalidFields([
      ...(to ? [] : [{ field: 'to', message }]),
      ...(from || query.from === undefined ? [] : [{ field: 'from', message }]),
    ]);
  if (from >= to) throw invalidFields([{ field: 'from', message: 'must be before to' }]);
  return { from, to };
}
