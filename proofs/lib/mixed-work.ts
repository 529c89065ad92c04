import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { insertNumber } from '../../src/messages/inbound-store.ts';
import { type Client, SEND, STATUS } from '../../test/support/client.ts';
import { formOf } from '../../test/support/http/form.ts';
import { mobileOf, sendCampaign } from './campaigns.ts';
import type { CarrierProcess } from './carrier.ts';
import { sendEach } from './messages.ts';
import type { Account, Stage } from './stage.ts';
import type { Work } from './traffic.ts';

/** Price of each message; nothing is refunded. */
export const PRICE = { channel: 'SMS', prefix: '39333', unitMicros: 35_000, refundUndelivered: false } as const;
const CREDIT_MICROS = 1_000_000_000_000;
/** The number at the carrier that belongs to the account. */
const NUMBER = '4400';

/** Creates the account that `mixedWork` is for: with credit, and with a number for inbound messages. */
export async function openBusyAccount({ newAccount, pool }: Stage): Promise<Account> {
  const account = await newAccount({ plan: 'production', creditMicros: CREDIT_MICROS });
  const { rows } = await pool.query<{ id: number }>('SELECT id FROM connection');
  for (const { id } of rows)
    await insertNumber(pool, { connectionId: id, number: NUMBER, accountId: account.accountId });
  return account;
}

/** Amount of each kind of work: the interval in ms, and the number of messages or rows each time. */
export type Pace = {
  readonly single: { readonly everyMs: number };
  readonly bulk: { readonly everyMs: number; readonly size: number };
  readonly campaign: { readonly everyMs: number; readonly size: number };
  readonly scheduled: { readonly everyMs: number };
  readonly inbound: { readonly everyMs: number };
  readonly import: { readonly everyMs: number; readonly size: number };
  readonly export: { readonly everyMs: number };
  readonly read: { readonly everyMs: number };
  readonly faulty: { readonly everyMs: number };
};

/** Accepted work, from the responses to the clients. */
export type Answered = {
  /** The ids of single, bulk and scheduled messages. */
  readonly ids: string[];
  /** The numbers of the recipients of campaigns. */
  readonly recipients: string[];
  /** Number of inbound messages that the gateway has taken. */
  inbound: number;
  readonly exportIds: string[];
};

type Means = {
  /** Client of the account that everything is done for; its plan must allow it. */
  readonly client: Client;
  /** Returns the current origin of the gateway. */
  readonly origin: () => string;
  readonly carrier: CarrierProcess;
  readonly pace: Pace;
};

const PG = '/api/partner-gateway/v1';
const MINUTE_MS = 60_000;
/** Time from scheduling a message to its scheduled time. */
const SCHEDULE_MS = 15_000;
const EXPORT_POLL_MS = 200;
const EXPORT_TIMEOUT_MS = 60_000;

/**
 * Returns what the clients of a busy account do: single and scheduled messages, bulk requests, campaigns, inbound
 * messages, imports,
 * exports, the requests of a user who looks at the console, and faulty requests. Each message goes to a number of its
 * own, and is delivered.
 */
export function mixedWork({ client, origin, carrier, pace }: Means): {
  readonly works: Work[];
  readonly answered: Answered;
} {
  const answered: Answered = { ids: [], recipients: [], inbound: 0, exportIds: [] };
  let [next, reads, faults] = [0, 0, 0];
  const numbers = (count: number): string[] => Array.from({ length: count }, () => mobileOf(next++));

  const works: Work[] = [
    {
      name: 'single',
      ...pace.single,
      async once() {
        const { messageId } = await client.send({ phoneNumber: mobileOf(next++), message: 'Your code is 123456' });
        if (messageId === null) throw new Error('a single message was not accepted');
        answered.ids.push(messageId);
      },
    },
    {
      name: 'bulk',
      ...pace.bulk,
      async once() {
        const messages = numbers(pace.bulk.size).map((destination) => ({ destination, body: 'For all' }));
        answered.ids.push(...(await sendEach({ client }, messages)));
      },
    },
    {
      name: 'campaign',
      ...pace.campaign,
      async once() {
        const destinations = numbers(pace.campaign.size);
        await sendCampaign(client, destinations);
        answered.recipients.push(...destinations);
      },
    },
    {
      name: 'scheduled',
      ...pace.scheduled,
      async once() {
        const scheduledDate = new Date(Date.now() + SCHEDULE_MS).toISOString();
        const { messageId } = await client.send({ phoneNumber: mobileOf(next++), message: 'Soon', scheduledDate });
        if (messageId === null) throw new Error('a scheduled message was not accepted');
        answered.ids.push(messageId);
      },
    },
    {
      name: 'inbound',
      ...pace.inbound,
      async once() {
        await carrier.inbound({
          source: mobileOf(answered.inbound % 500).slice(1),
          destination: NUMBER,
          // The same text from the same number within 15 minutes is the same message.
          text: `Hello ${answered.inbound}`,
        });
        answered.inbound++;
      },
    },
    { name: 'import', ...pace.import, once: () => importContacts(client, pace.import.size) },
    {
      name: 'export',
      ...pace.export,
      async once() {
        answered.exportIds.push(await exportHistory(client));
      },
    },
    {
      name: 'read',
      ...pace.read,
      async once() {
        await ask(client, 200, 'GET', READS[reads++ % READS.length] ?? '');
      },
    },
    { name: 'faulty', ...pace.faulty, once: async () => failOnce(client, origin(), faults++) },
  ];
  return { works, answered };
}

