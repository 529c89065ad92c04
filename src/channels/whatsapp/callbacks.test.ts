import { fc, test as propertyTest } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import {
  type CallbackRequest,
  readWhatsappCallback,
  readWhatsappChanges,
  verifyChallenge,
  type WhatsappCallback,
} from './callbacks.ts';
import { signatureOf } from './client.ts';

const WABA = '102290129340398';
const NUMBER = '106540352242922';
const SECOND = '106540352242923';
const SECRET = 'app-secret';

function request(body: string | Uint8Array, more: Partial<CallbackRequest> = {}): CallbackRequest {
  const rawBody = Buffer.from(body);
  const signature = signatureOf(rawBody, SECRET);
  return { rawBody, signature, appSecret: SECRET, ...more };
}

const notification = (...changes: object[]): string =>
  JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: WABA, changes }] });

const messagesChange = (value: object, number = NUMBER): object => ({
  field: 'messages',
  value: {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: '15550783881', phone_number_id: number },
    ...value,
  },
});

function read(body: string, phoneNumberIds = [NUMBER]): WhatsappCallback {
  const result = readWhatsappCallback(request(body));
  if (result.kind !== 'ok') throw new Error(result.kind);
  return readWhatsappChanges(result.changes, { wabaId: WABA, phoneNumberIds });
}

const statuses = (...items: object[]): string => notification(messagesChange({ statuses: items }));
const CONTACT = { profile: { name: 'Sheena Nelson' }, wa_id: '16505551234' };
const inbound = (item: object, contacts: object[] = [CONTACT]): string =>
  notification(messagesChange({ contacts, messages: [{ id: 'wamid.IN', timestamp: '1749416383', ...item }] }));

test('a message says which advertisement led to it', () => {
  const referral = {
    source_type: 'ad',
    source_id: '120',
    source_url: 'https://fb.me/x',
    headline: 'Summer',
    media_type: 'image',
    image_url: 'https://scontent.example/x',
    ctwa_clid: 'ARAk',
  };
  const item = { from: '16505551234', type: 'text', text: { body: 'Hi' } };
  expect(read(inbound({ ...item, referral })).inbounds[0]?.rich?.content).toEqual({
    referral: {
      sourceType: 'ad',
      sourceId: '120',
      sourceUrl: 'https://fb.me/x',
      headline: 'Summer',
      body: '',
      mediaType: 'image',
      mediaUrl: 'https://scontent.example/x',
      thumbnailUrl: '',
      ctwaClid: 'ARAk',
    },
  });
  expect(read(inbound(item)).inbounds[0]?.rich).not.toHaveProperty('content');
});

const nfm = (response_json: string) => ({
  interactive: { type: 'nfm_reply', nfm_reply: { name: 'flow', body: 'Sent', response_json } },
});

