import { setTimeout as delay } from 'node:timers/promises';
import type { Outcome, Submission } from '../carrier.ts';
import { type Gate, type HttpAnswer, type HttpClient, type HttpRequest, retryAfterMs } from '../http-client.ts';
import type { Throttle } from '../throttle.ts';
import type { Answer, Rule } from './protocol.ts';
import { compilePlace, compilePlaces, type Document, type Read, toDocument } from './template.ts';

/** Dependencies for sending a message. */
type SubmitDeps = {
  readonly http: HttpClient;
  readonly gate: Gate;
  readonly throttle: Throttle;
  readonly verdictOf: VerdictOf;
  /** True if the carrier takes a repeat with our id only once. */
  readonly idempotent: boolean;
  readonly resends: number;
  readonly timing: Timing;
  /** Called with each verdict, for the carrier's own state. */
  readonly onVerdict: (verdict: Verdict) => void;
};

/** Delays, which tests shorten. */
export type Timing = {
  /** The minimum delay of a message that the carrier could not take; the maximum is twice as long. */
  readonly laterMs: number;
  /** The minimum delay before a message in doubt is sent again; the maximum is twice as long. */
  readonly resendMs: number;
  /** The delay after the credentials were rejected. */
  readonly refusedMs: number;
  /** The first delay between two probes of the link; it doubles up to `probeMaxMs`. */
  readonly probeBaseMs: number;
  readonly probeMaxMs: number;
};

/**
 * Sends one message and resolves with its outcome.
 *
 * A message that was written without a conclusive response is in doubt. It is only sent again to a carrier that
 * recognises our id: with exactly the same bytes, so that the next response resolves the doubt; after `resends`
 * attempts, and always to other carriers, it is `unknown`. While a message is in doubt it is never returned as `retry`,
 * which would mean that it was not taken, nor as refused because of a status that a proxy could return for the repeat:
 * another carrier would send it once more.
 */
export async function sendMessage(deps: SubmitDeps, submission: Submission, request: HttpRequest): Promise<Outcome> {
  let doubt: string | null = null;
  for (let resends = 0; ; resends += 1) {
    const got: Verdict = await attempt(deps, request);
    const verdict: Verdict = doubt === null ? got : keepDoubt(got);
    if (verdict.act === 'accepted')
      return { kind: 'accepted', carrierIds: verdict.ids.length > 0 ? verdict.ids : [submission.messageId] };
    if (verdict.act === 'refused') {
      const { act, byStatus: _, ...refusal } = verdict;
      return { kind: act, ...refusal, carrierIds: [] };
    }
    if (verdict.act === 'unknown') doubt = verdict.text;
    if (doubt === null) return retry(verdict, deps);
    const mayRepeat = deps.idempotent && resends < deps.resends && isValid(submission);
    if (!mayRepeat || !(await waitBeforeResend(deps, verdict)))
      return { kind: 'unknown', text: doubt, carrierIds: [submission.messageId] };
  }
}

/** Ignores verdicts about a repeat that do not apply to the attempt before it, such as a wrong path. */
function keepDoubt(verdict: Verdict): Verdict {
  if (verdict.act !== 'refused' || !verdict.byStatus || !verdict.elsewhere) return verdict;
  return { act: 'unknown', code: verdict.code, text: verdict.text, waitMs: 0 };
}

async function attempt(
  { http, gate, throttle, verdictOf, onVerdict }: SubmitDeps,
  request: HttpRequest,
): Promise<Verdict> {
  const ticket = throttle.begin();
  const verdict = verdictOf(await http.request(request));
  if (verdict.act === 'accepted') {
    gate.messageAccepted();
    throttle.accepted(ticket);
  } else if (verdict.act === 'throttled') throttle.refused(ticket, verdict.waitMs);
  else if (verdict.act === 'unavailable') gate.pause(verdict.waitMs);
  onVerdict(verdict);
  return verdict;
}

const isValid = ({ validUntil }: Submission): boolean => validUntil === null || validUntil.getTime() > Date.now();

/** Waits before a repetition; resolves with false if the carrier stops meanwhile. */
async function waitBeforeResend({ gate, throttle, timing }: SubmitDeps, verdict: Verdict): Promise<boolean> {
  const askedMs = 'waitMs' in verdict ? verdict.waitMs : 0;
  const ownMs = Math.round(timing.resendMs * (1 + Math.random()));
  const waitMs = Math.max(ownMs, Math.min(askedMs, MAX_WAIT_MS), gate.pauseMs(), throttle.pauseMs());
  await delay(waitMs, undefined, { signal: gate.stopping }).catch(() => undefined);
  return !gate.stopping.aborted;
}

/** Maximum time for which a message in doubt holds its slot before one repetition. */
const MAX_WAIT_MS = 30_000;

type RetryVerdict = Exclude<Verdict, { act: 'accepted' | 'refused' }>;

/**
 * Returns the outcome `retry`. Only an error of this message counts as an attempt; the others concern the link or our
 * account.
 */
function retry(verdict: RetryVerdict, { gate, throttle, timing }: SubmitDeps): Outcome {
  const { act, text } = verdict;
  if (act === 'not-written') return { kind: 'retry', afterMs: 0, counts: false, code: 'NOT_SENT', text };
  const { code, waitMs } = verdict;
  if (act === 'throttled')
    return { kind: 'retry', afterMs: Math.max(1, throttle.retryMs()), counts: false, code, text };
  if (act === 'fault') return { kind: 'retry', afterMs: timing.refusedMs, counts: false, code, text };
  if (act === 'unavailable') return { kind: 'retry', afterMs: Math.max(1, gate.pauseMs()), counts: false, code, text };
  const afterMs = Math.max(Math.round(timing.laterMs * (1 + Math.random())), waitMs);
  return { kind: 'retry', afterMs, counts: true, code, text };
}

