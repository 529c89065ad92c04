import type { LookupFunction } from 'node:net';
import type { Carrier, CarrierHost, CarrierState, Submission } from '../carrier.ts';
import { createHttpClient } from '../http/client.ts';
import { createGate } from '../http/gate.ts';
import { createLink } from '../http/link.ts';
import type { Outcome } from '../outcome.ts';
import { createThrottle } from '../throttle.ts';
import { createHider } from './hide-secrets.ts';
import { probeCarrier } from './probe.ts';
import { compileRequests } from './request.ts';
import { type HttpSmsSecrets, type HttpSmsSettings, resolveSettings } from './settings.ts';
import { sendMessage, type Timing } from './submit.ts';
import { sharedValues, valuesOf } from './values.ts';
import { compileJudge, type Verdict } from './verdict.ts';

/** Dependencies of an HTTP carrier apart from its settings. */
export type HttpSmsContext = {
  /** The URL that the carrier calls; null if there is none. */
  readonly callbackUrl: string | null;
  /** Resolves host names instead of the system, and only to addresses that the program may connect to. */
  readonly lookup?: LookupFunction;
  /** Returns true if the program may connect to an IP address that the settings give instead of a host name. */
  readonly isAllowed?: (address: string) => boolean;
};

const TIMING: Timing = { laterMs: 5000, resendMs: 1000, refusedMs: 30_000, probeBaseMs: 500, probeMaxMs: 30_000 };

/**
 * Creates a carrier that takes SMS over HTTP, as its settings or their preset describe. Each message is one request
 * with the whole text, which the carrier divides into parts itself. Receipts and inbound messages arrive as callbacks
 * (`callbacks.ts`), not through this carrier. Headers of user data and binary messages cannot be sent.
 *
 * An accepted message has the id in the carrier's response, or else ours. A message without a response has ours, in
 * case the carrier repeats it in receipts. `timing` is for tests.
 */
export function createHttpSmsCarrier(
  settings: HttpSmsSettings,
  secrets: HttpSmsSecrets,
  context: HttpSmsContext,
  timing: Partial<Timing> = {},
): Carrier {
  const resolved = resolveSettings(settings);
  const times = { ...TIMING, refusedMs: settings.faultPauseSeconds * 1000, ...timing };
  const { lookup, isAllowed } = context;
  let host: CarrierHost | null = null;
  const alerted = new Set<string>();
  const changed = (): void => host?.changed();
  const http = createHttpClient({
    connections: resolved.concurrency,
    connectTimeoutMs: resolved.connectTimeoutSeconds * 1000,
    timeoutMs: resolved.submitTimeoutSeconds * 1000,
    ...(lookup && { lookup }),
    ...(isAllowed && { isAllowed }),
  });
  const gate = createGate({ slots: resolved.concurrency, throttlePauseMs: resolved.throttlePauseMs }, changed);
  const throttle = createThrottle(resolved.throttlePauseMs, changed);
  const shared = sharedValues(resolved, secrets, context.callbackUrl);
  const requests = compileRequests(resolved, secrets);
  const failed = (reason: string): void => host?.failed(reason);
  const link = createLink(() => probeCarrier(http, requests.probe(shared), resolved), times, updateState, failed);

  function updateState(open: boolean, fault: string | null): void {
    gate.setOpen(open);
    if (fault !== null) host?.log('error', 'The credentials were refused', { reason: fault });
    // The room was 0 already, but the fault must become visible.
    changed();
  }

  function onVerdict(verdict: Verdict): void {
    if (verdict.act === 'accepted') {
      link.messageAccepted();
      alerted.clear();
    } else if (verdict.act === 'fault') link.refused(`${verdict.code} ${verdict.text}`);
    else if (verdict.act === 'unknown' || verdict.act === 'not-written') verifyLink(verdict.text);
    else if (verdict.act === 'refused' && verdict.elsewhere && !alerted.has(verdict.code)) {
      alerted.add(verdict.code);
      host?.log('error', 'The carrier refuses our messages', { code: verdict.code, text: verdict.text });
    }
  }

  function verifyLink(reason: string): void {
    if (gate.isOpen()) {
      host?.log('warn', 'The carrier did not answer', { reason });
      failed(reason);
    }
    link.verify();
  }

  const { idempotent, username } = resolved.request;
  const { resends, account } = resolved;
  const hide = createHider(secrets, { account, username });
  const deps = {
    http,
    gate,
    throttle,
    judge: compileJudge(resolved.answer, hide),
    idempotent,
    resends,
    timing: times,
    onVerdict,
  };

  function submit(submission: Submission): Promise<Outcome> {
    if (submission.udh || submission.binary || submission.content) return Promise.resolve(NOT_A_TEXT);
    return gate.pass(submission, (next) => {
      const request = requests.send(valuesOf(shared, resolved.request, next, Date.now()));
      return request === null ? Promise.resolve(BAD_HEADER) : sendMessage(deps, next, request);
    });
  }

  function state(): CarrierState {
    const up = gate.isOpen();
    return {
      up,
      bindsUp: up ? 1 : 0,
      bindsWanted: 1,
      allLinksUp: up,
      inFlight: gate.inFlight(),
      fault: link.fault(),
    };
  }

  return {
    channels: ['SMS'],
    start(newHost) {
      host = newHost;
      link.start();
    },
    room: () => (throttle.pauseMs() > 0 ? 0 : gate.room()),
    paceOf: () => throttle,
    submit,
    state,
    async stop(deadlineMs) {
      link.stop();
      await gate.drain(deadlineMs);
      throttle.stop();
      await http.close();
    },
  };
}

const notSendable = (text: string): Outcome => ({
  kind: 'refused',
  status: 'REJECTED',
  elsewhere: true,
  code: 'NOT_SENDABLE',
  text,
  carrierIds: [],
});

const NOT_A_TEXT = notSendable('This carrier takes texts only');
const BAD_HEADER = notSendable('The message has characters that no header of the request can have');