test.each<[string, object, object | undefined]>([
  ['button', { button: { payload: 'order:7', text: 'Order' } }, { button: { text: 'Order', payload: 'order:7' } }],
  [
    'interactive',
    { interactive: { type: 'button_reply', button_reply: { id: 'no', title: 'No' } } },
    { button: { text: 'No', payload: 'no' } },
  ],
  [
    'interactive',
    { interactive: { type: 'list_reply', list_reply: { id: 'r1', title: 'Row', description: 'd' } } },
    { list: { id: 'r1', title: 'Row', description: 'd' } },
  ],
  [
    'interactive',
    nfm(String.raw`{"flow_token":"t","n":1,"s":"a\u0000\ud800"}`),
    { flow: { name: 'flow', response: { flow_token: 't', n: 1, s: 'a\ufffd' } } },
  ],
  ['interactive', nfm('{'), undefined],
  [
    'interactive',
    nfm('{"a":'.repeat(9) + '{"b":{"c":1}}' + '}'.repeat(9)),
    { flow: { name: 'flow', response: JSON.parse('{"a":'.repeat(9) + '{"b":null}' + '}'.repeat(9)) } },
  ],
  [
    'order',
    {
      order: {
        catalog_id: 'c',
        text: 'Please',
        product_items: [{ product_retailer_id: 'p1', quantity: 2, item_price: 9.5, currency: 'EUR' }],
      },
    },
    {
      order: {
        catalogId: 'c',
        text: 'Please',
        items: [{ productId: 'p1', quantity: 2, itemPrice: 9.5, currency: 'EUR' }],
      },
    },
  ],
  [
    'location',
    { location: { latitude: 37.44, longitude: -122.16, name: 'Philz' } },
    { location: { latitude: 37.44, longitude: -122.16, name: 'Philz', address: '', url: '' } },
  ],
  [
    'contacts',
    {
      contacts: [
        {
          name: { formatted_name: 'John Smith' },
          org: { company: 'ACME' },
          phones: [{ phone: '+1 (983) 555-2319', type: 'WORK', wa_id: '19835552319' }],
          emails: [{ email: 'j@example.com', type: 'WORK' }],
        },
      ],
    },
    {
      contacts: [
        {
          name: 'John Smith',
          organization: 'ACME',
          phones: [{ phone: '+1 (983) 555-2319', type: 'WORK', whatsapp: '19835552319' }],
          emails: ['j@example.com'],
        },
      ],
    },
  ],
  [
    'reaction',
    { reaction: { message_id: 'wamid.A', emoji: '👍' } },
    { replyTo: { networkId: 'wamid.A', messageId: null } },
  ],
  [
    'text',
    {
      text: { body: 'x' },
      context: {
        from: '15550783881',
        id: 'wamid.A',
        referred_product: { catalog_id: 'c', product_retailer_id: 'p1' },
      },
    },
    { replyTo: { networkId: 'wamid.A', messageId: null }, product: { catalogId: 'c', productId: 'p1' } },
  ],
  ['text', { text: { body: 'x' }, context: { frequently_forwarded: true } }, { forwarded: true }],
])('the content of a message of the type %s is read: %j', (type, item, content) => {
  expect(read(inbound({ from: '16505551234', type, ...item })).inbounds[0]?.rich?.content).toEqual(content);
});

test.each([
  [{ billable: true, pricing_model: 'PMP', type: 'regular', category: 'marketing' }, true],
  [{ billable: false, pricing_model: 'PMP', type: 'free_entry_point', category: 'referral_conversion' }, false],
  [{ pricing_model: 'PMP', type: 'free_customer_service', category: 'service' }, false],
])('a status says what Meta charges: %j', (pricing, billable) => {
  const [sent, failed] = read(
    statuses({ id: 'wamid.A', status: 'sent', pricing }, { id: 'wamid.B', status: 'failed', pricing }),
  ).receipts;
  const { type, category } = pricing;
  expect(sent?.billing).toEqual({ billable, model: 'PMP', type, category });
  expect(failed?.billing).toBeUndefined();
});

describe('the challenge', () => {
  const query = { 'hub.mode': 'subscribe', 'hub.challenge': '1158201444', 'hub.verify_token': 'ours' };

  test('is returned unchanged when the token is ours', () => {
    expect(verifyChallenge(query, 'ours')).toBe('1158201444');
  });

  test.each([
    ['another token', { 'hub.verify_token': 'theirs' }],
    ['no token', { 'hub.verify_token': undefined }],
    ['two tokens', { 'hub.verify_token': ['ours', 'ours'] }],
    ['another mode', { 'hub.mode': 'unsubscribe' }],
    ['no challenge', { 'hub.challenge': undefined }],
  ])('gets no response with %s', (_, more) => {
    expect(verifyChallenge({ ...query, ...more }, 'ours')).toBeNull();
  });
});

describe('the signature', () => {
  const body = statuses({ id: 'wamid.A', status: 'delivered', timestamp: '1750030073', recipient_id: '16505551234' });

  test.each([
    ['is missing', undefined],
    ['is empty', ''],
    ['has no prefix', signatureOf(body, SECRET).slice(7)],
    ['is by another secret', signatureOf(body, 'other')],
    ['is of other bytes', signatureOf(`${body} `, SECRET)],
    ['is cut', signatureOf(body, SECRET).slice(0, -1)],
    ['is of another algorithm', signatureOf(body, SECRET).replace('sha256', 'sha1')],
  ])('makes a request forbidden when it %s', (_, signature) => {
    expect(readWhatsappCallback(request(body, { signature }))).toEqual({ kind: 'forbidden' });
  });

  test('covers the bytes as received, escapes and spaces included', () => {
    const escaped = body.replace('wamid.A', 'wamid.\\u00e9').replace('{', '{ ');
    expect(read(escaped).receipts[0]?.carrierIds).toEqual(['wamid.é']);
  });

  propertyTest.prop([fc.uint8Array({ maxLength: 200 }), fc.string()])(
    'nothing passes without it, whatever comes',
    (rawBody, signature) => {
      expect(readWhatsappCallback(request(rawBody, { signature })).kind).toBe('forbidden');
    },
  );
});

