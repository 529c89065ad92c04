import { setTimeout as sleep } from 'node:timers/promises';
import { isUuid } from '../../platform/lib/ids.ts';
import { getText, parseJson } from '../../carriers/json.ts';
import type { SandboxAnswer } from '../http/server.ts';
import type { Random } from '../smsc/random.ts';
import { createRecentMap } from '../smsc/recent-map.ts';
import type { Agents } from './agents.ts';
import { type ErrorName, type Fault, faultOf, invalid, ok, refuse } from './answer.ts';
import { featuresOf, uploadsOf } from './features.ts';
import type { LedgerWriter } from './ledger.ts';
import type { Messages, Taken } from './messages.ts';
import { FEATURES, type Outcome, outcomeFor, type RbmScript } from './script.ts';
import { faultOfMessage, ttlMsOf } from './validate.ts';

/** A request to create a message. */
export type MessageRequest = {
  readonly agentId: string;
  /** E.164 with the plus sign. */
  readonly phone: string;
  readonly messageId: string;
  readonly body: Buffer;
};

/** The endpoint that accepts messages. */
export type Inbox = {
  /** Accepts or rejects a message (RBM API, authorization, agentMessages and errors). */
  create(request: MessageRequest): Promise<SandboxAnswer>;
};

/** Options of the endpoint. */
export type InboxOptions = {
  readonly script: RbmScript;
  readonly ledger: LedgerWriter;
  readonly random: Random;
  readonly agents: Agents;
  readonly messages: Messages;
};

/** The limit of a complete message as JSON. */
const MAX_MESSAGE_BYTES = 250_000;
/** Maximum number of numbers whose rejections are counted; the newest are kept. */
const MAX_REFUSED_NUMBERS = 100_000;

/** Creates the endpoint that accepts messages. */
export function createInbox({ script, ledger, random, agents, messages }: InboxOptions): Inbox {
  /** Rejections by number: messages rejected because of `refuseTimes` since one was accepted. */
  const refusals = createRecentMap<number>(() => MAX_REFUSED_NUMBERS);

  async function create(request: MessageRequest): Promise<SandboxAnswer> {
    const message = parseJson(request.body.toString());
    const known = messages.find(request.agentId, request.messageId);
    const fault = currentFault(request) ?? (known ? null : faultOfRequest(request, message));
    if (script.answerDelayMs > 0) await sleep(script.answerDelayMs);
    if (!fault) return known ? repeat(known) : take(request, message);
    if (!known) record(request, message, fault.name);
    return refuse(fault);
  }

  /** Returns a fault that has nothing to do with the message. */
  function currentFault({ agentId }: MessageRequest): Fault | null {
    if (script.refuse !== null) return faultOf(script.refuse);
    if (random.chance(script.unavailableShare)) return faultOf('UNAVAILABLE');
    if (random.chance(script.throttleShare)) return faultOf('RESOURCE_EXHAUSTED');
    return agents.faultOfRate(agentId);
  }

  function faultOfRequest({ agentId, phone, messageId, body }: MessageRequest, message: unknown): Fault | null {
    if (!isUuid(messageId)) return invalid('messageId must be a UUID.');
    if (body.length > MAX_MESSAGE_BYTES) return invalid('The message is larger than 250 KB.');
    return (
      agents.faultOf(agentId, phone) ??
      faultOfMessage(message, Date.now()) ??
      faultOfTrafficType(message) ??
      faultOfHandset(phone, message) ??
      faultOfUploads(message)
    );
  }

  function faultOfTrafficType(message: unknown): Fault | null {
    const isMissing = getText(message, 'messageTrafficType') === '';
    return script.requireTrafficType && isMissing ? invalid('The message traffic type must be set.') : null;
  }

  function faultOfHandset(phone: string, message: unknown): Fault | null {
    const { refuse: name, refuseTimes = Number.POSITIVE_INFINITY, features = FEATURES } = outcomeFor(script, phone);
    if (name !== undefined && isStillRefused(phone, refuseTimes)) return faultOf(name);
    const missing = [...featuresOf(message)].find((feature) => !features.includes(feature));
    return missing ? invalid(`The device does not support ${missing}.`) : null;
  }

  function isStillRefused(phone: string, maxRefusals: number): boolean {
    const count = (refusals.get(phone) ?? 0) + 1;
    refusals.set(phone, count > maxRefusals ? 0 : count);
    return count <= maxRefusals;
  }

  function faultOfUploads(message: unknown): Fault | null {
    const missing = uploadsOf(message).find((name) => !agents.hasFile(name));
    return missing === undefined ? null : invalid(`${missing} does not exist.`);
  }

  function record({ agentId, phone, messageId }: MessageRequest, message: unknown, status: ErrorName | 'OK') {
    return ledger.recordMessage({ agentId, destination: phone, messageId, message, status });
  }

  async function take(request: MessageRequest, message: unknown): Promise<SandboxAnswer> {
    const { agentId, phone, messageId } = request;
    const outcome = outcomeFor(script, phone);
    const entry = record(request, message, 'OK');
    await messages.take({ agentId, phone, messageId, entry }, outcome, ttlMsOf(message, Date.now()));
    if (random.chance(script.cutShare)) return 'cut';
    if (random.chance(script.dropAnswerShare)) return 'silent';
    return answer(request, outcome, 1);
  }

  /**
   * Handles a repeated id, which is silently ignored, as on the real network: the response is that of the first
   * request.
   */
  function repeat(known: Taken): SandboxAnswer {
    known.requests += 1;
    ledger.count('repeats');
    if (known.entry) known.entry.repeats += 1;
    return answer(known, outcomeFor(script, known.phone), known.requests);
  }

  function answer(
    { phone, messageId }: Pick<Taken, 'phone' | 'messageId'>,
    { silentTimes = 0 }: Outcome,
    requests: number,
  ): SandboxAnswer {
    if (script.silent || requests <= silentTimes) return 'silent';
    return ok({ name: `phones/${phone}/agentMessages/${messageId}`, sendTime: new Date().toISOString() });
  }

  return { create };
}
