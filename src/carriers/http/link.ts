/** The state of the link to an API; see `createLink`. */
export type Link = {
  /** Starts to probe the API's reachability and the credentials. */
  start(): void;
  /** Closes the link and probes it again soon, because a request got no response. */
  verify(): void;
  /** Closes the link, and probes at intervals until the credentials are accepted again. */
  refused(text: string): void;
  /** Lets the next `verify` probe without delay, because a message was accepted. */
  messageAccepted(): void;
  /** Returns the reason while the credentials are rejected, else null. */
  fault(): string | null;
  stop(): void;
};

/** Result of a probe. */
export type Probed = { readonly state: 'available' | 'unreachable' | 'refused'; readonly text: string };

/** The delays between probes. */
export type LinkTiming = {
  /** The first delay between two probes; it doubles up to `probeMaxMs`. */
  readonly probeBaseMs: number;
  readonly probeMaxMs: number;
  /** The delay between two probes after the credentials were rejected. */
  readonly refusedMs: number;
};

/**
 * Watches the reachability of an API and the validity of our credentials, by a request that sends nothing. Calls
 * `report` with true if messages may be sent and with the fault of the credentials if there is one, and `failed` with
 * the reason of a failed probe. Probes are repeated with delays that double. `probe` must not reject.
 */
export function createLink(
  probe: () => Promise<Probed>,
  timing: LinkTiming,
  report: (open: boolean, fault: string | null) => void,
  failed: (reason: string) => void,
): Link {
  let delayMs = 0;
  /** True while a probe is in flight or scheduled. */
  let probing = false;
  let stopped = false;
  let fault: string | null = null;
  let timer: NodeJS.Timeout | undefined;

  function scheduleProbe(ms: number): void {
    probing = true;
    clearTimeout(timer);
    timer = setTimeout(() => void probeNow(), ms);
  }

  async function probeNow(): Promise<void> {
    const { state, text } = await probe();
    if (stopped) return;
    if (state === 'available') setState(true, null);
    else if (state === 'refused') refused(text);
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

  /** Probes immediately the first time; the delay grows while every successful probe is followed by another failure. */
  function verify(): void {
    if (stopped || probing) return;
    setState(false, null);
    scheduleProbe(delayMs);
    nextDelay();
  }

  function refused(text: string): void {
    if (stopped) return;
    setState(false, text);
    failed(text);
    scheduleProbe(timing.refusedMs);
  }

  return {
    start: () => scheduleProbe(0),
    verify,
    refused,
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
