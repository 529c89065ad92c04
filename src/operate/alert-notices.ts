import type { Pool } from 'pg';
import type { Config } from '../core/config.ts';
import { transaction } from '../core/db/transaction.ts';
import { newId } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import { createMailer, inOneLine, isEmail, type Language, type Mailer, mailOrDrop, paragraphs } from '../core/mail.ts';
import type { Outbound, Poster } from '../core/outbound-post.ts';
import type { SecretKey } from '../core/secrets.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts';
import { signedHeaders, timestampOf } from '../webhooks/send.ts';
import { deleteBatch, listBatch, listOwners, type Notice, updateBatch } from './alert-store.ts';
import {
  findTarget,
  isQuiet,
  lockDueTargets,
  noTarget,
  openHook,
  type Target,
  updateFailed,
  updateTold,
  updateTried,
} from './alert-targets.ts';
import { durationOf, sentenceOf, textsOf } from './alert-texts.ts';
import type { Severity } from './attention.ts';

type DeliverDeps = Transports & {
  readonly pool: Pool;
  readonly log: Log;
  readonly now: () => Date;
  /** The address of the console. */
  readonly publicUrl: string;
};

/** Longer than all steps of a mail may take: after a crash another process tries again. */
const LEASE_MS = 2 * MINUTE_MS;
/** Minimum time between two messages to a recipient: events of this time are combined in the next message. */
const PAUSE_MS = MINUTE_MS;
const FIRST_RETRY_MS = 5 * SECOND_MS;
const MAX_RETRY_MS = 10 * MINUTE_MS;

/**
 * Sends all due notices of the longest-waiting recipient as one message. Failures are retried with increasing delay for
 * three days. Returns false when no notice was due.
 */
export async function deliverNext(deps: DeliverDeps): Promise<boolean> {
  const claimed = await claimBatch(deps);
  if (claimed === null) return false;
  const { target, batch } = claimed;
  const [first] = batch;
  if (!first) return true;
  const told = await tell(deps, target, batch);
  if (told.ok)
    await transaction(deps.pool, async (tx) => {
      await deleteBatch(tx, { targetId: target.id, batch: first.batch });
      await updateTold(tx, { id: target.id, pauseMs: PAUSE_MS });
    });
  else await noteFailure(deps, target, told.reason);
  return true;
}

function claimBatch({ pool, now }: DeliverDeps): Promise<{ target: Target; batch: Notice[] } | null> {
  return transaction(pool, async (tx) => {
    const due = await lockDueTargets(tx);
    const target = due.find((each) => !isQuiet(each, now()) || (each.breaksQuiet && each.urgent));
    if (!target) return null;
    const onlyProblems = isQuiet(target, now());
    await updateBatch(tx, { targetId: target.id, batch: newId(), onlyProblems });
    await updateTried(tx, { id: target.id, leaseMs: LEASE_MS });
    return { target, batch: await listBatch(tx, { targetId: target.id }) };
  });
}

function tell(deps: DeliverDeps, target: Target, batch: readonly Notice[]): Promise<Told> {
  const [first] = batch;
  if (target.kind === 'owners') return sendToOwners(deps, target, batch);
  const message = composeMessage(target.language, batch, `${deps.publicUrl}/operator/alerts`);
  return sendMessage(deps, target, first?.batch ?? newId(), message);
}

async function noteFailure({ pool, log }: DeliverDeps, { id, kind, attempts }: Target, error: string): Promise<void> {
  const delayMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts, 20));
  await updateFailed(pool, { id, delayMs, error });
  log.warn(
    { target: id, kind, attempt: attempts + 1, retryInMs: delayMs, error },
    'a recipient of alerts was not reached',
  );
}

type Line = {
  readonly id: number;
  readonly kind: string;
  readonly state: 'firing' | 'resolved';
  readonly severity: Severity;
  /** Subject and state: "Problem: main is down". */
  readonly title: string;
  /** Details, in the words of a carrier or of the program. */
  readonly detail: string | null;
};

