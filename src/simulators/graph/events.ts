import { signatureOf } from '../../carriers/whatsapp/signature.ts';
import { createPoster } from '../http/poster.ts';
import type { EventEntry, LedgerWriter } from './ledger.ts';
import type { GraphScript } from './script.ts';

/** What is told to the client: one item of a list in `value`, or the whole value of another field. */
export type Event = {
  readonly entry: EventEntry | null;
  /** Called once: whether the client has answered 200. */
  readonly done?: (acked: boolean) => void;
} & (
  | {
      readonly list: 'statuses' | 'messages';
      readonly phoneNumberId: string;
      readonly item: object;
      /** Who wrote, or whose message it is. */
      readonly contact: object | null;
    }
  | { readonly field: string; readonly value: object }
);

export type Events = {
  publish(event: Event): void;
  setUrl(url: string | null): void;
  /** Events that are not told yet. */
  waiting(): number;
  /** Resolves when every callback has been acknowledged or given up. */
  idle(): Promise<void>;
  stop(): Promise<void>;
};

export type EventsOptions = {
  readonly script: GraphScript;
  readonly ledger: LedgerWriter;
  readonly wabaId: string;
  readonly appSecret: string;
  /** The number as people see it, by its id. */
  readonly displayNumber: (phoneNumberId: string) => string;
};

/**
 * Tells events by signed callbacks: those of one moment go together, at most `batch` in a request. Without an address
 * they are lost.
 */
export function createEvents({ script, ledger, wabaId, appSecret, displayNumber }: EventsOptions): Events {
  const poster = createPoster(script);
  let url: string | null = null;
  let gathered: Event[] = [];
  let pending = 0;

  function tell(event: Event): void {
    if (url === null) return end([event], false);
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
      for (const { entry } of events) if (entry) entry.tries = tries;
      pending -= events.length;
      end(events, acked);
    });
    if (queued) return;
    pending -= events.length;
    end(events, false);
  }

  function end(events: readonly Event[], acked: boolean): void {
    for (const { entry, done } of events) {
      ledger.recordResult(entry, acked ? 'acked' : 'lost');
      done?.(acked);
    }
  }

  return {
    publish: tell,
    setUrl(to) {
      url = to;
    },
    waiting: () => pending,
    async idle() {
      flush();
      await poster.idle();
    },
    stop: poster.stop,
  };
}

type Item = Extract<Event, { list: string }>;

/** Items of the same list and number that follow each other share a change, as the network does it. */
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
