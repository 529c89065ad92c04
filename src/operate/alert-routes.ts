import { type Static, Type } from 'typebox';
import { Done, IdParams, isoOrNull, OPERATOR_PATH, operatorNameOf } from '../accounts/operator-fields.ts';
import { transaction } from '../core/db/transaction.ts';
import { type App, offsetOf, PageOf, type PlatformDeps, pageFields, pageOf, withExamples } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { idempotentGlobal, idempotentHandler } from '../core/http/idempotency.ts';
import { LANGUAGES, type Language } from '../core/mail.ts';
import type { Outbound } from '../core/outbound-post.ts';
import { instant, orNull } from '../core/schema.ts';
import { testTarget } from './alert-notices.ts';
import { ALERT_STATES, type Alert, type AlertState, countAlerts, listAlerts } from './alert-store.ts';
import {
  addTarget,
  changeTarget,
  clockOf,
  listTargets,
  minuteOf,
  removeTarget,
  TARGET_KINDS,
  type Target,
  type TargetChoice,
} from './alert-targets.ts';
import { sentenceOf } from './alert-texts.ts';
import { acknowledgeAlert, setRule } from './alerts.ts';
import { KIND_NAMES, readRules, SEVERITIES, UNITS } from './attention.ts';

const tags = ['Operator: alerts'];
const ALERTS = `${OPERATOR_PATH}/alerts`;
const RULES = `${OPERATOR_PATH}/alert-rules`;
const TARGETS = `${OPERATOR_PATH}/alert-targets`;
const onRequest = requireOperator();

