// A bridge for programs that were written for Twilio: it takes, finds, lists and cancels messages in Twilio's form and does so
// through Heliograph, and turns Heliograph's webhook into Twilio's status callbacks and inbound webhooks, whose TwiML it sends.
// Node 20 or newer, without packages. See from-twilio.md beside it for what it maps, and for what it does not.
//
//   GATEWAY=https://gateway.example.com API_KEY=pg_live_… WEBHOOK_SECRET=whsec_… ACCOUNT_SID=AC… AUTH_TOKEN=… \
//     INBOUND_URL=https://… STATUS_URL=https://… SERVICES=MG…=pool:NAME,MG…=ACME \
//     PORT=8443 TLS_CERT=cert.pem TLS_KEY=key.pem node docs/how-to/twilio-bridge.mjs
//
// AUTH_TOKEN is yours to choose: programs send it as the password, and it signs what the bridge posts to them.
import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';

const { GATEWAY, API_KEY, ACCOUNT_SID = '', AUTH_TOKEN, WEBHOOK_SECRET = '', INBOUND_URL, STATUS_URL } = process.env;
const { SERVICES = '', PORT = '8443', TLS_CERT, TLS_KEY } = process.env;
if (!GATEWAY || !API_KEY || !AUTH_TOKEN || !/^AC\w+$/.test(ACCOUNT_SID))
  throw new Error('set GATEWAY, API_KEY, ACCOUNT_SID and AUTH_TOKEN');
const key = Buffer.from(WEBHOOK_SECRET.replace('whsec_', ''), 'base64');
const messagesPath = `/2010-04-01/Accounts/${ACCOUNT_SID}/Messages`;
/** The sender of each messaging service. */
const senders = new Map(
  SERVICES.split(',')
    .filter(Boolean)
    .map((pair) => pair.split('=')),
);

/** Heliograph's status codes (docs/message-states.md) as Twilio's MessageStatus and ErrorCode. */
const STATUSES = {
  1: ['sent'],
  2: ['failed', '30008'],
  3: ['delivered'],
  4: ['undelivered', '30036'],
  5: ['canceled'],
  6: ['undelivered', '30003'],
};
/** Until then the stage says more. Nobody knows whether a message in state 0 was sent. */
const STAGES = { SCHEDULED: 'scheduled', QUEUED: 'queued', SUBMITTED: 'sent' };
const statusOf = ({ deliveryStatusCode: code, stage }) => (code > 1 ? STATUSES[code] : null) ?? [STAGES[stage]];

/** Twilio's codes for what Heliograph says of a field, and for its reasons to refuse a message. */
const FIELDS = { destination: 21211, sender: 21212, body: 21617, scheduledDate: 35114 };
const REASONS = [
  [/opted out/, 21610],
  [/insufficient credit/, 20005],
  [/no route|no price/, 21408],
  [/\bsender\b|\bpool\b/, 21212],
  [/^the number/, 21211],
];

const TAKEN = 'To From MessagingServiceSid Body StatusCallback ValidityPeriod SendAt ScheduleType'.split(' ');
/** What changes nothing about the message that arrives. All other fields are refused, unless they ask for nothing. */
const IGNORED = 'Attempt ForceDelivery MaxPrice MessageIntent ProvideFeedback RiskCheck TrafficType'.split(' ');
const NOTHING = ['', 'false', 'retain'];

const failure = (status, code, message) => [
  status,
  { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status },
];
const notSupported = (what) => failure(400, 20001, `${what} is not supported by the bridge to Heliograph`);
const notFound = (what) => failure(404, 20404, `The requested resource ${what} was not found`);
const isSame = (one, other) => one.length === other.length && timingSafeEqual(one, other);

/** SM and 32 hex digits, as Twilio writes IDs: our own without hyphens. */
const sidOf = (messageId) => `SM${messageId.replaceAll('-', '')}`;
const messageIdOf = (sid) =>
  /^SM([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})$/.exec(sid)?.slice(1).join('-');

/** Twilio's form of times, RFC 2822. */
const dateOf = (time) => (time ? new Date(time).toUTCString().replace('GMT', '+0000') : null);

/** Calls Heliograph; its answer as [status, JSON, Retry-After]. */
async function call(method, path, json) {
  const response = await fetch(`${GATEWAY}${path}`, {
    method,
    headers: { 'X-API-Key': API_KEY, 'Content-Type': 'application/json' },
    ...(json && { body: JSON.stringify(json) }),
    signal: AbortSignal.timeout(25_000),
  });
  const text = await response.text();
  return [response.status, text ? JSON.parse(text) : {}, response.headers.get('retry-after')];
}

