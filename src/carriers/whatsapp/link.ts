import { errorIn, type GraphAnswer, type GraphClient } from './client.ts';
import { classOf, classOfHttp, explain } from './errors.ts';
import type { Timing } from './submit.ts';

/** The state of the link to the API; see `createLink`. */
export type Link = {
  /** Starts to probe whether the API is reachable and accepts the token. */
  start(): void;
  /** Closes the link and probes it again soon, because a request got no answer. */
  verify(): void;
  /** Closes the link, and probes at intervals whether the token is accepted again. */
  tokenRefused(text: string): void;
  /** Lets the next `verify` probe without delay, because a message was accepted. */
  messageAccepted(): void;
  /** Returns the reason while the token is refused, else null. */
  fault(): string | null;
  stop(): void;
};

/**
 * Watches whether the API is reachable and accepts our token, by a request that sends nothing. `report` is called with
 * whether messages may be sent, and with the fault of the token if there is one; `failed`, with the reason why a probe
 * failed. Probes are repeated with delays that double.
 */
export function createLink(
  client: GraphClient,
  timing: Timing,
  report: (open: boolean, fault: string | null) => void,
  failed: (reason: string) => void,
): Link {
  const { wabaId } = client.settings;
  let delayMs = 0;
  /** Whether a probe is in flight or scheduled. */
  let probing = false;
  let stopped = false;
  let fault: string | null = null;
  let timer: NodeJS.Timeout | undefined;

  function scheduleProbe(ms: number): void {
    probing = true;
    clearTimeout(timer);
    timer = setTimeout(() => void probe(), ms);
  }

  async function probe(): Promise<void> {
    const answer = await client.call({ method: 'GET', path: `/${wabaId}/phone_numbers?fields=id&limit=1` });
    if (stopped) return;
    const { state, text } = stateOf(answer);
    if (state === 'available') setState(true, null);
    else if (state === 'refused') tokenRefused(text);
    else {
      failed(text);
      scheduleProbe(nextDelay());
    }
  }

  function setState(open: boolean, text: string | null): void {
    probing &&= !open;
    fault = text;
    report(open, text);
  }

  function nextDelay(): number {
    delayMs = Math.min(Math.max(delayMs * 2, timing.probeBaseMs), timing.probeMaxMs);
    return delayMs;
  }

  /** Probes at once the first time; the delay grows while every successful probe is followed by another failure. */
  function verify(): void {
    if (stopped || probing) return;
    setState(false, null);
    scheduleProbe(delayMs);
    nextDelay();
  }

  function tokenRefused(text: string): void {
    if (stopped) return;
    setState(false, text);
    failed(text);
    scheduleProbe(timing.tokenRetryMs);
  }

  return {
    start: () => scheduleProbe(0),
    verify,
    tokenRefused,
    messageAccepted() {
      delayMs = 0;
    },
    fault: () => fault,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

type ProbeResult = { readonly state: 'available' | 'unreachable' | 'refused'; readonly text: string };

/** Any API answer except one about the token is good enough: a token may send and yet not read the account. */
function stateOf(answer: GraphAnswer): ProbeResult {
  if (answer.kind === 'failed') return { state: 'unreachable', text: answer.reason };
  const error = errorIn(answer.json);
  const text = error ? explain(error) : `The API answered ${answer.status}`;
  if (answer.status === 200) return { state: 'available', text };
  const { act } = error ? classOf(error, answer.status) : classOfHttp(answer.status);
  if (act === 'token') return { state: 'refused', text };
  return { state: error ? 'available' : 'unreachable', text };
}
