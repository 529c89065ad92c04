import { type Static, Type } from 'typebox';
import { LANGUAGES, type Language } from '../../../identity/mail-text.ts';
import { instant, orNull } from '../../../platform/lib/schema.ts';
import { KIND_NAMES, UNITS } from '../attention/kinds.ts';
import { SEVERITIES } from '../attention/sql.ts';
import { isoOrNull } from '../fields.ts';
import { sentenceOf } from './notices/texts.ts';
import type { Alert } from './sql.ts';
import { ALERT_STATES } from './states.ts';
import { clockOf, minuteOf } from './targets/quiet.ts';
import { type Target, TARGET_KINDS, type TargetChoice } from './targets/sql.ts';

const KindName = Type.Enum([...KIND_NAMES], { type: 'string' });
const SeverityName = Type.Enum([...SEVERITIES], { type: 'string' });
const LanguageName = (description: string) => Type.Enum([...LANGUAGES], { type: 'string', default: 'en', description });

/** Filter for listing alerts. */
export const alertFilter = {
  state: Type.Enum(['open', 'firing', 'resolved'], {
    type: 'string',
    default: 'open',
    description: '`open`: firing or acknowledged. `firing`: not acknowledged yet.',
  }),
  language: LanguageName('The language of `title`.'),
};

export const AlertOut = Type.Object({
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

/** An alert as the interface writes it. */
export const toAlertOut = (language: Language, alert: Alert): Static<typeof AlertOut> => ({
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
export const RuleIn = Type.Object(rule);
export const RuleOut = Type.Object({
  kind: KindName,
  ...rule,
  unit: orNull(Type.Enum([...UNITS], { type: 'string', description: '`points`: percentage points.' })),
});
export const RuleParams = Type.Object({ kind: KindName });

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

export const TargetIn = Type.Object({
  kind: Kind,
  address: Type.String({
    maxLength: 2048,
    description: 'The email address, or the URL of the webhook as for accounts; empty for `owners`.',
  }),
  ...choice,
});
export const TargetPatch = Type.Object(choice);

export const TargetMade = Type.Object({
  id: Type.Integer(),
  secret: orNull(Type.String({ description: '`whsec_…`: verifies the header `webhook-signature`. Shown only once.' })),
});

export const TargetOut = Type.Object({
  id: Type.Integer(),
  kind: Kind,
  address: Type.String({ description: 'For a webhook only the origin, because the path may be a secret.' }),
  ...choice,
  waiting: Type.Integer({ description: 'Number of notices that wait to be sent to it.' }),
  failingSince: orNull(instant('The first failure since the last success.')),
  lastError: orNull(Type.String()),
  createdAt: instant('UTC'),
});

export const TargetsOut = Type.Object({
  data: Type.Array(TargetOut),
  canMail: Type.Boolean({ description: 'True if the program has a mail server (SMTP_URL).' }),
});

export const TriedOut = Type.Object({
  ok: Type.Boolean(),
  detail: orNull(Type.String({ description: 'Reason why the recipient could not be notified.' })),
});

/** A recipient as the interface writes it. */
export const toTargetOut = (target: Target): Static<typeof TargetOut> => ({
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
export const toChoice = ({ quiet, ...rest }: Static<typeof TargetPatch>): TargetChoice => ({
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