/** An error of Heliograph as one of Twilio. */
function failureOf(status, { message, details }, retryAfter) {
  if (status === 400) return failure(400, FIELDS[details?.[0]?.field] ?? 20001, message);
  if (status === 404) return notFound('');
  if (status === 409) return failure(409, 20409, message);
  if (status === 429) return [...failure(429, 20429, 'Too Many Requests'), { 'Retry-After': retryAfter ?? '1' }];
  if (status === 503) return failure(503, 20503, message);
  console.error(`the gateway answers ${status}: ${message}`);
  return failure(500, 20500, `the gateway answers ${status}: ${message}`);
}

/** A record of Heliograph as Twilio's Message. */
function messageOf(record, service = null) {
  const { messageId, destination, sender, text, parts, acceptedAt, sendDate, deliveryDate, stage } = record;
  const [status, errorCode] = statusOf(record);
  const isSent = stage !== 'SCHEDULED' && stage !== 'QUEUED' && status !== 'canceled';
  const uri = `${messagesPath}/${sidOf(messageId)}`;
  return {
    sid: sidOf(messageId),
    account_sid: ACCOUNT_SID,
    messaging_service_sid: service,
    to: destination,
    from: sender || null,
    body: text,
    status,
    direction: 'outbound-api',
    num_segments: String(parts),
    num_media: '0',
    error_code: errorCode ? Number(errorCode) : null,
    error_message: (errorCode && record.errorMessage) ?? null,
    date_created: dateOf(acceptedAt),
    date_sent: isSent ? dateOf(sendDate) : null,
    date_updated: dateOf(deliveryDate ?? (isSent ? sendDate : acceptedAt)),
    price: null,
    price_unit: null,
    api_version: '2010-04-01',
    uri: `${uri}.json`,
    subresource_uris: { media: `${uri}/Media.json` },
  };
}

const isUrl = (text) => /^https?:\/\/\S+$/.test(text) && URL.canParse(text);
const isOtherChannel = (address) => /^[a-z]+:/.test(address);
const isService = (from) => /^MG[\da-f]{32}$/.test(from);

/** The messaging service stands in a field of its own, or in From. A number or a name beside it is the sender. */
const serviceOf = ({ MessagingServiceSid, From = '' }) => MessagingServiceSid || (isService(From) ? From : null);
const senderOf = (form) => (form.From && !isService(form.From) ? form.From : senders.get(serviceOf(form)));
const callbackOf = ({ StatusCallback }) => StatusCallback || STATUS_URL;

/** What can be wrong with a message before Heliograph sees it; the first that applies. */
const FAULTS = [
  [({ To }) => !To, 21604, "A 'To' phone number is required."],
  [
    ({ To, From = '' }) => isOtherChannel(To) || isOtherChannel(From),
    63007,
    'The bridge to Heliograph sends SMS only.',
  ],
  [({ sender, service }) => !sender && service, 21701, 'The messaging service is not in SERVICES of the bridge.'],
  [({ sender }) => !sender, 21603, "A 'From' number, name or messaging service is required."],
  [({ Body }) => !Body, 21602, 'Message body is required.'],
  [
    ({ url }) => url && !(isUrl(url) && url.length <= 170),
    21609,
    'StatusCallback must be a URL of at most 170 characters.',
  ],
  [({ ScheduleType }) => ScheduleType && ScheduleType !== 'fixed', 35126, 'ScheduleType must be fixed.'],
  [({ ScheduleType, SendAt }) => ScheduleType && !SendAt, 35111, 'SendAt is required with ScheduleType.'],
];

function faultOf(form) {
  const isTaken = (name) => TAKEN.includes(name) || IGNORED.includes(name) || NOTHING.includes(form[name]);
  const other = Object.keys(form).find((name) => !isTaken(name));
  if (other) return notSupported(other);
  const asked = { ...form, sender: senderOf(form), service: serviceOf(form), url: callbackOf(form) };
  const [, code, text] = FAULTS.find(([isWrong]) => isWrong(asked)) ?? [];
  return code && failure(400, code, text);
}

function refusalOf(reasons) {
  const code = REASONS.find(([pattern]) => pattern.test(reasons[0]))?.[1] ?? 20001;
  return failure(code === 20005 ? 403 : 400, code, reasons.join('; '));
}

/**
 * A message as Heliograph takes it. Where its status goes is part of its own ID, so that nothing has to be kept here; `id`
 * makes it unique, and a repeat with the same one sends nothing.
 */