export type AlertRouteDeps = PlatformDeps & {
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

/** Returns false while an error is firing, so that `alerts list` can be a check of a monitoring system. */
const isFine = ({ data }: { readonly data: readonly Pick<Alert, 'state' | 'severity'>[] }): boolean =>
  !data.some(({ state, severity }) => state === 'firing' && severity === 'error');

function listRoutes(app: App, deps: AlertRouteDeps): void {
  const { pool } = deps;
  app.get(ALERTS, {
    onRequest,
    config: {
      command: { as: 'alerts list', columns: ['id', 'state', 'severity', 'since', 'title', 'detail'], isFine },
    },
    schema: {
      tags,
      operationId: 'operatorListAlerts',
      summary: 'List alerts',
      description:
        'Unacknowledged alerts come first, then problems, then the newest. Resolved ones are kept for ' +
        'RETENTION_DAYS.',
      querystring: Type.Object({ ...pageFields, ...alertFilter }),
      response: { 200: PageOf(AlertOut) },
    },
    handler: async ({ query }) => {
      const states = STATES[query.state];
      const rows = await listAlerts(pool, { states, limit: query.limit, offset: offsetOf(query) });
      const data = rows.map((alert) => toAlertOut(query.language, alert));
      return pageOf(query, data, await countAlerts(pool, { states }));
    },
  });

  app.post(`${ALERTS}/:id/acknowledge`, {
    onRequest,
    config: { command: 'alerts ack', stepUp: { exempt: 'ends reminders only: the alert stays open' } },
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
    config: { command: 'alerts rules' },
    schema: {
      tags,
      operationId: 'operatorListAlertRules',
      summary: 'List the alert rules',
      response: { 200: Type.Object({ data: Type.Array(RuleOut) }) },
    },
    handler: async () => ({ data: await readRules(pool) }),
  });

  app.put(`${RULES}/:kind`, {
    onRequest,
    config: { command: 'alerts set-rule' },
    schema: {
      tags,
      operationId: 'operatorSetAlertRule',
      summary: 'Change an alert rule',
      params: RuleParams,
      body: withExamples(RuleIn, { enabled: true, forSeconds: 60, threshold: 48 }),
      response: { 204: Done },
    },
    handler: ({ actor, params, body }) =>
      transaction(pool, (tx) => setRule(tx, { ...body, ...params, by: operatorNameOf(actor) })),
  });
}

function targetRoutes(app: App, deps: AlertRouteDeps): void {
  const { pool, config, secretKey, outbound } = deps;

  app.get(TARGETS, {
    onRequest,
    config: { command: 'alerts targets' },
    schema: {
      tags,
      operationId: 'operatorListAlertTargets',
      summary: 'List the recipients of alerts',
      response: { 200: TargetsOut },
    },
    handler: async () => ({
      data: (await listTargets(pool)).map(toTargetOut),
      canMail: config.mail !== undefined,
    }),
  });

  app.post(TARGETS, {
    onRequest,
    config: { command: 'alerts add-target', secretAnswer: true },
    schema: {
      tags,
      operationId: 'operatorAddAlertTarget',
      summary: 'Add a recipient of alerts',
      description: 'Messages to a webhook are signed according to Standard Webhooks and delivered at least once.',
      body: withExamples(TargetIn, TARGET_EXAMPLE),
      response: { 201: TargetMade },
    },
    handler: idempotentGlobal(deps, 201, ({ actor, body: { kind, address, ...choice } }, tx) =>
      addTarget(
        tx,
        { secretKey, guard: outbound.guard },
        { kind, address, ...toChoice(choice), by: operatorNameOf(actor) },
      ),
    ),
  });

  app.put(`${TARGETS}/:id`, {
    onRequest,
    config: { command: 'alerts change-target' },
    schema: {
      tags,
      operationId: 'operatorChangeAlertTarget',
      summary: 'Change a recipient of alerts',
      params: IdParams,
      body: withExamples(TargetPatch, {
        severity: 'error',
        language: 'it',
        quiet: null,
        timeZone: 'Europe/Rome',
        breaksQuiet: true,
      }),
      response: { 204: Done },
    },
    handler: async ({ actor, params, body }) => {
      const change = { ...params, ...toChoice(body), by: operatorNameOf(actor) };
      await transaction(pool, (tx) => changeTarget(tx, change));
    },
  });

  app.delete(`${TARGETS}/:id`, {
    onRequest,
    config: { command: 'alerts remove-target' },
    schema: {
      tags,
      operationId: 'operatorDeleteAlertTarget',
      summary: 'Delete a recipient of alerts',
      params: IdParams,
      response: { 204: Done },
    },
    handler: ({ actor, params }) =>
      transaction(pool, (tx) => removeTarget(tx, { ...params, by: operatorNameOf(actor) })),
  });

  app.post(`${TARGETS}/:id/test`, {
    onRequest,
    config: { command: 'alerts test', stepUp: { exempt: 'sends to a recipient that is there already' } },
    schema: {
      tags,
      operationId: 'operatorTestAlertTarget',
      summary: 'Send a test alert and return the result',
      params: IdParams,
      response: { 200: TriedOut },
    },
    handler: idempotentHandler(deps, ({ params }) => testTarget(deps, params)),
  });
}

const KindName = Type.Enum([...KIND_NAMES], { type: 'string' });
const SeverityName = Type.Enum([...SEVERITIES], { type: 'string' });
const LanguageName = (description: string) => Type.Enum([...LANGUAGES], { type: 'string', default: 'en', description });

const alertFilter = {
  state: Type.Enum(['open', 'firing', 'resolved'], {
    type: 'string',
    default: 'open',
    description: '`open`: firing or acknowledged. `firing`: not acknowledged yet.',
  }),
  language: LanguageName('The language of `title`.'),
};

const AlertOut = Type.Object({
  id: Type.Integer(),
  kind: KindName,
  state: Type.Enum([...ALERT_STATES], { type: 'string' }),
  severity: SeverityName,
  title: Type.String({ description: 'The condition, in one sentence without a full stop.' }),
  detail: orNull(Type.String({ description: 'Details, in the words of a carrier or of the program.' })),
  subject: orNull(Type.String({ description: 'The name of the connection, the account or the machine.' })),
  subjectId: orNull(Type.Integer({ description: 'The id of the connection or of the account.' })),
  since: instant('Time since which the condition has held.'),
  firedAt: orNull(instant('UTC')),
  acknowledgedAt: orNull(instant('UTC')),
  acknowledgedBy: orNull(Type.String()),
  resolvedAt: orNull(instant('UTC')),
});

const toAlertOut = (language: Language, alert: Alert): Static<typeof AlertOut> => ({
  id: alert.id,
  kind: alert.kind,
  state: alert.state,
  severity: alert.severity,
  title: sentenceOf(language, alert.kind, alert),
  detail: alert.detail,
  subject: alert.subject,
  subjectId: alert.subjectId,
  since: alert.since.toISOString(),
  firedAt: isoOrNull(alert.firedAt),
  acknowledgedAt: isoOrNull(alert.acknowledgedAt),
  acknowledgedBy: alert.acknowledgedBy,
  resolvedAt: isoOrNull(alert.resolvedAt),
});

const rule = {
  enabled: Type.Boolean({ description: 'True if recipients are notified, and the alert is listed.' }),
  forSeconds: Type.Integer({
    minimum: 0,
    maximum: 86_400,
    description: 'Time for which the condition must hold.',
  }),
  threshold: orNull(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 1_000_000,
      description: 'Threshold from which it needs attention, in `unit`. It also applies to the overview.',
    }),
  ),
};
const RuleIn = Type.Object(rule);
const RuleOut = Type.Object({
  kind: KindName,
  ...rule,
  unit: orNull(Type.Enum([...UNITS], { type: 'string', description: '`points`: percentage points.' })),
});
const RuleParams = Type.Object({ kind: KindName });

