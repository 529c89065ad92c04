import type { Carrier, CarrierHost, CarrierState, Submission } from '../carrier.ts';
import { createGate } from '../http/gate.ts';
import type { Outcome } from '../outcome.ts';
import { createReachability } from './capabilities.ts';
import { createConnections, createRbmClient, messagePath } from './client.ts';
import type { Verdict } from './errors.ts';
import type { RcsSecrets, RcsSettings } from './settings.ts';
import { sendMessage } from './submit.ts';
import { createTokenSource } from './token.ts';

/** Times that a message is asked back when nobody answers. */
const REVOKE_TRIES = 3;

/**
 * A carrier that is reached by the Google RBM API (protocol sheet rcs). A submission's sender is the agent, and its own
 * id is what the network knows it by. Receipts come as callbacks. Throws an Error that names the field when the private
 * key cannot be read.
 */
export function createRcsCarrier(settings: RcsSettings, secrets: RcsSecrets): Carrier {
  let host: CarrierHost | null = null;
  let tokenFault: string | null = null;
  let faultTimer: NodeJS.Timeout | undefined;
  const alerted = new Set<string>();

  const http = createConnections(settings);
  const gate = createGate({ places: settings.concurrency, throttlePauseMs: settings.throttlePauseMs }, () =>
    host?.changed(),
  );
  const tokens = createTokenSource({
    account: secrets,
    http,
    changed: judgeState,
    retryMs: settings.throttlePauseMs,
    faultPauseMs: settings.faultPauseSeconds * 1000,
  });
  const client = createRbmClient(settings, http, tokens);
  const reachability = createReachability(settings, client);

  function judgeState(): void {
    const token = tokens.state();
    gate.setOpen(token.kind === 'valid' && tokenFault === null);
    if (token.kind === 'refused') host?.log('error', 'The service account was refused', { reason: token.reason });
    const reason = token.kind === 'valid' ? tokenFault : token.reason;
    if (reason !== null) host?.failed(reason);
    // A fault changes nothing of the room that was 0 already, but a person waits to see it.
    if (token.kind !== 'valid') host?.changed();
  }

  /** Fresh tokens are not taken: rests, and then tries with one message again. */
  function restWithFault(text: string): void {
    tokenFault = `The API does not take the access token: ${text}`;
    clearTimeout(faultTimer);
    faultTimer = setTimeout(() => {
      tokenFault = null;
      judgeState();
    }, settings.faultPauseSeconds * 1000);
    host?.log('error', tokenFault);
    judgeState();
  }

  function heard({ sender, destination }: Submission, verdict: Verdict): void {
    if (verdict.act === 'token' && !gate.stopping.aborted) restWithFault(verdict.text);
    if (verdict.act === 'accepted') alerted.delete(sender);
    if (verdict.act !== 'refuse') return;
    if (verdict.code === 'NOT_FOUND') reachability.learn(sender, destination, false);
    if (!verdict.account || alerted.has(sender)) return;
    alerted.add(sender);
    host?.log('error', 'The network refuses this agent', { agentId: sender, code: verdict.code, text: verdict.text });
  }

  function start(to: CarrierHost): void {
    host = to;
    tokens.start();
  }

  function submit(submission: Submission): Promise<Outcome> {
    if (submission.content && submission.content.channel !== 'RCS') return Promise.resolve(NOT_RCS);
    return gate.pass(submission, (next) => sendMessage({ settings, client, gate, heard }, next));
  }

  /**
   * Whether it was revoked. 404 says that it was delivered, or is not known: it may be shown then. After a try that the
   * network may have taken it says nothing: what was revoked is not known any more.
   */
  async function revoke(message: Pick<Submission, 'messageId' | 'sender' | 'destination'>): Promise<boolean | null> {
    for (let tries = 0, doubtful = false; tries < REVOKE_TRIES; tries += 1) {
      const answer = await client.call({ method: 'DELETE', path: messagePath(message) });
      const word = answer.kind === 'answered' ? wordOn(answer.status) : null;
      if (word !== null) return word || !doubtful ? word : null;
      if (answer.kind === 'answered' && answer.status < 500) return null;
      doubtful ||= answer.kind === 'answered' || answer.written;
    }
    return null;
  }

  function state(): CarrierState {
    const token = tokens.state();
    const up = gate.isOpen();
    const fault = token.kind === 'refused' ? `The service account was refused: ${token.reason}` : tokenFault;
    return { up, bindsUp: up ? 1 : 0, bindsWanted: 1, whole: up, inFlight: gate.inFlight(), fault };
  }

  async function stop(deadlineMs: number): Promise<void> {
    await gate.drain(deadlineMs);
    clearTimeout(faultTimer);
    tokens.stop();
    await http.close();
  }

  return {
    channels: ['RCS'],
    start,
    room: gate.room,
    submit,
    state,
    stop,
    revoke,
    findReachable: reachability.find,
  };
}

/** What says nothing of the message: no token, too slow, too many requests. */
const NO_WORD: readonly number[] = [401, 408, 429];

const wordOn = (status: number): boolean | null => (status >= 500 || NO_WORD.includes(status) ? null : status === 200);

const NOT_RCS: Outcome = {
  kind: 'refused',
  status: 'ERROR',
  code: 'CONTENT',
  text: 'The content is not of this channel',
  carrierIds: [],
};