function toSend(form, id) {
  const { To, From, Body, ValidityPeriod, SendAt } = form;
  const url = callbackOf(form);
  return {
    destination: To,
    sender: senderOf(form),
    body: Body,
    customerMessageId: url ? `twilio:${id} ${url} ${From || serviceOf(form)}` : `twilio:${id}`,
    ...(ValidityPeriod && { validityPeriod: Math.ceil(Number(ValidityPeriod) / 60) }),
    ...(SendAt && { scheduledDate: SendAt }),
  };
}

/** Sends in Twilio's form; the answer is Twilio's, too. */
async function createMessage(form, id = randomUUID()) {
  const fault = faultOf(form);
  if (fault) return fault;
  const sent = toSend(form, id);
  const [status, given, retryAfter] = await call('POST', '/api/message-server/sms/send', sent);
  if (status !== 200) return failureOf(status, given, retryAfter);
  const { accepted, parts, reasons, sender = sent.sender } = given.results.sms;
  if (!accepted) return refusalOf(reasons);
  const stage = sent.scheduledDate ? 'SCHEDULED' : 'QUEUED';
  const record = {
    messageId: given.messageId,
    destination: form.To,
    text: form.Body,
    parts,
    stage,
    acceptedAt: Date.now(),
  };
  // With a service, Twilio names the sender only once it was sent.
  const service = serviceOf(form);
  return [201, messageOf({ ...record, sender: service ? null : sender }, service)];
}

async function fetchMessage(sid) {
  const messageId = messageIdOf(sid);
  if (!messageId) return notFound(sid);
  const [status, found, retryAfter] = await call('GET', `/api/partner-gateway/v1/messages?q=${messageId}`);
  if (status !== 200) return failureOf(status, found, retryAfter);
  const record = found.data.find(({ channel }) => channel === 'SMS');
  return record ? [200, messageOf(record)] : notFound(sid);
}

/** Cancels a message that waits; Twilio's other change, an empty Body, has no counterpart. */
async function updateMessage(sid, { Status, ...others }) {
  if (Object.keys(others).length > 0) return notSupported(`Changing ${Object.keys(others)[0]}`);
  if (Status !== 'canceled') return notSupported(`Status=${Status}`);
  const messageId = messageIdOf(sid);
  if (!messageId) return notFound(sid);
  const [status, given, retryAfter] = await call('DELETE', `/api/partner-gateway/v1/messages/${messageId}`);
  if (status === 404) return notFound(sid);
  if (status === 409) return failure(400, 30409, 'This message cannot be canceled');
  return status === 204 ? fetchMessage(sid) : failureOf(status, given, retryAfter);
}

/** Twilio's filters as Heliograph's. A date alone means its first moment, and in DateSent the whole day. */
const FILTERS = {
  To: (to) => ({ destination: to }),
  From: (from) => ({ sender: from }),
  'DateSent>': (at) => ({ from: at.length > 10 ? at : `${at}T00:00:00Z` }),
  'DateSent<': (at) => ({ to: at.length > 10 ? at : `${at}T00:00:00Z` }),
  DateSent: (at) => ({ from: `${at.slice(0, 10)}T00:00:00Z`, to: `${at.slice(0, 10)}T23:59:59.999Z` }),
  PageSize: (size) => ({ limit: String(Math.min(Number(size), 200)) }),
  PageToken: (token) => ({ before: token }),
  Page: () => ({}),
};

/** Lists messages that were sent, the newest first. */
async function listMessages(asked) {
  const other = [...asked.keys()].find((name) => !FILTERS[name]);
  const page = Number(asked.get('Page') ?? 0);
  if (other) return notSupported(other);
  if (page > 0 && !asked.get('PageToken')) return notSupported('Page without PageToken');
  const filters = [...asked].map(([name, value]) => FILTERS[name](value));
  const query = Object.assign({ channel: 'SMS', from: '2020-01-01T00:00:00Z', limit: '50' }, ...filters);
  const [status, found, retryAfter] = await call(
    'GET',
    `/api/partner-gateway/v1/messages?${new URLSearchParams(query)}`,
  );
  if (status !== 200) return failureOf(status, found, retryAfter);
  const uri = (more) => `${messagesPath}.json?${new URLSearchParams({ ...Object.fromEntries(asked), ...more })}`;
  return [
    200,
    {
      messages: found.data.map((record) => messageOf(record)),
      page,
      page_size: Number(query.limit),
      uri: uri({}),
      first_page_uri: `${messagesPath}.json?PageSize=${query.limit}`,
      next_page_uri: found.next && uri({ Page: page + 1, PageToken: found.next }),
      previous_page_uri: null,
    },
  ];
}

