import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { BulkOut, MessageServerOut, SendOut } from '../../src/messaging/sending/schema.ts';
import type { StatusName } from '../../src/messaging/states.ts';
import { StatusRecord } from '../../src/messaging/tracking/schema.ts';
import { until } from './until.ts';

export type Answer = { readonly status: number; readonly headers: Headers; readonly body: unknown };

export type RequestOptions = {
  /** A text goes out as it is, anything else as JSON. */
  readonly body?: unknown;
  /** In place of `body`: not even text. */
  readonly octets?: Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The interface as a client of one account uses it, over a real socket. */
export type Client = {
  /** Any request, with the account's key unless `headers` say otherwise; any answer. */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** The specification's body (`phoneNumber`, `message`). */
  send(body: object): Promise<Static<typeof SendOut>>;
  /** The message server's own body (`destination`, `sender`, `body`). */
  sendAsMessageServer(body: object): Promise<Static<typeof MessageServerOut>>;
  bulk(body: object): Promise<Static<typeof BulkOut>>;
  /** By our id or the client's. */
  status(id: string): Promise<StatusRecord>;
  /** The statuses of messages by our ids, in that order. */
  statuses(ids: readonly string[]): Promise<StatusRecord[]>;
  untilStatus(id: string, status: StatusName, deadlineMs?: number): Promise<StatusRecord>;
  /** Waits until all these messages have one status. */
  untilAll(ids: readonly string[], status: StatusName, deadlineMs?: number): Promise<void>;
};

export const SEND = '/api/message-server/sms/send';
export const BULK = '/services/sms/send';
export const STATUS = '/api/partner-gateway/v1/messages/status';

function bodyOf({ body, octets }: RequestOptions): string | Uint8Array<ArrayBuffer> | null {
  if (octets !== undefined) return octets;
  if (body === undefined) return null;
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** Statuses by id are asked for in lists of this many: what one request may name. */
const IDS_A_REQUEST = 1000;

/** `origin` is asked at each request: a program that was started again listens elsewhere. */
export function createClient(origin: () => string, apiKey: string): Client {
  async function request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const body = bodyOf(options);
    const type = body === null ? {} : { 'content-type': 'application/json' };
    const headers = { 'x-api-key': apiKey, ...type, ...options.headers };
    const response = await fetch(`${origin()}${path}`, { method, headers, body });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  /** An answer of 200 in the form that the interface promises; anything else is thrown. */
  async function expectOk<T extends TSchema>(form: T, answering: Promise<Answer>): Promise<Static<T>> {
    const { status, body } = await answering;
    if (status !== 200) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
    Value.Assert(form, body);
    return body;
  }

  const status = (id: string) => expectOk(StatusRecord, request('GET', `${STATUS}/${encodeURIComponent(id)}`));

  async function statuses(ids: readonly string[]): Promise<StatusRecord[]> {
    const found = new Map<string, StatusRecord>();
    for (let i = 0; i < ids.length; i += IDS_A_REQUEST) {
      const { body } = await request('GET', `${STATUS}?ids=${ids.slice(i, i + IDS_A_REQUEST).join(',')}`);
      if (!Array.isArray(body)) throw new Error(`expected a list: ${JSON.stringify(body)}`);
      for (const record of body) {
        Value.Assert(StatusRecord, record);
        found.set(record.messageId, record);
      }
    }
    return ids.flatMap((id) => found.get(id) ?? []);
  }

  return {
    request,
    send: (body) => expectOk(SendOut, request('POST', SEND, { body })),
    sendAsMessageServer: (body) => expectOk(MessageServerOut, request('POST', SEND, { body })),
    bulk: (body) => expectOk(BulkOut, request('POST', BULK, { body })),
    status,
    statuses,
    untilStatus: (id, wanted, deadlineMs) =>
      until(
        `${wanted} of ${id}`,
        async () => {
          const record = await status(id);
          return record.deliveryStatus === wanted && record;
        },
        deadlineMs,
      ),
    async untilAll(ids, wanted, deadlineMs) {
      let open = ids;
      await until(
        `${wanted} of ${ids.length} messages`,
        async () => {
          const records = await statuses(open);
          open = records.filter((record) => record.deliveryStatus !== wanted).map((record) => record.messageId);
          return open.length === 0;
        },
        deadlineMs,
      );
    },
  };
}