describe('a status', () => {
  const status = (more: object): string =>
    statuses({ id: 'wamid.A', status: 'sent', timestamp: '1750030073', recipient_id: '16505551234', ...more });

  test.each([
    ['sent', 'ACCEPTED'],
    ['delivered', 'DELIVERED'],
    ['read', 'READ'],
    ['played', 'READ'],
    ['warning', 'UNKNOWN'],
    ['constructor', 'UNKNOWN'],
  ])('%s is the receipt %s', (word, state) => {
    expect(read(status({ status: word })).receipts).toMatchObject([
      {
        carrierIds: ['wamid.A'],
        state,
        errorCode: null,
        destination: '16505551234',
        sender: NUMBER,
        doneAt: new Date('2025-06-15T23:27:53.000Z'),
      },
    ]);
  });

  test("has our id after the network's", () => {
    const [receipt] = read(status({ biz_opaque_callback_data: '018f0000-0000-7000-8000-000000000001' })).receipts;
    expect(receipt?.carrierIds).toEqual(['wamid.A', '018f0000-0000-7000-8000-000000000001']);
  });

  test.each([
    [131047, 'CONVERSATION_CLOSED'],
    [470, 'CONVERSATION_CLOSED'],
    [131026, 'UNSUPPORTED'],
    [131050, 'ERROR'],
    [130403, 'DISABLED'],
    [131049, 'ERROR'],
    [131000, 'ERROR'],
    [130429, 'ERROR'],
    [1, 'ERROR'],
  ])('failed with %i is the receipt %s, with the text of the network', (code, state) => {
    const error = { code, title: 'A title', message: 'A title', error_data: { details: 'Some details.' } };
    expect(read(status({ status: 'failed', errors: [error] })).receipts).toMatchObject([
      { state, errorCode: String(code), raw: `${code} A title: Some details.` },
    ]);
  });

  test('failed without an error is an error', () => {
    expect(read(status({ status: 'failed' })).receipts).toMatchObject([{ state: 'ERROR', errorCode: null }]);
  });

  test('of a person without a number names the user id', () => {
    const item = { recipient_id: undefined, recipient_user_id: 'US.13491208655302741918' };
    expect(read(status(item)).receipts[0]?.destination).toBe('US.13491208655302741918');
  });

  test('keeps the text of the network, so that prices are not lost', () => {
    const pricing = { billable: true, pricing_model: 'PMP', category: 'marketing' };
    expect(read(status({ pricing })).receipts[0]?.raw).toContain('"category":"marketing"');
  });

  test('without a readable time has none', () => {
    for (const timestamp of ['', 'soon', '-1', '99999999999', 5])
      expect(read(status({ timestamp })).receipts[0]?.doneAt).toBeNull();
  });

  test('without an id is reported as unreadable, and the others in the request are read', () => {
    const result = read(statuses({ status: 'sent' }, { id: 'wamid.B', status: 'read' }));
    expect(result.receipts.map(({ carrierIds }) => carrierIds)).toEqual([['wamid.B']]);
    expect(result.other).toMatchObject([{ field: 'statuses', why: 'unreadable' }]);
  });
});

