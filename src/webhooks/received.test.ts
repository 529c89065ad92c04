import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import type { Inbound } from '../channels/carrier.ts';
import { readRcsCallback, signatureOf } from '../channels/rcs/callbacks.ts';
import { readWhatsappChanges } from '../channels/whatsapp/callbacks.ts';
import { exec, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { createMetrics } from '../core/metrics.ts';
import { receiveIntoInbox } from '../inbox/receive.ts';
import { createInboundInbox } from '../messages/inbound.ts';
import { insertNumber } from '../messages/inbound-store.ts';
import { createAccount } from '../operate/account-commands.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { readFeed } from './feed.ts';

const { pool } = testDatabase();
let accountId = 0;
let connectionId = 0;
beforeAll(async () => {
  connectionId =
    (await insertConnection(pool, { name: 'main', kind: 'whatsapp', sandbox: false, settings: {} }))?.id ?? 0;
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited' }));
  await insertNumber(pool, { connectionId, number: '*', accountId });
  await exec(pool, sql`UPDATE account SET feed_since = now() WHERE id = ${accountId}`);
});

const PERSON = '16505551234';
const OURS = '106540352242922';

/** Reads a message as Meta posts it. */
function whatsapp(message: object): readonly Inbound[] {
  const item = {
    id: `wamid.${Math.random()}`,
    from: PERSON,
    timestamp: String(Math.floor(Date.now() / 1000)),
    ...message,
  };
  const metadata = { display_phone_number: '15550783881', phone_number_id: OURS };
  const change = { wabaId: '1', field: 'messages', value: { metadata, contacts: [], messages: [item] } };
  return readWhatsappChanges([change], { wabaId: '1', phoneNumberIds: [OURS] }).inbounds;
}

/** Reads a message as RCS Business Messaging posts it. */
function rcs(message: object): readonly Inbound[] {
  const person = { senderPhoneNumber: `+${PERSON}`, agentId: 'x@rbm.goog', sendTime: new Date().toISOString() };
  const data = Buffer.from(JSON.stringify({ ...person, messageId: String(Math.random()), ...message }));
  const rawBody = Buffer.from(JSON.stringify({ message: { data: data.toString('base64') } }));
  const found = readRcsCallback({ rawBody, signature: signatureOf(data, 'token'), clientToken: 'token' });
  return found.kind === 'events' ? found.inbounds : [];
}

const interactive = (answer: object) => ({ type: 'interactive', interactive: answer });
const product = { product_retailer_id: 'p1', quantity: 2, item_price: 9.5, currency: 'EUR' };
const LOCATION = { latitude: 38.7, longitude: -9.1 };

test.each<[string, readonly Inbound[], object]>([
  [
    'the button of a WhatsApp template',
    whatsapp({ type: 'button', button: { payload: 'order:7', text: 'Order' } }),
    { button: { text: 'Order', payload: 'order:7' } },
  ],
  [
    'a quick reply on WhatsApp',
    whatsapp(interactive({ type: 'button_reply', button_reply: { id: 'no', title: 'No' } })),
    { button: { text: 'No', payload: 'no' } },
  ],
  [
    'a row of a WhatsApp list',
    whatsapp(interactive({ type: 'list_reply', list_reply: { id: 'r1', title: 'Row' } })),
    { list: { id: 'r1', title: 'Row' } },
  ],
  [
    'a WhatsApp Flow',
    whatsapp(interactive({ type: 'nfm_reply', nfm_reply: { name: 'flow', response_json: '{"size":"M"}' } })),
    { flow: { name: 'flow', response: { size: 'M' } } },
  ],
  [
    'an order on WhatsApp',
    whatsapp({ type: 'order', order: { catalog_id: 'c', product_items: [product] } }),
    { order: { catalogId: 'c', items: [{ productId: 'p1', quantity: 2, itemPrice: 9.5, currency: 'EUR' }] } },
  ],
  ['a location on WhatsApp', whatsapp({ type: 'location', location: LOCATION }), { location: LOCATION }],
  [
    'a contact on WhatsApp',
    whatsapp({ type: 'contacts', contacts: [{ name: { formatted_name: 'Ada' }, phones: [{ phone: '+1 983' }] }] }),
    { contacts: [{ name: 'Ada', phones: [{ phone: '+1 983' }] }] },
  ],
  [
    'a text on WhatsApp that quotes another message',
    whatsapp({ type: 'text', text: { body: 'Yes' }, context: { id: 'wamid.A' } }),
    { text: 'Yes', replyTo: { networkId: 'wamid.A', messageId: null } },
  ],
  [
    'a suggested reply on RCS',
    rcs({ suggestionResponse: { postbackData: 'ok_1', text: 'OK', type: 'REPLY' } }),
    { button: { text: 'OK', payload: 'ok_1' } },
  ],
  [
    'a suggested action on RCS',
    rcs({ suggestionResponse: { postbackData: 'call_1', text: 'Call', type: 'ACTION' } }),
    { button: { text: 'Call', payload: 'call_1' } },
  ],
  [
    'a file on RCS',
    rcs({ userFile: { payload: { mimeType: 'image/jpeg', fileName: 'part.jpg', fileUri: 'https://rbm.example/f' } } }),
    { media: [{ mimeType: 'image/jpeg', fileName: 'part.jpg' }] },
  ],
  ['a location on RCS', rcs({ location: LOCATION }), { location: LOCATION }],
])('the event of %s has everything that a bot answers it with', async (_, inbounds, data) => {
  expect(inbounds).toHaveLength(1);
  const store = createInboundInbox({ log: silentLog, metrics: createMetrics(), pool, onInbound: receiveIntoInbox });
  for (const inbound of inbounds) await store({ connectionId, inbound });
  const all = { after: undefined, limit: 1000, types: null, showsAmounts: false, fileUrl: () => 'https://x.example/f' };
  const { events } = await readFeed(pool, { accountId }, all);
  expect(events.at(-1)).toMatchObject({
    type: 'message.received',
    data: { chatId: expect.any(String), from: `+${PERSON}`, ...data },
  });
});
