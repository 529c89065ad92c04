// The contents of the screenshots: an account with contacts, campaigns, messages and conversations, made through the
// public API.
import { bitOf, CHANNELS, type Channel } from '../src/core/channels.ts';
import { type Db, exec, sql } from '../src/core/db/query.ts';
import { notifySandbox } from '../src/sandbox/sandbox-store.ts';
import type { Client } from '../test/support/client.ts';
import { until } from '../test/support/until.ts';

const PG = '/api/partner-gateway/v1';
const MESSAGE_SERVER = '/api/message-server';
const WAIT_MS = 180_000;
const HOUR_MS = 3_600_000;
const CONTACTS = 240;
/** The id of the sandbox's WhatsApp number. */
const PHONE_NUMBER_ID = '100000000000001';
/** Recipients per second: slow enough for the campaign to be paused in the middle. */
const RATE = 12;
const PAUSE_AFTER = 150;

type Answer = Readonly<Record<string, unknown>>;
type Call = (method: string, path: string, body?: object) => Promise<Answer>;

/** The campaigns and the conversation whose pages are shown. */
export type Sample = { readonly campaignId: number; readonly scheduledId: number; readonly chatId: string };

/**
 * Fills an account that has the sandbox's numbers. Resolves when every message has its outcome, except those of the
 * paused campaign.
 */
export async function fillAccount(db: Db, client: Client, accountId: number): Promise<Sample> {
  const call = callerOf(client);
  await writeHistory(db, accountId);
  const numbers = await makeContacts(call);
  const sent = sendMessages(call, client);
  const { campaignId, scheduledId } = await makeCampaigns(call);
  await sent;
  const chatId = await haveConversations(db, call, numbers);
  await sendLatest(call);
  return { campaignId, scheduledId, chatId };
}

const callerOf =
  (client: Client): Call =>
  async (method, path, body) => {
    const { status, body: answer } = await client.request(method, path, body && { body });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return Object(answer);
  };

/**
 * Writes traffic of the hours before the account existed, for the charts of the overview. This is the one thing that
 * cannot be made through the API, because no message has a time in the past.
 */
async function writeHistory(db: Db, accountId: number): Promise<void> {
  const now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  for (let hour = 1; hour < 24; hour += 1)
    for (const channel of CHANNELS) await addHour(db, { accountId, channel, hour: new Date(now - hour * HOUR_MS) });
}

const BUSIEST = { SMS: 420, WHATSAPP: 260, RCS: 150 } as const;

/** Adds the traffic of one hour: more by day than by night, with some variation. */
async function addHour(db: Db, of: { accountId: number; channel: Channel; hour: Date }): Promise<void> {
  const byDay = Math.max(0.06, Math.sin(((of.hour.getUTCHours() - 5) / 16) * Math.PI));
  const sent = Math.round(BUSIEST[of.channel] * byDay * (0.85 + 0.3 * Math.abs(Math.sin(of.hour.getUTCHours() * 7))));
  const failed = Math.round(sent * 0.03);
  const cost = sent * 40_000;
  await exec(
    db,
    sql`INSERT INTO traffic_hour (account_id, hour, campaign_id, channel, shard, sent, delivered, failed, cost_micros)
        VALUES (${of.accountId}, ${of.hour}, 0, ${bitOf(of.channel)}, 0, ${sent}, ${sent - failed}, ${failed}, ${cost})`,
  );
}

/**
 * Numbers reserved for use in films: in France +33 6 39 98. Some endings fail in the sandbox, on one channel or
 * another.
 */
const numberAt = (ending: number): string => `+3363998${String(ending).padStart(4, '0')}`;

/** More reserved numbers, which are valid in their countries, as campaigns require. */
const AREAS = ['+120255501', '+141555501', '+130355501'] as const;
const FAILING = ['+4917139200', '+4917604069'].flatMap((start, at) =>
  ['01', '03', '07', '09', '02', '04'].map((ending) => `${start}${at === 1 ? '0' : ''}${ending}`),
);

