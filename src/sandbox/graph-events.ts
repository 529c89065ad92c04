import { randomBytes } from 'node:crypto';
import { signatureOf } from '../channels/whatsapp/client.ts';
import {
  type Answer,
  DELIVERED,
  type EventEntry,
  type Fault,
  faultAnswer,
  type GraphScript,
  type LedgerWriter,
  type Outcome,
  ok,
  outcomeFor,
  type StatusStep,
  titleOf,
  unknownObject,
} from './graph-script.ts';
import { createPoster, type SandboxRequest } from './http-server.ts';
import { createTimeline, type Random } from './smsc-script.ts';

/** An event to report to the client: one item of a list in `value`, or the complete value of another field. */
type Event = {
  readonly entry: EventEntry | null;
  /** Called once; `acked` is true if the client returned 200. */
  readonly done?: (acked: boolean) => void;
} & (
  | {
      readonly list: 'statuses' | 'messages';
      readonly phoneNumberId: string;
      readonly item: object;
      /** The sender of the message, or the recipient of the status. */
      readonly contact: object | null;
    }
  | { readonly field: string; readonly value: object }
);

/** The signed callbacks of the simulator. */
export type Events = {
  /** Sends an event with the next callback. */
  publish(event: Event): void;
  /** Sets the callback URL; null loses all events. */
  setUrl(url: string | null): void;
  /** Returns the number of events that are not delivered yet. */
  waiting(): number;
  /** Resolves when every callback was acknowledged or given up. */
  idle(): Promise<void>;
  stop(): Promise<void>;
};

type EventsOptions = {
  readonly script: GraphScript;
  readonly ledger: LedgerWriter;
  readonly wabaId: string;
  readonly appSecret: string;
  /** Returns the displayed form of a number by its id. */
  readonly displayNumber: (phoneNumberId: string) => string;
};

/**
 * Creates the callbacks: events of the same tick share a signed request, at most `batch` in each. Without a callback
 * URL they are lost.
 */
export function createEvents({ script, ledger, wabaId, appSecret, displayNumber }: EventsOptions): Events {
  const poster = createPoster(script);
  let url: string | null = null;
  let gathered: Event[] = [];
  let pending = 0;

  function publish(event: Event): void {
    if (url === null) return end([event], NOT_SENT);
    pending += 1;
    gathered.push(event);
    if (gathered.length >= script.batch) flush();
    else if (gathered.length === 1) queueMicrotask(flush);
  }

  function flush(): void {
    const events = gathered;
    gathered = [];
    if (events.length > 0) post(events);
  }

  function post(events: readonly Event[]): void {
    const body = JSON.stringify({
      object: 'whatsapp_business_account',
      entry: [{ id: wabaId, changes: changesOf(events, displayNumber) }],
    });
    const headers = { 'x-hub-signature-256': signatureOf(body, appSecret), 'user-agent': 'facebookexternalua' };
    const queued = poster.push({ url: url ?? '', headers, body }, ({ tries, acked }) => {
      ledger.count('callbacks', tries);
      if (acked) ledger.count('callbacksAcked');
      pending -= events.length;
      end(events, { acked, tries });
    });
    if (queued) return;
    pending -= events.length;
    end(events, NOT_SENT);
  }

  function end(events: readonly Event[], result: typeof NOT_SENT): void {
    for (const { entry, done } of events) {
      ledger.recordResult(entry, result);
      done?.(result.acked);
    }
  }

  return {
    publish,
    setUrl(newUrl) {
      url = newUrl;
    },
    waiting: () => pending,
    async idle() {
      flush();
      await poster.idle();
    },
    stop: poster.stop,
  };
}

const NOT_SENT: { readonly acked: boolean; readonly tries: number } = { acked: false, tries: 0 };

type Item = Extract<Event, { list: string }>;