type Message = {
  readonly subject: string;
  readonly lines: readonly Line[];
  /** Line below the others that states how many more there are. */
  readonly more: string | null;
  readonly seeLabel: string;
  readonly seeUrl: string;
};

/** Maximum number of listed alerts; more are only counted: a message must be readable on a phone. */
const MAX_LINES = 20;

/** Composes the message for a batch of notices: each alert once, as it stands at the end of the batch. */
function composeMessage(language: Language, batch: readonly Notice[], seeUrl: string): Message {
  const texts = textsOf(language);
  const last = new Map(batch.map((notice) => [notice.id, notice]));
  const lines = [...last.values()].map((notice) => lineOf(language, notice));
  const [first] = lines;
  return {
    subject: lines.length === 1 && first ? first.title : texts.several(lines.length),
    lines: lines.slice(0, MAX_LINES),
    more: lines.length > MAX_LINES ? texts.more(lines.length - MAX_LINES) : null,
    seeLabel: texts.see,
    seeUrl,
  };
}

function lineOf(language: Language, notice: Notice): Line {
  const { id, kind, event, severity, firedAt, resolvedAt } = notice;
  const texts = textsOf(language);
  const sentence = inOneLine(sentenceOf(language, kind, notice));
  const isOver = event === 'resolved';
  const ms = isOver && firedAt && resolvedAt ? resolvedAt.getTime() - firedAt.getTime() : null;
  const lasted = ms === null ? '' : ` (${texts.lasted(durationOf(language, ms))})`;
  const word = isOver ? texts.resolved : texts.severity[severity];
  const again = event === 'reminder' ? ` (${texts.reminder})` : '';
  return {
    id,
    kind,
    state: isOver ? 'resolved' : 'firing',
    severity,
    title: `${word}: ${sentence}${lasted}${again}`,
    detail: isOver || notice.detail === null ? null : inOneLine(notice.detail),
  };
}

function composeTest(language: Language, seeUrl: string): Message {
  const { test, see } = textsOf(language);
  const line: Line = { id: 0, kind: 'test', state: 'firing', severity: 'info', title: test, detail: null };
  return { subject: test, lines: [line], more: null, seeLabel: see, seeUrl };
}

const toMailText = ({ lines, more, seeLabel, seeUrl }: Message): string =>
  paragraphs(
    ...lines.map(({ title, detail }) => (detail === null ? title : `${title}\n${detail}`)),
    ...(more === null ? [] : [more]),
    `${seeLabel}: ${seeUrl}`,
  );

const COLORS: Readonly<Record<Severity, string>> = { error: '#c92a2a', warning: '#e67700', info: '#495057' };
const RESOLVED_COLOR = '#2b8a3e';

/**
 * Writes a message as the body of a webhook, in the form that Slack's incoming webhooks take, and with them Mattermost,
 * Rocket.Chat and others. `callback_id` names kind, id and state for programs.
 */
const toHookBody = ({ subject, lines, more, seeLabel, seeUrl }: Message): string =>
  JSON.stringify({
    text: `${escaped(subject)}\n<${seeUrl}|${escaped(seeLabel)}>`,
    attachments: [
      ...lines.map(({ id, kind, state, severity, title, detail }) => ({
        color: state === 'resolved' ? RESOLVED_COLOR : COLORS[severity],
        fallback: title,
        title,
        text: detail === null ? '' : escaped(detail),
        callback_id: `${kind}:${id}:${state}`,
      })),
      ...(more === null ? [] : [{ fallback: more, text: escaped(more) }]),
    ],
  });

/** Slack reads these three characters as the beginning of links and entities. */
const escaped = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

type Deps = Pick<Transports, 'mailer' | 'secretKey'> & {
  readonly pool: Pool;
  readonly log: Log;
  readonly publicUrl: string;
  readonly now: () => Date;
};

/**
 * Queues a mail about the alerts of each account for its administrators whose name is an email address: all of them in
 * one transaction, so that a repetition after a failure queues no mail twice.
 */
