import { signatureOf } from '../../carriers/whatsapp/signature.ts';
import { createPoster } from '../http/poster.ts';
import type { EventEntry, LedgerWriter } from './ledger.ts';
import type { GraphScript } from './script.ts';

/** An event to report to the client: one item of a list in `value`, or the complete value of another field. */
export type Event = {
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

/** Options of the callbacks. */
export type EventsOptions = {
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