describe('an inbound message', () => {
  const file = { mime_type: 'image/jpeg', sha256: 'x', id: '1003383421387256', url: 'https://lookaside.example/x' };

  test.each<[string, object, object]>([
    ['text', { text: { body: 'Hi ❤' } }, { messageType: 'TEXT', text: 'Hi ❤' }],
    ['image', { image: { ...file, caption: 'Look' } }, { messageType: 'IMAGE', text: 'Look' }],
    ['video', { video: file }, { messageType: 'VIDEO', text: '' }],
    ['audio', { audio: { ...file, voice: true } }, { messageType: 'AUDIO', text: '' }],
    ['sticker', { sticker: { ...file, animated: true } }, { messageType: 'STICKER', text: '' }],
    ['document', { document: { ...file, filename: 'a.pdf', caption: 'C' } }, { messageType: 'DOCUMENT', text: 'C' }],
    [
      'location',
      { location: { latitude: 37.44, longitude: -122.16, name: 'Philz', address: '101 Forest Ave' } },
      { messageType: 'LOCATION', text: 'Philz, 101 Forest Ave, 37.44, -122.16' },
    ],
    [
      'contacts',
      { contacts: [{ name: { formatted_name: 'John Smith' }, phones: [{ phone: '+1 (983) 555-2319' }] }] },
      { messageType: 'CONTACTS', text: 'John Smith, +1 (983) 555-2319' },
    ],
    ['reaction', { reaction: { message_id: 'wamid.A', emoji: '👍' } }, { messageType: 'REACTION', text: '👍' }],
    [
      'edit',
      { edit: { original_message_id: 'wamid.A', message: { type: 'text', text: { body: 'Via Milano 7' } } } },
      { messageType: 'TEXT', text: 'Via Milano 7' },
    ],
    ['button', { button: { payload: 'stop', text: 'Unsubscribe' } }, { messageType: 'BUTTON', text: 'Unsubscribe' }],
    [
      'interactive',
      { interactive: { type: 'button_reply', button_reply: { id: 'cancel', title: 'Cancel' } } },
      { messageType: 'BUTTON', text: 'Cancel' },
    ],
    [
      'interactive',
      { interactive: { type: 'list_reply', list_reply: { id: 'r1', title: 'Row', description: 'd' } } },
      { messageType: 'BUTTON', text: 'Row' },
    ],
    [
      'interactive',
      { interactive: { type: 'nfm_reply', nfm_reply: { name: 'flow', body: 'Sent', response_json: '{"a":1}' } } },
      { messageType: 'BUTTON', text: 'Sent, {"a":1}' },
    ],
    [
      'order',
      { order: { catalog_id: 'c', text: 'Please', product_items: [{ product_retailer_id: 'p1', quantity: 2 }] } },
      { messageType: 'OTHER', text: 'Please, 2 × p1' },
    ],
    [
      'unsupported',
      { errors: [{ code: 131051, title: 'Message type unknown' }] },
      { messageType: 'OTHER', text: 'Message type unknown' },
    ],
    ['hologram', { hologram: { body: 'new' } }, { messageType: 'OTHER', text: 'new' }],
  ])('of the type %s is read', (type, content, { messageType, text }: { messageType?: string; text?: string }) => {
    const item = { from: '16505551234', type, ...content };
    const [message] = read(inbound(item)).inbounds;
    expect(message).toMatchObject({ source: '16505551234', destination: NUMBER, text, concat: null });
    expect(message?.rich).toMatchObject({
      channel: 'WHATSAPP',
      id: 'wamid.IN',
      messageType,
      profileName: 'Sheena Nelson',
      ownNumber: '15550783881',
      at: new Date('2025-06-08T20:59:43.000Z'),
    });
    expect(JSON.parse(Buffer.from(message?.raw ?? []).toString())).toMatchObject(JSON.parse(JSON.stringify(item)));
  });

  test.each<[string, object]>([
    ['reaction', { reaction: { message_id: 'wamid.A' } }],
    ['request_welcome', {}],
    ['hologram', { hologram: { shape: 'x' } }],
    ['edit', { edit: { original_message_id: 'wamid.A' } }],
    ['system', { system: { body: 'Security code changed', type: 'customer_identity_changed' } }],
  ])('of the type %s without anything to read is noted, and is no message', (type, content) => {
    const found = read(inbound({ from: '16505551234', type, ...content }));
    expect(found.inbounds).toEqual([]);
    expect(found.other).toMatchObject([{ field: `messages ${type}`, why: 'field' }]);
  });

  test.each<[string, object, string, object]>([
    [
      'revoke',
      { revoke: { original_message_id: 'wamid.A' } },
      '16505551234',
      { kind: 'deleted', messageId: 'wamid.A' },
    ],
    [
      'system',
      { system: { body: 'User A changed', wa_id: '447911000002', type: 'user_changed_number' } },
      '16505551234',
      { kind: 'moved', address: '+447911000002' },
    ],
    [
      'system',
      { system: { body: 'x', user_id: 'GB.2', previous_user_id: 'GB.1', type: 'user_changed_user_id' } },
      'GB.1',
      { kind: 'moved', address: 'GB.2' },
    ],
  ])('of the type %s is a notice: %j', (type, content, source, notice) => {
    const [found] = read(inbound({ from: '16505551234', type, ...content })).inbounds;
    expect(found).toMatchObject({ source, text: '', rich: { notice } });
  });

  test('has its file by the id, without a URL', () => {
    const item = { from: '16505551234', type: 'document', document: { ...file, filename: 'a.pdf' } };
    expect(read(inbound(item)).inbounds[0]?.rich?.media).toEqual({
      id: '1003383421387256',
      url: null,
      mimeType: 'image/jpeg',
      fileName: 'a.pdf',
    });
  });

  test('from a person without a number has the user id', () => {
    const contact = { profile: { name: 'Anna' }, user_id: 'US.1349', username: 'anna' };
    for (const from of [{ from_user_id: 'US.1349' }, {}]) {
      const [message] = read(inbound({ ...from, type: 'text', text: { body: 'x' } }, [contact])).inbounds;
      expect(message).toMatchObject({ source: 'US.1349', rich: { profileName: 'Anna' } });
    }
  });

  test('from a person with a number also has the user id, and one without it the number that is shared on request', () => {
    const text = { type: 'text', text: { body: 'x' } };
    const both = { from: '16505551234', from_user_id: 'US.1349', ...text };
    const card = { origin: 'contact_request', name: {}, phones: [{ phone: '+1 650', wa_id: '16505551234' }] };
    const shared = { from_user_id: 'US.1349', type: 'contacts', contacts: [card] };
    const unasked = { ...shared, contacts: [{ ...card, origin: 'other' }] };
    const aliases = [both, shared, unasked, { from: '16505551234', ...text }].map(
      (item) => read(inbound(item)).inbounds[0]?.rich?.alias,
    );
    expect(aliases).toEqual(['US.1349', '+16505551234', undefined, undefined]);
  });

  test('in the field user_id_update the new user id of a person is a notice', () => {
    const value = {
      metadata: { display_phone_number: '15550783881', phone_number_id: NUMBER },
      user_id_update: [{ user_id: { previous: 'US.1', current: 'US.2' }, timestamp: '1749416383' }, { user_id: {} }],
    };
    const found = read(notification({ field: 'user_id_update', value }));
    const notice = { kind: 'moved', address: 'US.2' };
    expect(found.inbounds).toMatchObject([{ source: 'US.1', destination: NUMBER, rich: { notice } }]);
    expect(found.other).toMatchObject([{ field: 'user_id_update', why: 'unreadable' }]);
  });

  test('a new user id is another notice for each of our numbers, whose accounts may differ', () => {
    const change = (phone_number_id: string) => ({
      field: 'user_id_update',
      value: { metadata: { phone_number_id }, user_id_update: [{ user_id: { previous: 'US.1', current: 'US.2' } }] },
    });
    const [first, second, again] = read(notification(...[NUMBER, SECOND, NUMBER].map(change)), [
      NUMBER,
      SECOND,
    ]).inbounds;
    expect(second?.rich?.id).not.toBe(first?.rich?.id);
    expect(again?.rich?.id).toBe(first?.rich?.id);
  });

  test('without a contact has no name', () => {
    const [message] = read(inbound({ from: '16505551234', type: 'text', text: { body: 'x' } }, [])).inbounds;
    expect(message?.rich?.profileName).toBeNull();
  });

  test('contains nothing that the database cannot store', () => {
    const [message] = read(inbound({ from: '1', type: 'text', text: { body: 'a\u0000b\ud800' } })).inbounds;
    expect(message?.text).toBe('ab\ufffd');
  });
});