async function sendToOwners(
  { pool, mailer, secretKey, log, publicUrl, now }: Deps,
  { language }: Target,
  batch: readonly Notice[],
): Promise<Told> {
  if (mailer === null) return { ok: false, reason: 'SMTP_URL is not set' };
  const byAccount = Map.groupBy(batch, ({ subjectId }) => subjectId ?? 0);
  const owners = await listOwners(pool, { accountIds: [...byAccount.keys()] });
  const expiresAt = new Date(now().getTime() + DAY_MS);
  await transaction(pool, async (tx) => {
    for (const { accountId, username: to } of owners.filter(({ username }) => isEmail(username))) {
      const message = composeMessage(language, byAccount.get(accountId) ?? [], publicUrl);
      const mail = { to, subject: `Heliograph: ${message.subject}`, text: toMailText(message) };
      await mailOrDrop(tx, { secretKey, log }, { kind: 'notice', ...mail, accountId, expiresAt });
    }
  });
  return { ok: true };
}

type Transports = {
  readonly poster: Poster;
  /** Null without SMTP_URL. */
  readonly mailer: Mailer | null;
  readonly secretKey: SecretKey;
};

/** Result of notifying a recipient, with the reason of a failure. */
type Told = { readonly ok: true } | { readonly ok: false; readonly reason: string };

const OK: Told = { ok: true };
const failed = (reason: string): Told => ({ ok: false, reason });

/**
 * Notifies a recipient, by mail or by a signed POST. The same `id` gives the same Message-ID and the same `webhook-id`,
 * by which receivers recognise duplicates. Never rejects.
 */
function sendMessage(transports: Transports, target: Target, id: string, message: Message): Promise<Told> {
  return target.kind === 'webhook'
    ? post(transports, target, id, message)
    : mail(transports, target.address, id, message);
}

async function post(
  { poster, secretKey }: Transports,
  { sealed }: Target,
  id: string,
  message: Message,
): Promise<Told> {
  const hook = openHook(secretKey, sealed);
  if (hook === null) return failed('its URL was sealed with another SECRET_KEY: add it again');
  const body = toHookBody(message);
  const headers = signedHeaders({ id, timestamp: timestampOf(new Date()), body, secrets: [hook.secret] });
  const result = await poster.post({ url: hook.url, headers, body });
  if (result.kind === 'failed') return failed(result.reason);
  return result.status >= 200 && result.status < 300
    ? OK
    : failed(`HTTP ${result.status} ${result.body}`.slice(0, 200));
}

async function mail({ mailer }: Pick<Transports, 'mailer'>, to: string, id: string, message: Message): Promise<Told> {
  if (mailer === null) return failed('SMTP_URL is not set');
  if (!isEmail(to)) return failed('not an email address');
  const failure = await mailer.send(id, { to, subject: `Heliograph: ${message.subject}`, text: toMailText(message) });
  return failure === null ? OK : failed(`the mail server returned ${failure.code}`);
}

type TestDeps = {
  readonly config: Pick<Config, 'mail' | 'publicUrl'>;
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly outbound: Pick<Outbound, 'poster'>;
};

type Tried = { readonly ok: boolean; readonly detail: string | null };

/**
 * Sends a test to a recipient immediately, even in quiet hours, without retries. Administrators of accounts get none:
 * for them it only checks that mails can be sent. Errors: 404.
 */
export async function testTarget(
  { config, pool, secretKey, outbound: { poster } }: TestDeps,
  { id }: { readonly id: number },
): Promise<Tried> {
  const target = await findTarget(pool, { id });
  if (!target) throw noTarget();
  const mailer = config.mail ? createMailer(config.mail) : null;
  if (target.kind === 'owners')
    return mailer ? { ok: true, detail: null } : { ok: false, detail: 'SMTP_URL is not set' };
  const message = composeTest(target.language, `${config.publicUrl}/operator/alerts`);
  const told = await sendMessage({ poster, mailer, secretKey }, target, newId(), message);
  return { ok: told.ok, detail: told.ok ? null : told.reason };
}