type Refusal = Extract<Outcome, { kind: 'refused' }>['status'];

/** Result of an attempt to send a message. */
export type Verdict =
  /**
   * The carrier took it, under these ids, of which each part may have one; none if the response is expected to name
   * none.
   */
  | { readonly act: 'accepted'; readonly ids: readonly string[] }
  | {
      readonly act: 'refused';
      readonly status: Refusal;
      readonly elsewhere: boolean;
      /**
       * True if no rule of the carrier applied, only the HTTP status: the response may be that of a proxy in front of
       * it.
       */
      readonly byStatus: boolean;
      readonly code: string;
      readonly text: string;
    }
  | {
      readonly act: 'throttled' | 'later' | 'unavailable' | 'fault' | 'unknown';
      readonly code: string;
      readonly text: string;
      /** The wait that the carrier asks for; 0 if none. */
      readonly waitMs: number;
    }
  | { readonly act: 'not-written'; readonly text: string };

/** Judges the response to the request for one message. */
type VerdictOf = (answer: HttpAnswer) => Verdict;

const MAX_TEXT_LENGTH = 500;
/** The longest id that fits an index; a longer one would match nothing. */
export const MAX_ID_LENGTH = 200;

/**
 * Compiles the rules for reading the responses of a carrier: the first that fits applies, then the meaning of the HTTP
 * status. By status, 2xx is taken, 401 a fault, 429 throttled, other 3xx and 4xx refused. 408 and 5xx are unknown,
 * because a proxy in front of the carrier returns them too, after it has passed the message on; so is 409, which
 * carriers return for a message that they have already. A 2xx without the expected id is unknown. Codes and texts pass
 * through `hide`, which removes secrets from them.
 */
export function compileVerdict(answer: Answer, hide: (text: string) => string = (said) => said): VerdictOf {
  const ids = answer.id === undefined ? null : compilePlaces(answer.id);
  const [code, text] = [answer.code, answer.text].map((place) =>
    place === undefined ? undefined : compilePlace(place),
  );
  const rules = answer.rules.map((rule) => compileRule(rule, code));
  return (got) => {
    if (got.kind === 'failed') {
      if (!got.written) return { act: 'not-written', text: got.reason };
      return { act: 'unknown', code: 'NO_ANSWER', text: got.reason, waitMs: 0 };
    }
    const document = toDocument(got.body, got.headers);
    const known = rules.find(({ fits }) => fits(got.status, document))?.rule;
    const rule = known ?? meaningOf(got.status);
    if (rule.outcome === 'accepted') return accepted(ids && ids(document));
    const fault = {
      code: hide(code ? code(document) : '').slice(0, 100) || `HTTP_${got.status}`,
      text: hide(text ? text(document) : '').slice(0, MAX_TEXT_LENGTH) || explain(got.status, hide(document.text)),
    };
    if (rule.outcome === 'refused')
      return { act: 'refused', status: rule.as, elsewhere: rule.elsewhere, byStatus: known === undefined, ...fault };
    return { act: rule.outcome, ...fault, waitMs: retryAfterMs(got.headers) };
  };
}

function accepted(ids: readonly string[] | null): Verdict {
  if (ids === null) return { act: 'accepted', ids: [] };
  if (ids.length > 0 && ids.every((id) => id.length <= MAX_ID_LENGTH)) return { act: 'accepted', ids };
  return { act: 'unknown', code: 'NO_ID', text: 'The carrier responded without an id of the message', waitMs: 0 };
}

type Compiled = { readonly rule: Rule; readonly fits: (status: number, document: Document) => boolean };

function compileRule(rule: Rule, code: Read | undefined): Compiled {
  const { status, is } = rule;
  const read = rule.at === undefined ? code : compilePlace(rule.at);
  const hasStatus = (got: number): boolean =>
    status === undefined || status === String(got) || status === `${Math.floor(got / 100)}xx`;
  const hasValue = (document: Document): boolean => {
    if (is === undefined) return true;
    const value = read ? read(document) : '';
    return is.includes(value) || (value !== '' && is.includes('*'));
  };
  return { rule, fits: (got, document) => hasStatus(got) && hasValue(document) };
}

type Meaning = Pick<Rule, 'outcome' | 'as' | 'elsewhere'>;
const meaning = (outcome: Rule['outcome'], elsewhere = false): Meaning => ({ outcome, as: 'REJECTED', elsewhere });

function meaningOf(status: number): Meaning {
  if (status >= 200 && status <= 299) return meaning('accepted');
  if (status === 401) return meaning('fault');
  if (status === 429) return meaning('throttled');
  if (status === 408 || status === 409 || status >= 500) return meaning('unknown');
  // No rights, no money, a wrong path, a redirect: not related to the message.
  return meaning('refused', status < 400 || (status >= 402 && status <= 405));
}

const explain = (status: number, body: string): string =>
  `The carrier returned ${status}: ${body.replaceAll('\0', '').toWellFormed().replace(/\s+/g, ' ').trim()}`.slice(
    0,
    MAX_TEXT_LENGTH,
  );
