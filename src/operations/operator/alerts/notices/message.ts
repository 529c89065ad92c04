import type { Language } from '../../../../identity/mail-text.ts';
import { inOneLine, paragraphs } from '../../../../identity/mail-text.ts';
import type { Severity } from '../../attention/sql.ts';
import type { Notice } from './sql.ts';
import { durationOf, sentenceOf, textsOf } from './texts.ts';

/** One alert of a message. */
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

/** One message to a recipient. */
export type Message = {
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
export function composeMessage(language: Language, batch: readonly Notice[], seeUrl: string): Message {
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

/** Composes the message of a test. */
export function composeTest(language: Language, seeUrl: string): Message {
  const { test, see } = textsOf(language);
  const line: Line = { id: 0, kind: 'test', state: 'firing', severity: 'info', title: test, detail: null };
  return { subject: test, lines: [line], more: null, seeLabel: see, seeUrl };
}

/** Writes a message as the text of a mail. */
export const toMailText = ({ lines, more, seeLabel, seeUrl }: Message): string =>
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
export const toHookBody = ({ subject, lines, more, seeLabel, seeUrl }: Message): string =>
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
