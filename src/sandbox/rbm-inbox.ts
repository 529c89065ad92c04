import { setTimeout as sleep } from 'node:timers/promises';
import { getMember, getText, parseJson } from '../channels/settings.ts';
import { isUuid, newId } from '../core/ids.ts';
import { createTokenBucket, type TokenBucket } from '../core/limits.ts';
import type { SandboxAnswer } from './http-server.ts';
import { faultOfBatch, faultOfFile, faultOfMessage, type Messages, type Taken, ttlMsOf } from './rbm-messages.ts';
import {
  type Callbacks,
  type ErrorName,
  type Fault,
  FEATURES,
  faultOf,
  featuresOf,
  invalid,
  type LedgerWriter,
  type Outcome,
  ok,
  outcomeFor,
  type RbmScript,
  refuse,
  uploadsOf,
} from './rbm-script.ts';
import { createRecentMap } from './smsc-ledger.ts';
import type { Random } from './smsc-script.ts';

type MessageRequest = {
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

type InboxOptions = {
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
    const entry = {
      agentId,
      destination: phone,
      messageId,
      message,
      status,
      repeats: 0,
      delivered: false,
      revoked: false,
    };
    return ledger.recordMessage(entry, status, status === 'OK');
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

/** An action of a person on the handset: exactly one of `text`, `tap`, `location`, `file` and `event`. */
export type UserAction = {
  /** E.164 with the plus sign. */
  readonly from: string;
  /** Defaults to the first agent. */
  readonly agentId?: string;
  readonly text?: string;
  /** A tap on a suggestion: its label and its data. */
  readonly tap?: { readonly text: string; readonly postbackData: string };
  readonly location?: { readonly latitude: number; readonly longitude: number };
  /** A file at a given URL, or one that the simulator serves. */
  readonly file?: { readonly mimeType: string; readonly fileName: string } & (
    | { readonly url: string }
    | { readonly bytes: Uint8Array }
  );
  readonly event?: 'IS_TYPING' | 'SUBSCRIBE' | 'UNSUBSCRIBE';
  /** The id of the message; a repeated id simulates a repetition by the network. */
  readonly messageId?: string;
};

/** The people who use the simulated network. */
type People = {
  /** Sends the callback for an action; resolves with true if the client returned 200. */
  act(action: UserAction): Promise<boolean>;
  /** Returns a file that a person sent; null when it is unknown. */
  serve(id: string): SandboxAnswer | null;
};

/** The newest files of people that are kept. */
const MAX_FILES = 500;

/** Creates the people who use the simulated network. */
export function createPeople(options: {
  readonly send: Callbacks['send'];
  readonly firstAgent: string;
  readonly filesUrl: () => string;
}): People {
  const files = createRecentMap<{ bytes: Uint8Array; mimeType: string }>(() => MAX_FILES);

  function locationOf(file: NonNullable<UserAction['file']>): { fileUri: string; fileSizeBytes?: number } {
    if ('url' in file) return { fileUri: file.url };
    const id = newId();
    files.set(id, { bytes: file.bytes, mimeType: file.mimeType });
    return { fileUri: `${options.filesUrl()}/${id}`, fileSizeBytes: file.bytes.length };
  }

  function contentOf({ text, tap, location, file }: UserAction): object {
    if (text !== undefined) return { text };
    if (tap) return { suggestionResponse: { ...tap, type: 'REPLY' } };
    if (location) return { location };
    if (!file) throw new Error('the action has no content');
    const { mimeType, fileName } = file;
    return { userFile: { payload: { mimeType, fileName, ...locationOf(file) } } };
  }

  return {
    act(action) {
      const { from: senderPhoneNumber, agentId = options.firstAgent, event: eventType, messageId = newId() } = action;
      const common = { senderPhoneNumber, agentId, sendTime: new Date().toISOString() };
      const outgoing = eventType
        ? ({ kind: 'event', what: eventType, event: { ...common, eventType, eventId: newId() } } as const)
        : ({ kind: 'inbound', what: 'message', event: { ...common, messageId, ...contentOf(action) } } as const);
      return options.send({ ...outgoing, id: messageId, agentId });
    },
    serve(id) {
      const file = files.get(id);
      return file ? { status: 200, headers: { 'content-type': file.mimeType }, body: Buffer.from(file.bytes) } : null;
    },
  };
}

/**
 * The functions of agents other than sending: reachability, testers and files (RBM API, authorization and
 * capabilities).
 */
export type Agents = {
  /** Returns an agent's id in the form of the options; it may be given with or without `@rbm.goog`. */
  normalizeId(agentId: string): string;
  /** Returns null when the agent belongs to this account and may write to the number. */
  faultOf(agentId: string, phone: string): Fault | null;
  /** Returns null when the agent is within its rate, and counts the message. */
  faultOfRate(agentId: string): Fault | null;
  capabilities(agentId: string, phone: string): SandboxAnswer;
  batch(agentId: string, body: Buffer): SandboxAnswer;
  addTester(agentId: string, phone: string): SandboxAnswer;
  createFile(body: Buffer): SandboxAnswer;
  upload(bytes: Buffer): SandboxAnswer;
  hasFile(name: string): boolean;
};

const FILE_LIFE_MS = 60 * 24 * 3_600_000;
const AGENT_MAX_FILES = 10_000;
const MAX_FILE_BYTES = 100 << 20;
/** The network's limit per agent and day; a simulator rarely runs longer. */
const MAX_TESTERS_PER_AGENT = 20;
const SAMPLE_SIZE = 75;

export function createAgents(known: readonly string[], script: RbmScript, ledger: LedgerWriter): Agents {
  const testers = new Map<string, Set<string>>();
  const files = createRecentMap<number>(() => AGENT_MAX_FILES);
  const rates = new Map<string, TokenBucket>();
  const batches = createTokenBucket(script.batchesPerMinute / 60);
  const reaches = (phone: string): boolean => outcomeFor(script, phone).refuse !== 'NOT_FOUND';

  function faultOfAgent(agentId: string): Fault | null {
    return known.includes(agentId) ? null : faultOf('PERMISSION_DENIED');
  }

  function keepFile(): SandboxAnswer {
    const name = `files/${newId()}`;
    files.set(name, Date.now() + FILE_LIFE_MS);
    return ok({ name });
  }

  return {
    normalizeId: (agentId) => known.find((each) => bare(each) === bare(agentId)) ?? agentId,
    faultOf(agentId, phone) {
      const fault = faultOfAgent(agentId);
      if (fault || !script.unlaunched.includes(agentId) || testers.get(agentId)?.has(phone)) return fault;
      return faultOf('PERMISSION_DENIED', 'The agent is not launched, and the user is not one of its testers.');
    },
    faultOfRate(agentId) {
      if (script.tps === 0) return null;
      const bucket = rates.get(agentId) ?? createTokenBucket(script.tps);
      rates.set(agentId, bucket);
      if (bucket.perSecond() !== script.tps) bucket.setRate(script.tps);
      if (!bucket.ready()) return faultOf('RESOURCE_EXHAUSTED');
      bucket.take(1);
      return null;
    },
    capabilities(agentId, phone) {
      ledger.count('capabilityChecks');
      const fault = this.faultOf(agentId, phone);
      if (fault) return refuse(fault);
      return reaches(phone)
        ? ok({ features: outcomeFor(script, phone).features ?? FEATURES })
        : refuse(faultOf('NOT_FOUND'));
    },
    batch(agentId, body) {
      ledger.count('batchChecks');
      const json = parseJson(body.toString());
      const fault =
        faultOfBatch(json, script.batchMinimum) ?? faultOfAgent(this.normalizeId(getText(json, 'agentId') || agentId));
      if (fault) return refuse(fault);
      if (!batches.ready()) return refuse(faultOf('RESOURCE_EXHAUSTED'));
      batches.take(1);
      return ok(reachabilityOf(json, reaches));
    },
    addTester(agentId, phone) {
      const fault = faultOfAgent(agentId);
      if (fault) return refuse(fault);
      const all = testers.get(agentId) ?? new Set();
      if (all.size >= MAX_TESTERS_PER_AGENT) return refuse(faultOf('RESOURCE_EXHAUSTED'));
      testers.set(agentId, all.add(phone));
      return ok({ name: `phones/${phone}/testers`, inviteStatus: 'ACCEPTED' });
    },
    createFile(body) {
      const fault = faultOfFile(parseJson(body.toString()));
      return fault ? refuse(fault) : keepFile();
    },
    upload: (bytes) => (bytes.length > 0 && bytes.length <= MAX_FILE_BYTES ? keepFile() : refuse(invalid('No media'))),
    hasFile: (name) => (files.get(name) ?? 0) > Date.now(),
  };
}

const bare = (agentId: string): string => agentId.replace(/@rbm\.goog$/, '');

function reachabilityOf(json: unknown, reaches: (phone: string) => boolean): object {
  const users = getMember(json, 'users');
  const numbers: string[] = Array.isArray(users) ? [...new Set(users)] : [];
  const reachableUsers = numbers.filter(reaches);
  const share = numbers.length === 0 ? 0 : reachableUsers.length / numbers.length;
  return {
    reachableUsers,
    totalRandomSampleUserCount: SAMPLE_SIZE,
    reachableRandomSampleUserCount: Math.round(SAMPLE_SIZE * share),
  };
}