const contactNumberAt = (at: number): string =>
  (at % 12 === 7 && FAILING[(at - 7) / 12]) || `${AREAS[at % 3] ?? ''}${String(Math.floor(at / 3)).padStart(2, '0')}`;

async function makeContacts(call: Call): Promise<string[]> {
  const numbers = Array.from({ length: CONTACTS }, (_, at) => contactNumberAt(at));
  const ids = await Promise.all(
    numbers.map(async (phoneNumber, at) => {
      const names = { firstName: 'Sample', fullName: `Sample contact ${at + 1}` };
      return (await call('POST', `${PG}/contacts`, { ...names, phoneNumber }))['id'];
    }),
  );
  await makeList(call, 'All customers', ids);
  await makeList(call, 'Newsletter', ids.slice(0, 180));
  await makeList(call, 'Shop visitors', ids.slice(90, 150));
  return numbers;
}

async function makeList(call: Call, name: string, contactIds: readonly unknown[]): Promise<void> {
  const { id } = await call('POST', `${PG}/contacts/list`, { name });
  await call('POST', `${PG}/contacts/list/contacts`, { listIds: [id], contactIds });
}

const TEXTS = [
  'Your parcel arrives today between 14:00 and 16:00.',
  'Your table for two is booked for 20:00.',
  'Your code is 481 920. It is valid for ten minutes.',
  'Your order is ready to be picked up.',
] as const;

async function sendMessages(call: Call, client: Client): Promise<void> {
  const messages = TEXTS.map((body, text) => ({
    destinations: Array.from({ length: 45 }, (_, at) => numberAt(5000 + text * 400 + at * 7)),
    sender: 'Sample',
    body,
  }));
  await client.bulk({ messages });
  await Promise.all(Array.from({ length: 40 }, (_, at) => sendOne(call, at, 7000 + at * 11)));
}

/** Sends one message; the channels take turns. */
function sendOne(call: Call, at: number, ending: number): Promise<Answer> {
  const destination = numberAt(ending);
  const text = TEXTS[at % TEXTS.length];
  const template = { name: 'sandbox_welcome', language: 'en', variables: [`Sample ${at + 1}`] };
  if (at % 3 === 0)
    return call('POST', `${MESSAGE_SERVER}/whatsapp/send`, { phoneNumberId: PHONE_NUMBER_ID, destination, template });
  if (at % 3 === 1)
    return call('POST', `${MESSAGE_SERVER}/rcs/send`, {
      agentId: 'sandbox',
      destination,
      body: { type: 'TEXT', text },
    });
  return call('POST', `${MESSAGE_SERVER}/sms/send`, { destination, sender: 'Sample', body: text });
}

/** Sends the newest messages, which the list shows first: all channels, and several outcomes. */
async function sendLatest(call: Call): Promise<void> {
  const endings = [8100, 8111, 8122, 6, 8144, 9901, 8166, 7, 8188, 9, 8210, 9903, 8232, 8243];
  for (const [at, ending] of endings.entries()) await sendOne(call, at, ending);
}

const NEWSLETTER = {
  sendingMode: 'WHATSAPP_RCS_SMS',
  smsSender: 'Sample',
  smsBody: 'Hello {{firstName|there}}, our autumn sale begins on Friday. Reply STOP to hear no more.',
  whatsappPhoneNumberId: PHONE_NUMBER_ID,
  whatsappTemplateId: '900000000000001',
  rcsAgentId: 'sandbox',
  rcsTemplateId: '01900000-0000-7000-8000-000000000001',
  quietHours: { off: true },
  readyToSend: true,
};

/**
 * Makes three campaigns: one that is completed, one that is scheduled, and one that is paused. Returns the ids
 * of the latter two.
 */
