import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import type { Channel } from '../../src/platform/lib/channel.ts';
import { assignSandboxNumbers } from '../../src/simulators/sandbox/sandbox.ts';
import { notifySandbox } from '../../src/simulators/sandbox/sql.ts';
import { until } from '../../test/support/until.ts';
import { hostileText } from './hostile.ts';
import { openReader, plain, type Reader } from './reader.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { openStage, type Account, type Stage } from '../lib/stage.ts';

const THREADS: Readonly<Record<Mode, number>> = { tiny: 3, quick: 50, full: 250 };
/** The number of messages that the console shows of a thread at first. */
const TEXTS_PER_THREAD = 40;
const CHANNELS: readonly Channel[] = ['WHATSAPP', 'RCS', 'SMS'];
const MAX_MISSING = 2 * TEXTS_PER_THREAD;
/** The length of an SMS in UCS-2. */
const SMS_LENGTH = 70;
const PG = '/api/partner-gateway/v1';
const BUILD_SCRIPT = fileURLToPath(new URL('../../scripts/build-console.ts', import.meta.url));

export const consoleProof: Proof = {
  promise: 'The console shows messages and names of people as text and never runs them.',
  sabotage: {
    fault: 'the text of a message is inserted into the page as markup',
    file: new URL('../sabotage/console.ts', import.meta.url),
    breaks: ['every text is shown as it was written'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  await promisify(execFile)(process.execPath, [BUILD_SCRIPT]);
  await using stage = await openStage(run, {
    gateway: 'serve',
    environment: { SANDBOX: 'on' },
  });
  const account = await stage.newAccount({ plan: 'unlimited' });
  await assignSandboxNumbers(stage.pool, account);
  const threads = THREADS[run.mode];
  const texts = Array.from({ length: threads * TEXTS_PER_THREAD }, (_, n) => hostileText(run, n));
  await nameContacts(account, texts);
  await writeAll(stage, account, texts);
  await using reader = await openReader({ origin: String(stage.gateway.ready['address']), ...account });
  const missing = await readInbox(run, reader, account, texts);
  const names = await readContacts(reader, texts);
  const { seen } = reader;
  return judge(
    { texts: texts.length, threads, textsNotShown: missing, namesNotShown: names, ...seen },
    {
      'every text is shown as it was written': missing === 0,
      'every name is shown as it was stored': names === 0,
      'no dialog opens': seen.dialogs === 0,
      'no request goes to another host': seen.foreignRequests === 0,
      'no text becomes an element': seen.elements === 0,
      "the page's policy has nothing to refuse": seen.refusedByPolicy === 0,
    },
  );
}

const numberOf = (n: number): string => `+3933${String(10_000_000 + n)}`;

/** Creates a contact for every text, which is its name; the first contacts also write messages. */
async function nameContacts({ client }: Account, texts: readonly string[]): Promise<void> {
  for (let from = 0; from < texts.length; from += 50) {
    const some = texts
      .slice(from, from + 50)
      .map((fullName, i) =>
        client.request('POST', `${PG}/contacts`, { body: { fullName, phoneNumber: numberOf(from + i) } }),
      );
    for (const { status, body } of await Promise.all(some))
      if (status !== 201) throw new Error(`a contact was answered ${status}: ${JSON.stringify(body)}`);
  }
}

/** Sends each text to the inbox by its carrier's own protocol; an SMS is cut to fit. */
async function writeAll({ pool }: Stage, { accountId }: Account, texts: readonly string[]): Promise<void> {
  for (const [n, text] of texts.entries()) {
    const thread = Math.floor(n / TEXTS_PER_THREAD);
    const channel = CHANNELS[thread % CHANNELS.length] ?? 'RCS';
    const act = { channel, from: numberOf(thread), to: '9000', text: fitted(channel, text) };
    await notifySandbox(pool, JSON.stringify(act));
  }
  await until(
    'all texts in the inbox',
    async () => {
      const { rows } = await pool.query<{ n: number }>({
        text: 'SELECT count(*)::int AS n FROM inbound_message WHERE account_id = $1',
        values: [accountId],
      });
      return rows[0]?.n === texts.length;
    },
    600_000,
  );
}

const fitted = (channel: Channel, text: string): string => (channel === 'SMS' ? text.slice(0, SMS_LENGTH) : text);

/** Returns how many texts of the inbox the reader did not see. */
async function readInbox(run: Run, reader: Reader, { client }: Account, texts: readonly string[]): Promise<number> {
  const chats = await listChats(client);
  let missing = 0;
  for (const { chatId, thread } of chats) {
    const own = texts.slice(thread * TEXTS_PER_THREAD, (thread + 1) * TEXTS_PER_THREAD);
    const channel = CHANNELS[thread % CHANNELS.length] ?? 'RCS';
    missing += await reader.open(
      `/inbox?chat=${chatId}`,
      own.map((text) => fitted(channel, text)),
    );
    if (missing > 0) run.log(`thread ${thread}: ${missing} texts missing so far`);
    // A broken page takes the whole timeout each time: this many missing texts are enough to fail.
    if (missing > MAX_MISSING) break;
  }
  return missing + (THREADS[run.mode] - chats.length) * TEXTS_PER_THREAD;
}

type Chat = { readonly chatId: string; readonly thread: number };

async function listChats(client: Account['client']): Promise<Chat[]> {
  const { body } = await client.request('GET', `${PG}/inbox/conversations?limit=1000`);
  const { data } = body as { data: { chatId: string; contact: { phoneNumber: string } }[] };
  return data.map(({ chatId, contact }) => ({ chatId, thread: Number(contact.phoneNumber.slice(5)) - 10_000_000 }));
}

/** Returns how many names the reader did not see while scrolling through the contacts table. */
async function readContacts(reader: Reader, names: readonly string[]): Promise<number> {
  await reader.open('/contacts?sort=phoneNumber', names.slice(0, 1));
  const rows = [...(await reader.scrollThrough())].join('\n');
  return names.filter((name) => !rows.includes(plain(name))).length;
}
