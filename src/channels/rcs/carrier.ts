import { randomUUID } from 'node:crypto';
import { newId } from '../../core/ids.ts';
import { createGrowingCache, createSlots } from '../../core/limits.ts';
import type { Carrier, CarrierHost, CarrierState, Outcome, SignToPerson, Submission } from '../carrier.ts';
import { createGate, type HttpAnswer } from '../http-client.ts';
import { getList, parseJson } from '../settings.ts';
import { createThrottles } from '../throttle.ts';
import {
  capabilitiesPath,
  createConnections,
  createRbmClient,
  createTokenSource,
  eventOf,
  eventsPath,
  messagePath,
  type RbmClient,
  type Verdict,
} from './client.ts';
import type { RcsSecrets, RcsSettings } from './settings.ts';
import { sendMessage } from './submit.ts';

/** Attempts to revoke a message when no response comes. */
const MAX_REVOKE_TRIES = 3;

/**
 * Creates a carrier that is reached over the Google RBM API
 * (developers.google.com/business-communications/rcs-business-messaging). A submission's sender is the agent, and its
 * own message id is also the network's id. Receipts arrive as callbacks. Throws an Error that names the field if the
 * private key cannot be read.
 */
export function createRcsCarrier(settings: RcsSettings, secrets: RcsSecrets): Carrier {
  let host: CarrierHost | null = null;
  let tokenFault: string | null = null;
  let faultTimer: NodeJS.Timeout | undefined;
  const alerted = new Set<string>();

  const http = createConnections(settings);
  const gate = createGate({ slots: settings.concurrency, throttlePauseMs: settings.throttlePauseMs }, () =>
    host?.changed(),
  );
  const throttles = createThrottles(settings.throttlePauseMs, () => host?.changed());
  const tokens = createTokenSource({
    account: secrets,
    http,
    changed: updateState,
    retryMs: settings.throttlePauseMs,
    faultPauseMs: settings.faultPauseSeconds * 1000,
  });
  const client = createRbmClient(settings, http, tokens);
  const reachability = createReachability(settings, client);

  function updateState(): void {
    const token = tokens.state();
    gate.setOpen(token.kind === 'valid' && tokenFault === null);
    if (token.kind === 'refused') host?.log('error', 'The service account was refused', { reason: token.reason });
    const reason = token.kind === 'valid' ? tokenFault : token.reason;
    if (reason !== null) host?.failed(reason);
    // The room was 0 already, but the fault must become visible.
    if (token.kind !== 'valid') host?.changed();
  }

  /** Handles rejected fresh tokens: pauses, and then tries again with one message. */
  function pauseWithFault(text: string): void {
    tokenFault = `The API does not accept the access token: ${text}`;
    clearTimeout(faultTimer);
    faultTimer = setTimeout(() => {
      tokenFault = null;
      updateState();
    }, settings.faultPauseSeconds * 1000);
    host?.log('error', tokenFault);
    updateState();
  }

  function handleVerdict({ sender, destination }: Submission, verdict: Verdict): void {
    if (verdict.act === 'token' && !gate.stopping.aborted) pauseWithFault(verdict.text);
    if (verdict.act === 'accepted') alerted.delete(sender);
    if (verdict.act !== 'refuse') return;
    if (verdict.code === 'NOT_FOUND') reachability.learn(sender, destination, false);
    if (!verdict.account || alerted.has(sender)) return;
    alerted.add(sender);
    host?.log('error', 'The network refuses this agent', { agentId: sender, code: verdict.code, text: verdict.text });
  }

  function start(newHost: CarrierHost): void {
    host = newHost;
    tokens.start();
  }

  function submit(submission: Submission): Promise<Outcome> {
    if (submission.content && submission.content.channel !== 'RCS') return Promise.resolve(NOT_RCS);
    return gate.pass(submission, (next) =>
      sendMessage({ settings, client, gate, throttles, onVerdict: handleVerdict }, next),
    );
  }

  /**
   * Resolves with true if the message was revoked. 404 means that it was delivered or is unknown, so it may be shown.
   * After an attempt that may have reached the network, 404 is inconclusive: a revoked message is unknown too.
   */
  async function show(sign: SignToPerson): Promise<boolean | null> {
    const answer = await client.call({ method: 'POST', path: eventsPath(sign, randomUUID()), body: eventOf(sign) });
    if (answer.kind === 'failed' || answer.status >= 500 || answer.status === 429) return null;
    return answer.status === 200;
  }

  async function revoke(message: Pick<Submission, 'messageId' | 'sender' | 'destination'>): Promise<boolean | null> {
    for (let tries = 0, doubtful = false; tries < MAX_REVOKE_TRIES; tries += 1) {
      const answer = await client.call({ method: 'DELETE', path: messagePath(message) });
      const revoked = answer.kind === 'answered' ? revokeResult(answer.status) : null;
      if (revoked !== null) return revoked || !doubtful ? revoked : null;
      if (answer.kind === 'answered' && answer.status < 500) return null;
      doubtful ||= answer.kind === 'answered' || answer.written;
    }
    return null;
  }

  function state(): CarrierState {
    const token = tokens.state();
    const up = gate.isOpen();
    const fault = token.kind === 'refused' ? `The service account was refused: ${token.reason}` : tokenFault;
    return { up, bindsUp: up ? 1 : 0, bindsWanted: 1, allLinksUp: up, inFlight: gate.inFlight(), fault };
  }

  async function stop(deadlineMs: number): Promise<void> {
    await gate.drain(deadlineMs);
    clearTimeout(faultTimer);
    tokens.stop();
    throttles.stop();
    await http.close();
  }

  return {
    channels: ['RCS'],
    start,
    room: () => (throttles.allPaused() ? 0 : gate.room()),
    paceOf: throttles.of,
    submit,
    state,
    stop,
    revoke,
    show,
    findReachable: reachability.find,
  };
}