/** Consecutive items of the same list and number share a change, as at the real network. */
function changesOf(events: readonly Event[], displayNumber: (phoneNumberId: string) => string): object[] {
  const changes: object[] = [];
  let run: Item[] = [];
  const close = (): void => {
    const [first] = run;
    if (first) changes.push({ field: 'messages', value: valueOf(first, run, displayNumber(first.phoneNumberId)) });
    run = [];
  };
  for (const event of events) {
    if ('field' in event) {
      close();
      changes.push({ field: event.field, value: event.value });
      continue;
    }
    const [first] = run;
    if (first && (first.list !== event.list || first.phoneNumberId !== event.phoneNumberId)) close();
    run.push(event);
  }
  close();
  return changes;
}

function valueOf({ list, phoneNumberId }: Item, run: readonly Item[], displayNumber: string): object {
  const contacts = run.flatMap(({ contact }) => contact ?? []);
  return {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: displayNumber, phone_number_id: phoneNumberId },
    ...(contacts.length > 0 ? { contacts } : {}),
    [list]: run.map(({ item }) => item),
  };
}

/** An accepted message whose statuses are to follow. */
export type Taken = {
  readonly id: string;
  readonly phoneNumberId: string;
  /** A number in digits, or a user id. */
  readonly to: string;
  readonly opaque: string | null;
  readonly category: string;
  /** True if the message is free-form and outside the window, which only a status reports. */
  readonly outOfWindow: boolean;
};

/** The schedule of statuses. */
export type StatusPlanner = {
  /** Schedules the statuses of a message. */
  plan(message: Taken): void;
  /** Returns the number of statuses that are not due yet. */
  scheduled(): number;
  stop(): void;
};

type StatusDeps = {
  readonly script: GraphScript;
  readonly ledger: LedgerWriter;
  readonly random: Random;
  readonly events: Events;
};

type Due = { readonly message: Taken; readonly step: StatusStep };

const RE_ENGAGEMENT: readonly StatusStep[] = [{ status: 'failed', code: 131047, afterMs: 500 }];

/** Creates the schedule that sends the statuses of messages as the script defines. */
export function createStatusPlanner({ script, ledger, random, events }: StatusDeps): StatusPlanner {
  const timeline = createTimeline<Due>(send);

  function plan(message: Taken): void {
    const outcome = outcomeFor(script, message.to);
    const [first, ...later] = stepsOf(outcome, message);
    if (first && outcome.early) send({ message, step: first });
    else if (first) schedule(message, first, outcome);
    for (const step of later) schedule(message, step, outcome);
  }

  function schedule(message: Taken, step: StatusStep, outcome: Outcome): void {
    if (random.chance(script.missingStatusShare)) return;
    const lateMs = random.chance(script.reorderStatusShare) ? script.reorderMs : 0;
    const times = outcome.doubled || random.chance(script.doubleStatusShare) ? 2 : 1;
    for (let n = 0; n < times; n++) timeline.after(step.afterMs + lateMs + n * script.reorderMs, { message, step });
  }

  function send({ message, step }: Due): void {
    const { id, phoneNumberId } = message;
    const bsuid = script.payload === 'bsuid';
    events.publish({
      entry: ledger.recordEvent({ kind: 'status', id, what: step.status }),
      list: 'statuses',
      phoneNumberId,
      item: statusItem(message, step, script.payload),
      contact: bsuid && step.status !== 'failed' ? { user_id: userIdOf(message.to) } : null,
    });
  }

  return { plan, scheduled: timeline.size, stop: timeline.stop };
}

function stepsOf(outcome: Outcome, message: Taken): readonly StatusStep[] {
  return message.outOfWindow ? RE_ENGAGEMENT : (outcome.steps ?? DELIVERED);
}

/** Returns a person's user id, always the same one for a number. */
export const userIdOf = (to: string): string => (/^\d/.test(to) ? `PT.1${to}` : to);