/**
 * Posts a form to a program as Twilio does: X-Twilio-Signature covers the URL and the sorted fields. What stands behind `#`
 * in the URL is for Twilio alone, and a name and password in it become a header.
 */
async function post(url, fields, id) {
  const [signed] = url.split('#');
  const target = new URL(signed);
  const user = [target.username, target.password].map(decodeURIComponent).join(':');
  target.username = target.password = '';
  const text = Object.keys(fields)
    .sort()
    .reduce((all, name) => all + name + fields[name], signed);
  const response = await fetch(target, {
    method: 'POST',
    headers: {
      'X-Twilio-Signature': createHmac('sha1', AUTH_TOKEN).update(text).digest('base64'),
      'I-Twilio-Idempotency-Token': id,
      ...(user !== ':' && { Authorization: `Basic ${Buffer.from(user).toString('base64')}` }),
    },
    body: new URLSearchParams(fields),
    signal: AbortSignal.timeout(15_000),
  });
  if (!response.ok) console.error(`${target.origin}${target.pathname} answers ${response.status}`);
  return { ok: response.ok, type: response.headers.get('content-type') ?? '', text: await response.text() };
}

const ENTITIES = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
const toXml = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const fromXml = (text) =>
  text.replaceAll(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (all, hex, decimal, name) =>
    name ? (ENTITIES[name] ?? all) : String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(decimal)),
  );
const ELEMENT = /<(\w+)\b([^>]*?)(?:\/>|>([^]*?)<\/\1\s*>)/g;

/** The messages that a program answers with, as forms: TwiML, or a plain text. What cannot be sent is written to the log. */
function repliesIn({ type, text }) {
  if (type.startsWith('text/plain')) return text.trim() ? [{ Body: text }] : [];
  const xml = text
    .replaceAll(/<!--[^]*?-->|<\?[^]*?\?>/g, '')
    .replaceAll(/<!\[CDATA\[([^]*?)\]\]>/g, (_, raw) => toXml(raw))
    .trim();
  const [, verbs = ''] = /^<Response\b[^>]*?(?:\/>|>([^]*)<\/Response\s*>)$/.exec(xml) ?? [];
  if (xml && !/^<Response\b/.test(xml)) console.error(`not TwiML: ${xml.slice(0, 100)}`);
  return [...verbs.matchAll(ELEMENT)].flatMap(([all, verb, attributes, content = '']) => {
    if (!/^(Message|Sms)$/.test(verb) || content.includes('<Media')) {
      console.error(`the bridge cannot do this TwiML: ${all}`);
      return [];
    }
    const given = Object.fromEntries(
      [...attributes.matchAll(/(\w+)\s*=\s*("[^"]*"|'[^']*')/g)].map(([, name, value]) => [
        name,
        fromXml(value.slice(1, -1)),
      ]),
    );
    const { to, from, statusCallback = given.action } = given;
    const Body = fromXml(/<Body\b[^>]*>([^]*?)<\/Body\s*>/.exec(content)?.[1] ?? content).trim();
    return [
      {
        Body,
        ...(to && { To: to }),
        ...(from && { From: from }),
        ...(statusCallback && { StatusCallback: statusCallback }),
      },
    ];
  });
}

/** Passes an inbound message on, and sends what the program answers. */
async function receive({ source, destination, text }, id) {
  // Inbound events carry no ID of a message; that of the event stays the same when it is repeated.
  const MessageSid = `SM${createHash('md5').update(id).digest('hex')}`;
  const ids = { MessageSid, SmsSid: MessageSid, SmsMessageSid: MessageSid, AccountSid: ACCOUNT_SID };
  const content = { From: source, To: destination, Body: text, NumMedia: '0', NumSegments: '1' };
  const answer = await post(INBOUND_URL, { ...ids, ...content, SmsStatus: 'received', ApiVersion: '2010-04-01' }, id);
  if (!answer.ok) return false;
  for (const [i, fields] of repliesIn(answer).entries()) {
    const form = { From: destination, To: source, ...fields };
    // An event that is repeated, because something below failed, must not send what was sent (409: other text under this ID).
    const [status, { message }] = await createMessage(form, createHash('md5').update(`${id} ${i}`).digest('hex'));
    if (status === 429 || status >= 500) return false;
    if (status >= 400 && status !== 409) console.error(`a reply to ${source} was refused: ${message}`);
  }
  return true;
}

