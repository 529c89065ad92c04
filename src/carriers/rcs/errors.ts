import { retryAfterMs, type HttpAnswer } from '../http/client.ts';
import { getMember, parseJson, getText } from '../json.ts';

type ErrorDetails = {
  /** Google's name of the error, or `HTTP_` followed by the status. */
  readonly code: string;
  readonly text: string;
};

/** Action required by the response to a message (RBM API, errors). */
export type Verdict =
  /** The message was accepted, now or earlier under the same id. */
  | { readonly act: 'accepted' }
  /** The message will never be accepted. `account` is true if the reason is our agent or account, not the message. */
  | ({ readonly act: 'refuse'; readonly status: 'ERROR' | 'UNSUPPORTED'; readonly account: boolean } & ErrorDetails)
  /** The token was rejected, and so was a fresh one. */
  | ({ readonly act: 'token' } & ErrorDetails)
  /** The agent has sent too many messages: it must slow down, or wait for `minPauseMs` if that is not 0. */
  | ({ readonly act: 'throttled'; readonly minPauseMs: number } & ErrorDetails)
  /** All messages must wait for at least `minPauseMs`. */
  | ({ readonly act: 'busy'; readonly minPauseMs: number } & ErrorDetails)
  /** Delays this message only. */
  | ({ readonly act: 'later' } & ErrorDetails)
  /** There was no response; `written` as in `HttpAnswer`. */
  | ({ readonly act: 'no-answer'; readonly written: boolean } & ErrorDetails);

/** Classifies the response to a message. */
export function verdictOf(answer: HttpAnswer): Verdict {
  if (answer.kind === 'failed') {
    const { written, reason } = answer;
    return { act: 'no-answer', written, code: written ? 'NO_ANSWER' : 'NOT_SENT', text: reason };
  }
  const { status } = answer;
  // A used id is ignored with 200; a 409 has never been observed, but could only mean the same.
  if (status === 200 || status === 409) return { act: 'accepted' };
  return refusal(status, readErrorDetails(answer), retryAfterMs(answer.headers));
}

function refusal(status: number, details: ErrorDetails, minPauseMs: number): Verdict {
  switch (status) {
    case 401:
      return { act: 'token', ...details };
    case 403:
      return { act: 'refuse', status: 'ERROR', account: true, ...details };
    case 404:
      return { act: 'refuse', status: 'UNSUPPORTED', account: false, ...details };
    case 429:
      return { act: 'throttled', minPauseMs, ...details };
    case 503:
      return { act: 'busy', minPauseMs, ...details };
    default:
      // A redirect or a proxy's own error reveals nothing about the message.
      if (status < 400 || status === 408 || status >= 500) return { act: 'later', ...details };
      return { act: 'refuse', status: lacksFeature(details) ? 'UNSUPPORTED' : 'ERROR', account: false, ...details };
  }
}

/** A missing handset feature leads to INVALID_ARGUMENT like a mistake in the message; only the text differs. */
const lacksFeature = ({ text }: ErrorDetails): boolean =>
  /\b(not|n't) support|\bunsupported\b|\bcapabilit|\black(s|ing)? (the )?(feature|support)/i.test(text);

const MAX_TEXT_LENGTH = 1000;

function readErrorDetails({ status, body }: Extract<HttpAnswer, { kind: 'answered' }>): ErrorDetails {
  const error = getMember(parseJson(body.toString()), 'error');
  const text = getText(error, 'message').slice(0, MAX_TEXT_LENGTH);
  return { code: getText(error, 'status').slice(0, 100) || `HTTP_${status}`, text: text || `HTTP ${status}` };
}
