// A bridge for programs that were written for Twilio: it takes "create a message" in Twilio's form and sends it through
// Heliograph, and turns Heliograph's webhook into Twilio's status callbacks and inbound webhooks. Node 20 or newer, without
// packages. See from-twilio.md beside it for what it maps, and for what it does not.
//
//   GATEWAY=https://gateway.example.com API_KEY=pg_live_… WEBHOOK_SECRET=whsec_… AUTH_TOKEN=… INBOUND_URL=https://… \
//     PORT=8443 TLS_CERT=cert.pem TLS_KEY=key.pem node docs/how-to/twilio-bridge.mjs
//
// AUTH_TOKEN is yours to choose: programs send it as the password, and it signs what the bridge posts to them.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';

const {
  GATEWAY,
  API_KEY,
  WEBHOOK_SECRET = '',
  AUTH_TOKEN,
  INBOUND_URL,
  PORT = '8443',
  TLS_CERT,
  TLS_KEY,
} = process.env;
if (!GATEWAY || !API_KEY || !AUTH_TOKEN) throw new Error('set GATEWAY, API_KEY and AUTH_TOKEN');
const key = Buffer.from(WEBHOOK_SECRET.replace('whsec_', ''), 'base64');

/** Heliograph's status codes (docs/message-states.md) as Twilio's MessageStatus and ErrorCode. */
const STATUSES = {
  1: ['sent'],
  2: ['failed', '30008'],
  3: ['delivered'],
  4: ['undelivered', '30036'],
  5: ['canceled'],
  6: ['undelivered', '30003'],
};
const UNDELIVERED = ['undelivered', '30008'];

/** Where the status of a message goes: in memory, so a restart forgets it. In production, keep it in a database. */
const callbacks = new Map();

const isSame = (one, other) => one.length === other.length && timingSafeEqual(one, other);

/** SM and 32 hex digits, as Twilio writes IDs: our own without hyphens. */
const sidOf = (messageId) => `SM${messageId.replaceAll('-', '')}`;

function isFromGateway({ 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': given }, body) {
  if (!(Math.abs(Date.now() / 1000 - Number(time)) <= 300) || key.length === 0) return false;
  const expected = Buffer.from(
    `v1,${createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64')}`,
  );
  return String(given)
    .split(' ')
    .some((one) => isSame(Buffer.from(one), expected));
}

/** Sends in Twilio's form; the answer is Twilio's, too. */
async function createMessage(accountSid, form) {
  const { To: phoneNumber, From: senderName, Body: message, ValidityPeriod, SendAt, StatusCallback } = form;
  const sent = await fetch(`${GATEWAY}/api/message-server/sms/send`, {
    method: 'POST',
    headers: { 'X-API-Key': API_KEY, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      phoneNumber,
      message,
      ...(senderName && { senderName }),
      ...(ValidityPeriod && { validityPeriod: Math.max(1, Math.ceil(Number(ValidityPeriod) / 60)) }),
      ...(SendAt && { scheduledDate: SendAt }),
    }),
  });
  const { messageId, results, message: error } = await sent.json();
  if (!messageId) return [sent.ok ? 400 : sent.status, failure(sent.status, error, results?.[0])];
  const sid = sidOf(messageId);
  if (StatusCallback) callbacks.set(sid, StatusCallback);
  const status = SendAt ? 'scheduled' : 'queued';
  return [
    201,
    {
      sid,
      account_sid: accountSid,
      to: phoneNumber,
      from: senderName ?? null,
      body: message,
      status,
      error_code: null,
    },
  ];
}

function failure(status, error, result) {
  const optedOut = /opted out/.test(result?.reasons[0] ?? '');
  const code = optedOut ? 21610 : status === 400 ? 21211 : 20001;
  return { code, message: error ?? result?.reasons.join('; '), status: status === 200 ? 400 : status };
}

/** Posts a form to a program as Twilio does: X-Twilio-Signature covers the URL and the sorted fields. */
async function post(url, fields) {
  const text = Object.keys(fields)
    .sort()
    .reduce((all, name) => all + name + fields[name], url);
  const signature = createHmac('sha1', AUTH_TOKEN).update(text).digest('base64');
  const taken = await fetch(url, {
    method: 'POST',
    headers: { 'X-Twilio-Signature': signature },
    body: new URLSearchParams(fields),
    signal: AbortSignal.timeout(4_000),
  });
  return taken.ok;
}

/** Passes an event on; false if the program did not take it, so that Heliograph repeats it. */
async function passOn(event, id) {
  if (event.eventType === 'INBOUND') {
    const { source: From, destination: To, text: Body } = event;
    // Inbound events carry no ID of a message; that of the event stays the same when it is repeated.
    const MessageSid = `SM${createHash('md5').update(id).digest('hex')}`;
    return INBOUND_URL ? post(INBOUND_URL, { MessageSid, SmsStatus: 'received', From, To, Body, NumMedia: '0' }) : true;
  }
  const sid = sidOf(event.messageId);
  const url = callbacks.get(sid);
  if (!url) return true;
  const [MessageStatus, ErrorCode] =
    event.eventType === 'READ' ? ['read'] : (STATUSES[event.statusCode] ?? UNDELIVERED);
  return post(url, {
    MessageSid: sid,
    SmsSid: sid,
    MessageStatus,
    To: event.destination,
    ...(ErrorCode && { ErrorCode }),
  });
}

async function answer(request) {
  const body = Buffer.concat(await request.toArray());
  const path = /^\/2010-04-01\/Accounts\/(\w+)\/Messages\.json$/.exec(request.url);
  if (!path) {
    if (!isFromGateway(request.headers, body)) return [401, {}];
    return [(await passOn(JSON.parse(body), request.headers['webhook-id'])) ? 200 : 502, {}];
  }
  const given = Buffer.from(String(request.headers.authorization));
  const expected = Buffer.from(`Basic ${Buffer.from(`${path[1]}:${AUTH_TOKEN}`).toString('base64')}`);
  if (!isSame(given, expected)) return [401, { code: 20003, message: 'Authenticate', status: 401 }];
  return createMessage(path[1], Object.fromEntries(new URLSearchParams(body.toString())));
}

const respond = (request, response) =>
  answer(request)
    .catch(
      (error) => (
        console.error(error.message), [502, { code: 20500, message: 'the gateway could not be reached', status: 502 }]
      ),
    )
    .then(([status, json]) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(json)),
    );
const tls = TLS_CERT && TLS_KEY ? { cert: readFileSync(TLS_CERT), key: readFileSync(TLS_KEY) } : null;
const handle = (request, response) => void respond(request, response);
const server = tls ? https.createServer(tls, handle) : http.createServer(handle);
server.listen(Number(PORT), () => console.log('the bridge is listening'));