/** Returns the body of a response with this status; rejects for any other. */
async function ask(client: Client, status: number, method: string, path: string, body?: unknown): Promise<unknown> {
  const answer = await client.request(method, path, { body });
  if (answer.status !== status)
    throw new Error(`${method} ${path} returned ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** The requests of the console's pages. */
const READS: readonly string[] = [
  `${PG}/overview`,
  `${PG}/messages?limit=50`,
  `${PG}/campaigns?limit=20`,
  `${PG}/contacts?search=93331&limit=50`,
  `${PG}/inbox/conversations?limit=20`,
  `${PG}/credit/entries?limit=20`,
  `${PG}/subscription/credit`,
  '/services/sms/credit',
];

/** Imports the same contacts each time. */
async function importContacts(client: Client, rows: number): Promise<void> {
  const content = ['number,name', ...Array.from({ length: rows }, (_, n) => `${mobileOf(n)},Person ${n}`)].join('\n');
  const mapping = JSON.stringify({ number: 'phoneNumber', name: 'lastName' });
  const form = await formOf({ name: 'people.csv', content }, { mapping, removeHead: true });
  const { status, body } = await client.request('POST', `${PG}/contacts/upload`, form);
  if (status !== 200) throw new Error(`the import returned ${status}: ${JSON.stringify(body)}`);
}

/** Exports the messages of the last minute, and waits for the file. Returns the id of the export. */
async function exportHistory(client: Client): Promise<string> {
  const now = Date.now();
  const range = {
    startDateTime: new Date(now - MINUTE_MS).toISOString(),
    endDateTime: new Date(now).toISOString(),
  };
  const body = await ask(client, 202, 'POST', `${PG}/messages/history/export`, { ...range, format: 'csv' });
  const { exportId } = body as { exportId: string };
  const end = performance.now() + EXPORT_TIMEOUT_MS;
  for (;;) {
    const { status } = (await ask(client, 200, 'GET', `${PG}/exports/${exportId}`)) as { status: string };
    if (status === 'COMPLETED') return exportId;
    if (status !== 'PENDING' || performance.now() > end) throw new Error(`the export is ${status}`);
    await delay(EXPORT_POLL_MS);
  }
}

/** The nth request of a client that does something wrong. */
async function failOnce(client: Client, origin: string, n: number): Promise<void> {
  const faults: readonly (() => Promise<unknown>)[] = [
    () => ask(client, 400, 'POST', SEND, '{ "phoneNumber": '),
    () => ask(client, 400, 'POST', SEND, { phoneNumber: '+393330000000' }),
    () => ask(client, 404, 'GET', `${STATUS}/none-of-ours`),
    () => ask(client, 404, 'GET', `${PG}/campaigns/999999999`),
    () => leaveEarly(origin),
  ];
  await faults[n % faults.length]?.();
}

/** Sends half a request and closes the connection. */
function leaveEarly(origin: string): Promise<void> {
  const { hostname, port } = new URL(origin);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(Number(port), hostname, () => {
    socket.write(`POST ${SEND} HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: 1000\r\n\r\n{ "phone`, () =>
      socket.destroy(),
    );
  });
  socket.once('close', () => resolve()).once('error', reject);
  return promise;
}

export async function countInbound({ pool }: Stage, { accountId }: Account): Promise<number> {
  const { rows } = await pool.query('SELECT count(*)::int AS n FROM inbound_message WHERE account_id = $1', [
    accountId,
  ]);
  return rows[0].n;
}

/** Returns what the account has paid. */
export async function sumEarned({ pool }: Stage, { accountId }: Account): Promise<number> {
  const { rows } = await pool.query(
    `SELECT (coalesce(sum(amount_micros) FILTER (WHERE to_book = 'earned'), 0)
             - coalesce(sum(amount_micros) FILTER (WHERE from_book = 'earned'), 0))::bigint AS micros
     FROM ledger_entry WHERE account_id = $1`,
    [accountId],
  );
  return rows[0].micros;
}
