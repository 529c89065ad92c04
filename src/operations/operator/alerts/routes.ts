import { Type } from 'typebox';
import { transaction } from '../../../platform/db/transaction.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { idempotentGlobal, idempotentHandler } from '../../../platform/http/idempotency.ts';
import { offsetOf, pageFields, PageOf, pageOf } from '../../../platform/http/page.ts';
import { withExamples } from '../../../platform/http/schema.ts';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { readRules } from '../attention/rules.ts';
import { operatorNameOf } from '../author.ts';
import { Done, IdParams, OPERATOR_PATH } from '../fields.ts';
import { acknowledgeAlert, setRule } from './change.ts';
import * as schema from './schema.ts';
import { countAlerts, listAlerts } from './sql.ts';
import type { AlertState } from './states.ts';
import { addTarget, changeTarget, removeTarget } from './targets/change.ts';
import { listTargets } from './targets/sql.ts';
import { testTarget } from './test-target.ts';

const tags = ['Operator: alerts'];
const ALERTS = `${OPERATOR_PATH}/alerts`;
const RULES = `${OPERATOR_PATH}/alert-rules`;
const TARGETS = `${OPERATOR_PATH}/alert-targets`;
const onRequest = requireOperator();

export type AlertRouteDeps = PlatformDeps & {
  /** For webhooks. */
  readonly outbound: Outbound;
};

const STATES: Readonly<Record<'open' | 'firing' | 'resolved', readonly AlertState[]>> = {
  open: ['firing', 'acknowledged'],
  firing: ['firing'],
  resolved: ['resolved'],
};

/** Registers the routes for alerts: conditions that have lasted, the rules for that, and the recipients. */
export function operatorAlertRoutes(app: App, deps: AlertRouteDeps): void {
  listRoutes(app, deps);
  ruleRoutes(app, deps);
  targetRoutes(app, deps);
}

function listRoutes(app: App, deps: AlertRouteDeps): void {
  const { pool } = deps;
  app.get(ALERTS, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListAlerts',
      summary: 'List alerts',
      description:
        'Unacknowledged alerts come first, then problems, then the newest. Resolved ones are kept for ' +
        'RETENTION_DAYS.',
      querystring: Type.Object({ ...pageFields, ...schema.alertFilter }),
      response: { 200: PageOf(schema.AlertOut) },
    },
    handler: async ({ query }) => {
      const states = STATES[query.state];
      const rows = await listAlerts(pool, { states, limit: query.limit, offset: offsetOf(query) });
      const data = rows.map((alert) => schema.toAlertOut(query.language, alert));
      return pageOf(query, data, await countAlerts(pool, { states }));
    },
  });

  app.post(`${ALERTS}/:id/acknowledge`, {
    onRequest,
    config: { stepUp: { exempt: 'ends reminders only: the alert stays open' } },
    schema: {
      tags,
      operationId: 'operatorAcknowledgeAlert',
      summary: 'Acknowledge an alert',
      description: 'Stops its reminders. It stays open until its condition no longer holds.',
      params: IdParams,
      response: { 204: Done },
    },
    handler: idempotentGlobal(deps, 204, async ({ actor, params }, tx) => {
      await acknowledgeAlert(tx, { id: params.id, by: operatorNameOf(actor) });
      return null;
    }),
  });
}

function ruleRoutes(app: App, { pool }: AlertRouteDeps): void {
  app.get(RULES, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListAlertRules',
      summary: 'List the alert rules',
      response: { 200: Type.Object({ data: Type.Array(schema.RuleOut) }) },
    },
    handler: async () => ({ data: await readRules(pool) }),
  });

  app.put(`${RULES}/:kind`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorSetAlertRule',
      summary: 'Change an alert rule',
      params: schema.RuleParams,
      body: withExamples(schema.RuleIn, { enabled: true, forSeconds: 60, threshold: 48 }),
      response: { 204: Done },
    },
    handler: async ({ actor, params, body }, reply) => {
      await transaction(pool, (tx) => setRule(tx, { ...body, ...params, by: operatorNameOf(actor) }));
      return reply.code(204).send(null);
    },
  });
}

function targetRoutes(app: App, deps: AlertRouteDeps): void {
  const { pool, config, secretKey, outbound } = deps;

  app.get(TARGETS, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListAlertTargets',
      summary: 'List the recipients of alerts',
      response: { 200: schema.TargetsOut },
    },
    handler: async () => ({
      data: (await listTargets(pool)).map(schema.toTargetOut),
      canMail: config.mail !== undefined,
    }),
  });

  app.post(TARGETS, {
    onRequest,
    config: { secretAnswer: true },
    schema: {
      tags,
      operationId: 'operatorAddAlertTarget',
      summary: 'Add a recipient of alerts',
      description: 'Messages to a webhook are signed according to Standard Webhooks and delivered at least once.',
      body: withExamples(schema.TargetIn, schema.TARGET_EXAMPLE),
      response: { 201: schema.TargetMade },
    },
    handler: idempotentGlobal(deps, 201, ({ actor, body: { kind, address, ...choice } }, tx) =>
      addTarget(
        tx,
        { secretKey, guard: outbound.guard },
        { kind, address, ...schema.toChoice(choice), by: operatorNameOf(actor) },
      ),
    ),
  });

  app.put(`${TARGETS}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorChangeAlertTarget',
      summary: 'Change a recipient of alerts',
      params: IdParams,
      body: withExamples(schema.TargetPatch, {
        severity: 'error',
        language: 'it',
        quiet: null,
        timeZone: 'Europe/Rome',
        breaksQuiet: true,
      }),
      response: { 204: Done },
    },
    handler: async ({ actor, params, body }, reply) => {
      const change = { ...params, ...schema.toChoice(body), by: operatorNameOf(actor) };
      await transaction(pool, (tx) => changeTarget(tx, change));
      return reply.code(204).send(null);
    },
  });

  app.delete(`${TARGETS}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorDeleteAlertTarget',
      summary: 'Delete a recipient of alerts',
      params: IdParams,
      response: { 204: Done },
    },
    handler: async ({ actor, params }, reply) => {
      await transaction(pool, (tx) => removeTarget(tx, { ...params, by: operatorNameOf(actor) }));
      return reply.code(204).send(null);
    },
  });

  app.post(`${TARGETS}/:id/test`, {
    onRequest,
    config: { stepUp: { exempt: 'sends to a recipient that is there already' } },
    schema: {
      tags,
      operationId: 'operatorTestAlertTarget',
      summary: 'Send a test alert and return the result',
      params: IdParams,
      response: { 200: schema.TriedOut },
    },
    handler: idempotentHandler(deps, ({ params }) => testTarget(deps, params)),
  });
}
