import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import type { StatusName } from '../../src/core/message-state.ts';
import { BulkOut, MessageServerOut, SendOut } from '../../src/messages/send-schema.ts';
import { StatusRecord } from '../../src/messages/status.ts';
import { until } from './until.ts';

export type Answer = { readonly status: number; readonly headers: Headers; readonly body: unknown };

export type RequestOptions = {
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  /** Raw bytes to send instead of `body`. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The API as a client of one account uses it, over a real socket. */
export type Client = {
  /** Sends any request, with the account's key unless `headers` have other credentials; resolves with any response. */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** Sends a message in the form of the specification (`phoneNumber`, `message`). */
  send(body: object): Promise<Static<typeof SendOut>>;
  /** Sends a message in the message server's own form (`destination`, `sender`, `body`). */
  sendAsMessageServer(body: object): Promise<Static<typeof MessageServerOut>>;
  bulk(body: object): Promise<Static<typeof BulkOut>>;
  /** Reads the status of a message by our id or the client's. */
  status(id: string): Promise<StatusRecord>;
  /** Reads the statuses of messages by our ids, in the same order. */
  statuses(ids: readonly string[]): Promise<StatusRecord[]>;
  untilStatus(id: string, status: StatusName, deadlineMs?: number): Promise<StatusRecord>;
  /** Waits until all these messages have this status. */
  untilAll(ids: readonly string[], status: StatusName, deadlineMs?: number): Promise<void>;
};

export const SEND = '/api/message-server/sms/send';
export const BULK = '/services/sms/send';
export const STATUS = '/api/partner-gateway/v1/messages/status';

function bodyOf({ body, bytes }: RequestOptions): string | Uint8Array<ArrayBuffer> | null {
  if (bytes !== undefined) return bytes;
  if (body === undefined) return null;
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** The number of ids that one request for statuses may have. */
const IDS_PER_REQUEST = 1000;

/** Creates a client. `origin` is called for each request: a program that was restarted listens on another port. */
export function createClient(origin: () => string, apiKey: string): Client {
  async function request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const body = bodyOf(options);
    const type = body === null ? {} : { 'content-type': 'application/json' };
    // A live view would follow for a client that takes anything.
    const headers = { 'x-api-key': apiKey, accept: 'application/json', ...type, ...options.headers };
    const response = await fetch(`${origin()}${path}`, { method, headers, body });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  /** Returns the body of a 200 response in the documented form; throws on any other. */
  async function expectOk<T extends TSchema>(form: T, answering: Promise<Answer>): Promise<Static<T>> {
    const { status, body } = await answering;
    if (status !== 200) throw new Error(`returned ${status}: ${JSON.stringify(body)}`);
    Value.Assert(form, body);
    return body;
  }

  const status = (id: string) => expectOk(StatusRecord, request('GET', `${STATUS}/${encodeURIComponent(id)}`));

  async function statuses(ids: readonly string[]): Promise<StatusRecord[]> {
    const found = new Map<string, StatusRecord>();
    for (let i = 0; i < ids.length; i += IDS_PER_REQUEST) {
      const { body } = await request('GET', `${STATUS}?ids=${ids.slice(i, i + IDS_PER_REQUEST).join(',')}`);
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