describe('a change of a template', () => {
  const change = (value: object): string =>
    notification({
      field: 'message_template_status_update',
      value: {
        message_template_id: 12345,
        message_template_name: 'order_update',
        message_template_language: 'pt_PT',
        message_template_category: 'UTILITY',
        reason: 'NONE',
        ...value,
      },
    });

  test.each([
    ['APPROVED', 'APPROVED'],
    ['REJECTED', 'REJECTED'],
    ['PAUSED', 'PAUSED'],
    ['REINSTATED', 'APPROVED'],
    ['LOCKED', null],
    ['FLAGGED', null],
    ['toString', null],
  ])('%s makes it %s', (event, status) => {
    expect(read(change({ event })).templateChanges).toEqual([
      {
        templateId: '12345',
        name: 'order_update',
        language: 'pt_PT',
        event,
        status,
        quality: null,
        category: 'UTILITY',
        reason: null,
      },
    ]);
  });

  test('has the reason', () => {
    const value = {
      event: 'PAUSED',
      reason: 'SCAM',
      other_info: { title: 'FIRST_PAUSE', description: 'Three hours.' },
    };
    expect(read(change(value)).templateChanges[0]?.reason).toBe('SCAM · FIRST_PAUSE · Three hours.');
  });

  test.each([
    ['LOCKED', 'FIRST_PAUSE', 'PAUSED'],
    ['LOCKED', 'DISABLED', 'DISABLED'],
    ['UNLOCKED', 'UNPAUSE', 'APPROVED'],
    ['PAUSED', 'SECOND_PAUSE', 'PAUSED'],
  ])('%s with the title %s makes it %s', (event, title, status) => {
    expect(read(change({ event, other_info: { title } })).templateChanges[0]?.status).toBe(status);
  });

  test('keeps an id that is longer than a double can hold', () => {
    const body = change({ event: 'APPROVED' }).replace('12345', '12345678901234567891');
    expect(read(body).templateChanges[0]?.templateId).toBe('12345678901234567891');
  });

  test.each([
    ['GREEN', 'GREEN'],
    ['YELLOW', 'YELLOW'],
    ['RED', 'RED'],
    ['UNKNOWN', 'UNKNOWN'],
    ['BLUE', 'UNKNOWN'],
  ])('of its quality to %s is read as %s, and leaves its status', (score, quality) => {
    const value = { new_quality_score: score, message_template_id: 12345, message_template_name: 'order_update' };
    const body = notification({ field: 'message_template_quality_update', value });
    expect(read(body).templateChanges).toMatchObject([{ templateId: '12345', status: null, quality }]);
  });

  test('of another kind is listed as other', () => {
    const body = notification({ field: 'template_category_update', value: { message_template_id: 1 } });
    expect(read(body).other).toEqual([
      { field: 'template_category_update', wabaId: WABA, phoneNumberId: null, why: 'field' },
    ]);
  });
});