/** Passes an event on; false if the program did not take it, so that Heliograph repeats it. */
async function passOn(event, id) {
  if (event.channel !== 'SMS') return true;
  if (event.eventType === 'INBOUND') return INBOUND_URL ? receive(event, id) : true;
  const [, url, from = ''] = /^twilio:\S+ (\S+) (.*)$/s.exec(event.customerMessageId ?? '') ?? [];
  const [status, ErrorCode] = STATUSES[event.statusCode] ?? [];
  if (!url || !status) return true;
  const MessageSid = sidOf(event.messageId);
  const ids = { MessageSid, SmsSid: MessageSid, AccountSid: ACCOUNT_SID, ApiVersion: '2010-04-01' };
  const sender = { [isService(from) ? 'MessagingServiceSid' : 'From']: from };
  const fields = { ...ids, ...sender, To: event.destination, MessageStatus: status, SmsStatus: status };
  return (await post(url, { ...fields, ...(ErrorCode && { ErrorCode }) }, id)).ok;
}

/**
 * Events in work and the last that were passed on, by their ID. Programs may take 15 s, as with Twilio, but Heliograph repeats
 * an event after 5 s: the repeat waits for the same work, and the program gets the event once.
 */
const events = new Map();

function once(id, work) {
  const done =
    events.get(id) ??
    work().catch((error) => {
      console.error(error.message);
      return false;
    });
  events.set(id, done);
  if (events.size > 10_000) events.delete(events.keys().next().value);
  return done.then((isTaken) => {
    if (!isTaken) events.delete(id);
    return isTaken;
  });
}

function isFromGateway({ 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': given }, body) {
  if (!(Math.abs(Date.now() / 1000 - Number(time)) <= 300) || key.length === 0) return false;
  const signed = createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64');
  return String(given)
    .split(' ')
    .some((one) => isSame(Buffer.from(one), Buffer.from(`v1,${signed}`)));
}

/** The account with its token, or any API key (SK…) with the same secret. */
function isFromProgram({ authorization = '' }) {
  const [, user, password = ''] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(authorization.replace(/^Basic /i, ''), 'base64').toString()) ?? [];
  return (user === ACCOUNT_SID || user?.startsWith('SK')) && isSame(Buffer.from(password), Buffer.from(AUTH_TOKEN));
}

/** What a program asks for. */
async function answerProgram({ method, url }, body) {
  const { pathname, searchParams } = new URL(url, 'http://bridge');
  const form = Object.fromEntries(new URLSearchParams(body.toString()));
  const what = `${method} ${pathname}`;
  if (what === `POST ${messagesPath}.json`) return createMessage(form);
  if (what === `GET ${messagesPath}.json`) return listMessages(searchParams);
  const [, sid] = new RegExp(`^${messagesPath}/(\\w+)(?:\\.json)?$`).exec(pathname) ?? [];
  if (!sid) return failure(404, 20404, `The bridge to Heliograph has no ${what}, only messages of ${ACCOUNT_SID}`);
  if (method === 'GET') return fetchMessage(sid);
  if (method === 'POST') return updateMessage(sid, form);
  return failure(405, 20004, `The bridge to Heliograph does not ${method} messages`);
}

const MAX_BYTES = 64 * 1024;

/** The body; null if it is too long. Who sends it is known only afterwards. */
async function read(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function handle(request) {
  const { headers } = request;
  const isEvent = headers['webhook-id'] !== undefined;
  if (!isEvent && !isFromProgram(headers)) return failure(401, 20003, 'Authenticate');
  const body = await read(request);
  if (body === null) return failure(413, 20413, 'The body is too large');
  if (!isEvent) return answerProgram(request, body);
  if (!isFromGateway(headers, body)) return [401, {}];
  const id = headers['webhook-id'];
  return [(await once(id, () => passOn(JSON.parse(body), id))) ? 200 : 502, {}];
}

const respond = (request, response) =>
  handle(request)
    .catch((error) => {
      console.error(error.message);
      return failure(500, 20500, `the bridge could not ask Heliograph: ${error.message}`);
    })
    .then(([status, json, headers]) =>
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(json)),
    );
const tls = TLS_CERT && TLS_KEY ? { cert: readFileSync(TLS_CERT), key: readFileSync(TLS_KEY) } : null;
const listener = (request, response) => void respond(request, response);
const server = tls ? https.createServer(tls, listener) : http.createServer(listener);
server.listen(Number(PORT), () => console.log('the bridge is listening'));
