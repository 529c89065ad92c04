import { errorIn, type GraphAnswer, type GraphClient } from './client.ts';
import { classOf, classOfHttp } from './errors.ts';
import type { Timing } from './submit.ts';

export type Link = {
  /** Begins to ask whether the API is there and takes the token. */
  start(): void;
  /** Something speaks against it: asks soon, and nothing is sent before the answer. */
  doubt(): void;
  /** The token was refused: shuts, and asks now and then whether it is taken again. */
  refuse(text: string): void;
  /** A message was taken: the next doubt is looked at without delay. */
  flowing(): void;
  /** Set while the token is refused. */
  fault(): string | null;
  stop(): void;
};

/**
 * Watches whether the API can be reached and takes our token, with a request that sends nothing. `found` hears whether
 * messages may go, and the fault of the token when there is one; `failed`, why a question was not answered. Questions are
 * repeated at delays that double.
 */
export function createLink(
  client: GraphClient,
  timing: Timing,
  found: (open: boolean, fault: string | null) => void,
  failed: (reason: string) => void,
): Link {
  const { wabaId } = client.settings;
  let delayMs = 0;
  /** A question is under way, or will be. */
  let looking = false;
  let stopped = false;
  let fault: string | null = null;
  let timer: NodeJS.Timeout | undefined;

  function lookIn(ms: number): void {
    looking = true;
    clearTimeout(timer);
    timer = setTimeout(() => void look(), ms);
  }

  async function look(): Promise<void> {
    const answer = await client.call({ method: 'GET', path: `/${wabaId}/phone_numbers?fields=id&limit=1` });
    if (stopped) return;
    const { state, text } = stateOf(answer);
    if (state === 'there') tell(true, null);
    else if (state === 'refused') refuse(text);
    else {
      failed(text);
      lookIn(nextDelay());
    }
  }

  function tell(open: boolean, text: string | null): void {
    looking &&= !open;
    fault = text;
    found(open, text);
  }

  function nextDelay(): number {
    delayMs = Math.min(Math.max(delayMs * 2, timing.probeBaseMs), timing.probeMaxMs);
    return delayMs;
  }

  /** The first time at once; later and later while every answer is followed by another doubt. */
  function doubt(): void {
    if (stopped || looking) return;
    tell(false, null);
    lookIn(delayMs);
    nextDelay();
  }

  function refuse(text: string): void {
    if (stopped) return;
    tell(false, text);
    failed(text);
    lookIn(timing.tokenRetryMs);
  }

  return {
    start: () => lookIn(0),
    doubt,
    refuse,
    flowing() {
      delayMs = 0;
    },
    fault: () => fault,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** Any answer of the API but one about the token will do: we may send and yet not look at the account. */
function stateOf(answer: GraphAnswer): { readonly state: 'there' | 'away' | 'refused'; readonly text: string } {
  if (answer.kind === 'failed') return { state: 'away', text: answer.reason };
  const error = errorIn(answer.json);
  const text = error?.text ?? `The API answered ${answer.status}`;
  if (answer.status === 200) return { state: 'there', text };
  const { act } = error ? classOf(error.code, answer.status) : classOfHttp(answer.status);
  if (act === 'token') return { state: 'refused', text };
  return { state: error ? 'there' : 'away', text };
}