test.each([
  ['account_update', { event: 'ACCOUNT_RESTRICTION' }, 'account_update ACCOUNT_RESTRICTION', true],
  [
    'account_update',
    { event: 'DISABLED_UPDATE', ban_info: { waba_ban_state: 'DISABLE' } },
    'account_update DISABLED_UPDATE',
    true,
  ],
  [
    'account_update',
    { event: 'DISABLED_UPDATE', ban_info: { waba_ban_state: 'REINSTATE' } },
    'account_update DISABLED_UPDATE',
    false,
  ],
  ['account_review_update', { decision: 'REJECTED' }, 'account_review_update', true],
  [
    'phone_number_quality_update',
    { display_phone_number: '1555', event: 'FLAGGED' },
    'phone_number_quality_update 1555',
    true,
  ],
  [
    'phone_number_quality_update',
    { display_phone_number: '1555', event: 'UNFLAGGED' },
    'phone_number_quality_update 1555',
    false,
  ],
  [
    'account_alerts',
    { alert_type: 'OBA_APPROVED', alert_severity: 'INFORMATIONAL' },
    'account_alerts OBA_APPROVED',
    false,
  ],
  ['security', null, 'security', false],
])('%s %j is about "%s", and whether it is serious is %s', (field, value, subject, serious) => {
  expect(read(notification({ field, value })).notices).toMatchObject([{ subject, serious }]);
});