function statusItem(message: Taken, step: StatusStep, payload: GraphScript['payload']): object {
  const { id, to, opaque } = message;
  return {
    id,
    status: step.status,
    timestamp: String(Math.floor(Date.now() / 1000)),
    ...(payload === 'bsuid' ? { recipient_user_id: userIdOf(to) } : { recipient_id: to }),
    ...(opaque === null ? {} : { biz_opaque_callback_data: opaque }),
    ...(step.status === 'failed' ? { errors: [errorOf(step.code ?? 131000)] } : detailsOf(message, step, payload)),
  };
}

function errorOf(code: number): object {
  const title = titleOf(code);
  return {
    code,
    title,
    message: title,
    error_data: { details: `The simulator failed this message with ${code}.` },
    href: 'https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/',
  };
}

/** The pricing is part of `sent` only, with the conversation in old versions. */
function detailsOf({ id, category }: Taken, { status }: StatusStep, payload: GraphScript['payload']): object {
  if (status !== 'sent') return {};
  const pricing = { billable: category !== 'service', pricing_model: 'PMP', type: 'regular', category };
  if (payload !== 'conversation') return { pricing };
  const expires = String(Math.floor(Date.now() / 1000) + 86_400);
  return { conversation: { id, expiration_timestamp: expires, origin: { type: category } }, pricing };
}

/**
 * The uploads of sample files for template headers: announced first, then sent (Cloud API, message templates).
 */
export type Samples = {
  /** Handles the announcement of a file. */
  begin(query: URLSearchParams): Answer;
  /** Handles the upload of a file, or a GET for its progress. */
  put(id: string, request: SandboxRequest): Answer;
  /** Returns true if this handle was issued here. */
  has(handle: string): boolean;
};

const TYPES = ['image/jpeg', 'image/png', 'video/mp4', 'application/pdf'];
const MAX_FILE_BYTES = 100 * 1024 * 1024;
/** Maximum uploads and handles; beyond it the oldest are dropped. */
const MAX_SAMPLES = 1000;

/** Creates the endpoint for sample files. */
export function createSamples(): Samples {
  /** The announced length of each upload that has not arrived. */
  const expected = new Map<string, number>();
  const handles = new Set<string>();

  function begin(query: URLSearchParams): Answer {
    const fault = beginFault(query);
    if (fault) return faultAnswer(fault);
    const id = `upload:${randomBytes(16).toString('hex')}`;
    expected.set(id, Number(query.get('file_length')));
    dropOldest(expected);
    return ok({ id });
  }

  function put(id: string, { method, headers, body }: SandboxRequest): Answer {
    const length = expected.get(id);
    if (length === undefined) return unknownObject(id);
    if (method === 'GET') return ok({ id, file_offset: 0 });
    if (!headers.authorization?.startsWith('OAuth '))
      return faultAnswer({ code: 190, details: 'Authorization must have the scheme OAuth' });
    if (headers['file_offset'] !== '0') return faultAnswer({ code: 100, details: 'file_offset must be 0' });
    if (body.length !== length) return faultAnswer({ code: 100, details: `file_length: expected ${length} bytes` });
    expected.delete(id);
    const h = `4::${randomBytes(24).toString('base64url')}`;
    handles.add(h);
    dropOldest(handles);
    return ok({ h });
  }

  return { begin, put, has: (handle) => handles.has(handle) };
}

function beginFault(query: URLSearchParams): Fault | null {
  const length = Number(query.get('file_length'));
  if (!Number.isInteger(length) || length < 1 || length > MAX_FILE_BYTES) return { code: 100, details: 'file_length' };
  if (!query.get('file_name')) return { code: 100, details: 'file_name' };
  const type = query.get('file_type') ?? '';
  return TYPES.includes(type) ? null : { code: 100, details: `file_type: ${type} is not supported` };
}

function dropOldest(kept: Map<string, number> | Set<string>): void {
  const [oldest] = kept.keys();
  if (kept.size > MAX_SAMPLES && oldest !== undefined) kept.delete(oldest);
}