/** Statuses that reveal nothing about the message: no token, too slow, too many requests. */
const INCONCLUSIVE_STATUSES: readonly number[] = [401, 408, 429];

const revokeResult = (status: number): boolean | null =>
  status >= 500 || INCONCLUSIVE_STATUSES.includes(status) ? null : status === 200;

const NOT_RCS: Outcome = {
  kind: 'refused',
  status: 'ERROR',
  code: 'CONTENT',
  text: 'The content does not belong to this channel',
  carrierIds: [],
};

/** Reachability of numbers in the network; see `createReachability`. */
type Reachability = {
  /** Implements `Carrier.findReachable`. */
  find(sender: string, destinations: readonly string[]): Promise<ReadonlyMap<string, boolean>>;
  /** Stores the reachability of a number that the network reveals in another response. */
  learn(sender: string, destination: string, reachable: boolean): void;
};

type CheckedNumber = [user: string, reachable: boolean];

/** Maximum numbers per request. */
const MAX_BATCH_SIZE = 10_000;
/** Maximum numbers that are remembered; about 200 bytes each. */
const MAX_REMEMBERED = 200_000;

/**
 * Creates the check of which numbers the network reaches for an agent (RBM API, capabilities). Results are kept for as
 * long as the settings state. Many numbers are checked in batches, few of them one by one; those for which the check
 * failed are omitted.
 */
function createReachability(settings: RcsSettings, client: RbmClient): Reachability {
  const known = createGrowingCache<boolean>(MAX_REMEMBERED);
  const slots = createSlots(settings.capabilityConcurrency);
  const keyOf = (sender: string, destination: string): string => `${sender} ${destination}`;

  function learn(sender: string, destination: string, reachable: boolean): void {
    const seconds = reachable ? settings.reachableCacheSeconds : settings.unreachableCacheSeconds;
    known.set(keyOf(sender, destination), reachable, { ttl: seconds * 1000 });
  }

  async function checkBatch(sender: string, users: readonly string[]): Promise<CheckedNumber[]> {
    const body = JSON.stringify({ users, agentId: sender });
    const answer = await slots.run(() => client.call({ method: 'POST', path: '/users:batchGet', body }));
    if (answer.kind === 'failed' || answer.status !== 200) return [];
    const json = parseJson(answer.body.toString());
    if (json === undefined) return [];
    const reachable = new Set(getList(json, 'reachableUsers'));
    return users.map((user) => [user, reachable.has(user)]);
  }

  async function checkOne(sender: string, user: string): Promise<CheckedNumber[]> {
    const path = capabilitiesPath(sender, user, newId());
    const reachable = readReachable(await slots.run(() => client.call({ method: 'GET', path })));
    return reachable === null ? [] : [[user, reachable]];
  }

  function checkAll(sender: string, users: readonly string[]): Promise<CheckedNumber[][]> {
    if (users.length < settings.batchMinimum) return Promise.all(users.map((user) => checkOne(sender, user)));
    return Promise.all(inBatches(users).map((batch) => checkBatch(sender, batch)));
  }

  async function find(sender: string, destinations: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const results = new Map<string, boolean>();
    const unknown: string[] = [];
    for (const user of new Set(destinations)) {
      const reachable = known.get(keyOf(sender, user));
      if (reachable === undefined) unknown.push(user);
      else results.set(user, reachable);
    }
    for (const [user, reachable] of (await checkAll(sender, unknown)).flat()) {
      results.set(user, reachable);
      learn(sender, user, reachable);
    }
    return results;
  }

  return { find, learn };
}

/** Reads the reachability of one number; null if the response does not state it. */
function readReachable(answer: HttpAnswer): boolean | null {
  if (answer.kind === 'failed') return null;
  if (answer.status === 200) return true;
  return answer.status === 404 ? false : null;
}

/** Splits numbers into batches of about the same size, so that none is below the network's minimum. */
function inBatches(users: readonly string[]): string[][] {
  const count = Math.ceil(users.length / MAX_BATCH_SIZE);
  const size = Math.ceil(users.length / count);
  return Array.from({ length: count }, (_, index) => users.slice(index * size, (index + 1) * size));
}