test('a change of the account or a number is in the words of the network', () => {
  const value = {
    event: 'ACCOUNT_RESTRICTION',
    restriction_info: [{ restriction_type: 'RESTRICTED_BIZ_INITIATED_MESSAGING' }],
  };
  const { notices, other } = read(notification({ field: 'account_update', value }));
  expect(notices.map(({ text }) => text)).toEqual([`account_update: ${JSON.stringify(value)}`]);
  expect(other).toEqual([]);
});

describe('a notification for others', () => {
  const item = { id: 'wamid.A', status: 'delivered' };

  test('names its business account, so that the connection of that one can read it', () => {
    const body = notification(messagesChange({ statuses: [item] })).replace(WABA, '999');
    expect(readWhatsappCallback(request(body))).toMatchObject({ kind: 'ok', changes: [{ wabaId: '999' }] });
  });

  test('is not read when it belongs to another number of the same account', () => {
    const body = notification(messagesChange({ statuses: [item] }, '999'), messagesChange({ statuses: [item] }));
    expect(read(body)).toMatchObject({ receipts: [{ sender: NUMBER }], other: [{ why: 'foreign' }] });
  });

  test.each(['', '[]', 'null', '{"object":"page"}', '{', '"x"', '\ufeff{}'])('is malformed when it is %s', (body) => {
    expect(readWhatsappCallback(request(body))).toEqual({ kind: 'malformed' });
  });
});

test('entries, changes and items of a request are read in order', () => {
  const change = (first: number): object =>
    messagesChange({ statuses: [first, first + 1].map((n) => ({ id: `wamid.${n}`, status: 'sent' })) });
  const entry = (first: number): object => ({ id: WABA, changes: [change(first), change(first + 2)] });
  const body = JSON.stringify({ object: 'whatsapp_business_account', entry: [entry(0), entry(4)] });
  expect(read(body).receipts.map(({ carrierIds }) => carrierIds[0])).toEqual(
    [0, 1, 2, 3, 4, 5, 6, 7].map((n) => `wamid.${n}`),
  );
});

/** Members and values as the network writes them, in places where it never does. */
const names = fc.constantFrom(
  'id',
  'status',
  'errors',
  'code',
  'type',
  'text',
  'body',
  'from',
  'timestamp',
  'image',
  'contacts',
  'name',
  'interactive',
  'button_reply',
  'order',
  'product_items',
  'location',
  'latitude',
  'user_id',
  '__proto__',
  'toString',
);
const values = fc.oneof(
  fc.constantFrom('text', 'image', 'contacts', 'order', 'location', 'interactive', 'failed', 'read', '1750030073'),
  fc.jsonValue({ maxDepth: 2 }),
);
const item = fc.dictionary(
  names,
  fc.oneof(values, fc.array(values, { maxLength: 3 }), fc.dictionary(names, values, { maxKeys: 4 })),
  { maxKeys: 8 },
);

propertyTest.prop([
  fc.array(item, { maxLength: 4 }),
  fc.array(item, { maxLength: 4 }),
  fc.array(item, { maxLength: 2 }),
])(
  'whatever is signed is read without a failure, every item is reported once, and all of it can be stored',
  (messages, reports, contacts) => {
    const body = notification(messagesChange({ messages, statuses: reports, contacts }), ...contacts);
    const { receipts, inbounds, other } = read(body);
    const ofMessages = other.filter(({ field, why }) => why === 'unreadable' || field.startsWith('messages '));
    expect(receipts.length + inbounds.length + ofMessages.length).toBe(messages.length + reports.length);
    for (const { carrierIds, destination, raw } of receipts) storable(carrierIds.join(), destination, raw);
    for (const { text, source, rich } of inbounds) storable(text, source, rich?.id, rich?.profileName);
  },
);

function storable(...texts: readonly (string | null | undefined)[]): void {
  for (const text of texts) {
    expect(typeof (text ?? '')).toBe('string');
    expect(text ?? '').not.toContain('\0');
    expect((text ?? '').isWellFormed()).toBe(true);
  }
}