async function makeCampaigns(call: Call): Promise<Omit<Sample, 'chatId'>> {
  const done = await confirm(call, {
    ...NEWSLETTER,
    name: 'Summer thanks',
    contactListIds: [3],
    sendingMode: 'RCS_SMS',
  });
  const inThreeDays = new Date(Date.now() + 72 * HOUR_MS).toISOString();
  const scheduledId = await confirm(call, {
    ...NEWSLETTER,
    name: 'Opening hours',
    contactListIds: [2],
    scheduledDate: inThreeDays,
  });
  const paused = await confirm(call, { ...NEWSLETTER, name: 'Autumn sale', contactListIds: [1], rate: RATE });
  const read = (id: number): Promise<Answer> => call('GET', `${PG}/campaigns/${id}`);
  await until(
    'enough of the campaign',
    async () => Number((await read(paused))['totalSuccess']) > PAUSE_AFTER,
    WAIT_MS,
  );
  await call('PUT', `${PG}/campaigns/${paused}/pause`);
  await until('the end of the other campaign', async () => (await read(done))['status'] === 3, WAIT_MS);
  return { campaignId: paused, scheduledId };
}

async function confirm(call: Call, body: object): Promise<number> {
  const id = Number((await call('POST', `${PG}/campaigns`, body))['id']);
  await call('POST', `${PG}/campaigns/${id}/calculateGoal`);
  await call('PUT', `${PG}/campaigns/${id}/confirm`);
  return id;
}

type Talk = { readonly contact: number; readonly channel: Channel; readonly lines: readonly string[] };

/** Conversations: lines of the contact and replies, alternating. The last conversation is the newest. */
const TALKS: readonly Talk[] = [
  { contact: 31, channel: 'SMS', lines: ['What are your opening hours?', 'Monday to Saturday, 9:00 to 18:00.'] },
  { contact: 58, channel: 'RCS', lines: ['Can I return something without the box?'] },
  { contact: 4, channel: 'SMS', lines: ['Thank you, it has arrived', 'We are glad. Enjoy it!', 'I will'] },
  {
    contact: 77,
    channel: 'WHATSAPP',
    lines: ['Do you have the blue one too?', 'Yes, in all sizes.', 'Please keep one in M.'],
  },
  { contact: 90, channel: 'SMS', lines: ['Which bus stops at your shop?'] },
  {
    contact: 12,
    channel: 'WHATSAPP',
    lines: [
      'Hello, is my order ready?',
      'Good morning! It is packed and leaves today.',
      'Great. Can I still change the address?',
      'Yes, until noon. What is the new one?',
      'Sample street 12, second floor. Thank you!',
      'Done. You will get a message with the time when it is on its way.',
      'Perfect, that was quick!',
    ],
  },
];

/** Holds all conversations, one after the other, and returns the id of the last. */
async function haveConversations(db: Db, call: Call, numbers: readonly string[]): Promise<string> {
  let chatId = '';
  for (const talk of TALKS)
    chatId = await haveConversation(db, call, { ...talk, from: numbers[talk.contact - 1] ?? '' });
  return chatId;
}

async function haveConversation(
  db: Db,
  call: Call,
  { from, channel, lines }: Talk & { from: string },
): Promise<string> {
  let chatId = '';
  for (const [at, text] of lines.entries()) {
    if (at % 2 === 1) await call('POST', `${PG}/inbox/conversations/reply`, { chatId, text });
    else {
      await notifySandbox(db, JSON.stringify({ channel, from, to: '9000', text }));
      chatId = await until(`"${text}"`, () => findChat(call, from, text), WAIT_MS);
    }
  }
  if (lines.length > 1) await call('PATCH', `${PG}/inbox/conversations/${chatId}/read`);
  return chatId;
}

/** Finds the conversation with a contact, once it shows what they have written. */
async function findChat(call: Call, from: string, text: string): Promise<string | undefined> {
  const { data } = await call('GET', `${PG}/inbox/conversations?search=${encodeURIComponent(from)}`);
  const found = Array.isArray(data) ? data[0] : undefined;
  return JSON.stringify(found ?? '').includes(JSON.stringify(text)) ? String(found.chatId) : undefined;
}