const Clock = Type.String({
  pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
  description: 'A time of day, such as 22:00.',
  'x-message': 'must be a time of day, such as 22:00',
});

const choice = {
  severity: Type.Enum([...SEVERITIES], {
    type: 'string',
    description: 'The lowest severity that is sent.',
  }),
  language: LanguageName('The language of the messages.'),
  quiet: orNull(
    Type.Object(
      { from: Clock, to: Clock },
      { description: 'Times of day between which nothing is sent; it is sent afterwards, in one message.' },
    ),
  ),
  timeZone: Type.String({ maxLength: 64, description: 'A time zone of the IANA database, such as Europe/Rome.' }),
  breaksQuiet: Type.Boolean({ description: 'True if problems are sent in quiet times too.' }),
};

const Kind = Type.Enum([...TARGET_KINDS], {
  type: 'string',
  description:
    '`mail`; `webhook`: a signed POST in the form of Slack’s incoming webhooks; `owners`: by mail, the administrators of ' +
    'the account that an alert is about.',
});

const TargetIn = Type.Object({
  kind: Kind,
  address: Type.String({
    maxLength: 2048,
    description: 'The email address, or the URL of the webhook as for accounts; empty for `owners`.',
  }),
  ...choice,
});
const TargetPatch = Type.Object(choice);

const TargetMade = Type.Object({
  id: Type.Integer(),
  secret: orNull(Type.String({ description: '`whsec_…`: verifies the header `webhook-signature`. Shown only once.' })),
});

const TargetOut = Type.Object({
  id: Type.Integer(),
  kind: Kind,
  address: Type.String({ description: 'For a webhook only the origin, because the path may be a secret.' }),
  ...choice,
  waiting: Type.Integer({ description: 'Number of notices that wait to be sent to it.' }),
  failingSince: orNull(instant('The first failure since the last success.')),
  lastError: orNull(Type.String()),
  createdAt: instant('UTC'),
});

const TargetsOut = Type.Object({
  data: Type.Array(TargetOut),
  canMail: Type.Boolean({ description: 'True if the program has a mail server (SMTP_URL).' }),
});

const TriedOut = Type.Object({
  ok: Type.Boolean(),
  detail: orNull(Type.String({ description: 'Reason why the recipient could not be notified.' })),
});

/** A recipient as the interface writes it. */
const toTargetOut = (target: Target): Static<typeof TargetOut> => ({
  id: target.id,
  kind: target.kind,
  address: target.address,
  severity: target.severity,
  language: target.language,
  quiet: quietOf(target),
  timeZone: target.timeZone,
  breaksQuiet: target.breaksQuiet,
  waiting: target.waiting,
  failingSince: isoOrNull(target.failingSince),
  lastError: target.lastError,
  createdAt: target.createdAt.toISOString(),
});

const quietOf = ({ quietFrom, quietTo }: Target) =>
  quietFrom === null || quietTo === null ? null : { from: clockOf(quietFrom), to: clockOf(quietTo) };

/** Converts an operator's choice about a recipient to the form of the database. */
const toChoice = ({ quiet, ...rest }: Static<typeof TargetPatch>): TargetChoice => ({
  severity: rest.severity,
  language: rest.language,
  timeZone: rest.timeZone,
  breaksQuiet: rest.breaksQuiet,
  quietFrom: quiet && minuteOf(quiet.from),
  quietTo: quiet && minuteOf(quiet.to),
});

export const TARGET_EXAMPLE: Static<typeof TargetIn> = {
  kind: 'mail',
  address: 'ops@example.com',
  severity: 'warning',
  language: 'en',
  quiet: { from: '22:00', to: '07:00' },
  timeZone: 'Europe/Rome',
  breaksQuiet: true,
};
