import { retryAfterMs, type HttpAnswer } from '../http/client.ts';
import { memberOf, parseJson, wordsIn } from '../json.ts';

type Words = {
  /** Google's word for the error, or the HTTP status. */
  readonly code: string;
  readonly text: string;
};

/** What an answer to a message asks of us (protocol sheet rcs, section 5). */
export type Verdict =
  /** Taken, now or before under the same id. */
  | { readonly act: 'accepted' }
  /** It will never pass. `account`: because of our agent or account, not of the message. */
  | ({ readonly act: 'refuse'; readonly status: 'ERROR' | 'UNSUPPORTED'; readonly account: boolean } & Words)
  /** The token is not taken, a fresh one neither. */
  | ({ readonly act: 'token' } & Words)
  /** Everything waits. */
  | ({ readonly act: 'busy'; readonly leastMs: number } & Words)
  /** This message waits. */
  | ({ readonly act: 'later' } & Words)
  /** No answer; `written` as in `HttpAnswer`. */
  | ({ readonly act: 'silence'; readonly written: boolean } & Words);

export function judge(answer: HttpAnswer): Verdict {
  if (answer.kind === 'failed') {
    const { written, reason } = answer;
    return { act: 'silence', written, code: written ? 'NO_ANSWER' : 'NOT_SENT', text: reason };
  }
  const { status } = answer;
  // A used id is ignored with 200; nobody has seen 409, but it could mean nothing else.
  if (status === 200 || status === 409) return { act: 'accepted' };
  return refusal(status, wordsOfAnswer(answer), retryAfterMs(answer.headers));
}

function refusal(status: number, words: Words, leastMs: number): Verdict {
  switch (status) {
    case 401:
      return { act: 'token', ...words };
    case 403:
      return { act: 'refuse', status: 'ERROR', account: true, ...words };
    case 404:
      return { act: 'refuse', status: 'UNSUPPORTED', account: false, ...words };
    case 429:
    case 503:
      return { act: 'busy', leastMs, ...words };
    default:
      // A redirect, or what a proxy says on its own, is no word on the message.
      if (status < 400 || status === 408 || status >= 500) return { act: 'later', ...words };
      return { act: 'refuse', status: isFeature(words) ? 'UNSUPPORTED' : 'ERROR', account: false, ...words };
  }
}

/** A handset that lacks a feature is answered INVALID_ARGUMENT like a mistake in the message; only the words differ. */
const isFeature = ({ text }: Words): boolean =>
  /\b(not|n't) support|\bunsupported\b|\bcapabilit|\black(s|ing)? (the )?(feature|support)/i.test(text);

const LONGEST_TEXT = 1000;

function wordsOfAnswer({ status, body }: Extract<HttpAnswer, { kind: 'answered' }>): Words {
  const error = memberOf(parseJson(body.toString()), 'error');
  const text = wordsIn(error, 'message').slice(0, LONGEST_TEXT);
  return { code: wordsIn(error, 'status').slice(0, 100) || `HTTP_${status}`, text: text || `HTTP ${status}` };
}
