import type { Route } from '../lib/routes.ts';

/** The bytes of a request, sent on a separate socket. */
export type RawRequest = {
  readonly name: string;
  readonly bytes: Buffer;
  /** Number of expected responses: a request hidden in the body of another one gets none. */
  readonly answers: number;
};

const BROKEN_JSON = [
  '',
  ' ',
  '{',
  '}',
  '{}{}',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  "{'a':1}",
  '{a:1}',
  '[1,]',
  '[',
  ']',
  '"',
  '"\\u12"',
  '"\\x41"',
  '01',
  '1.',
  '.1',
  '+1',
  '-',
  '1e',
  'nul',
  'NaN',
  'Infinity',
  'undefined',
  '// comment\n{}',
  '\u0000',
  '"\u0001"',
  '[]',
  'null',
  'true',
  '"text"',
  '1e400',
  '{"__proto__":{}}',
  '{"constructor":{"prototype":{}}}',
  '{"a":"\\ud800"}',
  '{"a":"\\u0000"}',
  '[[[[[[[[[[',
  `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
  `{"a":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_001)}`,
];

const NOT_UTF8 = [
  [0xff, 0xfe],
  [0x7b, 0x22, 0xc3, 0x28, 0x22, 0x7d],
  [0xed, 0xa0, 0x80],
  [0xf8, 0x88, 0x80, 0x80, 0x80],
];

const CONTENT_TYPES = [
  '',
  'text/plain',
  'text/html',
  'application/xml',
  'application/x-www-form-urlencoded',
  'application/json; charset=latin1',
  'application/jsonp',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary="',
  `multipart/form-data; boundary=${'b'.repeat(300)}`,
  '/',
  ';;;',
  'application/json, text/plain',
  'a'.repeat(5000),
];

const SEARCHES = [
  '?',
  '?&&&&',
  '?=',
  '?a[b]=c',
  '?a[]=1&a[]=2',
  '?page=-1',
  '?page=1e400',
  '?page=NaN',
  '?limit=0',
  '?limit=1001',
  '?limit=9223372036854775808',
  '?page=1&page=2',
  '?__proto__=1',
  '?constructor=1',
  '?%',
  '?%ff=%fe',
  '?%00',
  '?a=%00',
  '?from=2026-99-99&to=x',
  `?ids=${'a,'.repeat(1001)}`,
  `?${'a=1&'.repeat(5000)}`,
  `?q=${'x'.repeat(20_000)}`,
  '#fragment',
  ';jsessionid=1',
  '/../../etc/passwd',
  '/%2e%2e/%2e%2e',
  '%2f',
  '//',
  '\\',
  '/\u00ff',
];

const TAIL = 'Connection: close\r\n\r\n';

/**
 * Returns requests that the program must withstand: broken bodies, types and paths on every route, and invalid HTTP.
 */
export function fixedRequests(routes: readonly Route[], apiKey: string): RawRequest[] {
  const head = (route: Pick<Route, 'method' | 'url'>, path = concrete(route.url)): string =>
    `${route.method} ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${apiKey}\r\n`;
  const withBody = (route: Route, body: Buffer, type: string): Buffer =>
    Buffer.concat([
      Buffer.from(`${head(route)}Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n${TAIL}`),
      body,
    ]);
  const bodied = routes.filter(({ method }) => method !== 'GET' && method !== 'DELETE');
  const bodies = [...BROKEN_JSON.map((text) => Buffer.from(text)), ...NOT_UTF8.map((bytes) => Buffer.from(bytes))];
  return [
    ...bodied.flatMap((route, n) =>
      // Every route gets a third of the bodies, and each body goes to many routes.
      bodies
        .filter((_, i) => (i + n) % 3 === 0)
        .map((body) =>
          named(`${route.name} with ${body.toString('latin1')}`, withBody(route, body, 'application/json')),
        ),
    ),
    ...bodied.flatMap((route, n) =>
      CONTENT_TYPES.filter((_, i) => (i + n) % 3 === 0).map((type) =>
        named(`${route.name} of the type ${type}`, withBody(route, Buffer.from('{}'), type)),
      ),
    ),
    ...routes.flatMap((route, n) =>
      SEARCHES.filter((_, i) => (i + n) % 2 === 0).map((search) =>
        named(`${route.name}${search}`, Buffer.from(head(route, concrete(route.url) + search) + TAIL, 'latin1')),
      ),
    ),
    ...httpRequests(apiKey),
  ];
}

const concrete = (url: string): string => url.replace(/:\w+/g, '1');
const named = (name: string, bytes: Buffer, answers = 1): RawRequest => ({
  name: name.slice(0, 120),
  bytes,
  answers,
});

const PATH = '/api/message-server/sms/send';
const HIDDEN_REQUEST = 'GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** HTTP requests by name, each as its lines; a body comes after the empty line. */
function httpRequests(apiKey: string): RawRequest[] {
  const host = 'Host: localhost';
  const key = `X-API-Key: ${apiKey}`;
  const json = 'Content-Type: application/json';
  const post = `POST ${PATH} HTTP/1.1`;
  const asked = [post, host, key, json];
  const chunked = [...asked, 'Transfer-Encoding: chunked', ''];
  const sized = (length: string): string[] => [...asked, `Content-Length: ${length}`, '', '{}'];
  const forms: Readonly<Record<string, readonly string[]>> = {
    'half a request line': ['POST /api'],
    'half a header': [post, 'Host: loc'],
    'half a body': [...asked, 'Content-Length: 100', '', '{"phone'],
    'no body where one was announced': [...asked, 'Content-Length: 10', '', ''],
    'no Host': [post, key, '', ''],
    'two Hosts': [post, host, 'Host: other', key, '', ''],
    'an empty Host': [post, 'Host:', key, '', ''],
    'an invalid Host': [post, 'Host: a b/c', key, '', ''],
    'two different lengths': [...asked, 'Content-Length: 2', 'Content-Length: 3', '', '{}'],
    'a list of lengths': sized('2, 3'),
    'a negative length': sized('-1'),
    'a length with a plus': sized('+2'),
    'a length in hex': sized('0x2'),
    'a length beyond any number': sized('99999999999999999999'),
    'a length beyond the limit': sized('999999999'),
    'a length and chunks': [
      ...asked,
      'Content-Length: 6',
      'Transfer-Encoding: chunked',
      '',
      `0\r\n\r\n${HIDDEN_REQUEST}`,
    ],
    'chunks and a length': [...asked, 'Transfer-Encoding: chunked', 'Content-Length: 4', '', `5c\r\n${HIDDEN_REQUEST}`],
    'chunks twice': [
      ...asked,
      'Transfer-Encoding: chunked',
      'Transfer-Encoding: identity',
      '',
      `0\r\n\r\n${HIDDEN_REQUEST}`,
    ],
    'chunks, misspelt': [...asked, 'Transfer-Encoding: xchunked', 'Content-Length: 2', '', `{}${HIDDEN_REQUEST}`],
    'chunks behind a space': [...asked, 'Transfer-Encoding : chunked', '', `0\r\n\r\n${HIDDEN_REQUEST}`],
    'chunks behind a tab': [...asked, 'Transfer-Encoding:\tchunked', '', '0', '', ''],
    'chunks behind a vertical tab': [...asked, 'Transfer-Encoding:\vchunked', '', `0\r\n\r\n${HIDDEN_REQUEST}`],
    'chunks in another coding': [...asked, 'Transfer-Encoding: gzip, chunked', '', '0', '', ''],
    'chunked as the first coding': [...asked, 'Transfer-Encoding: chunked, gzip', '', `0\r\n\r\n${HIDDEN_REQUEST}`],
    'a chunk without a size': [...chunked, '', '{}', '0', '', ''],
    'a chunk size that is not a number': [...chunked, 'zz', '{}', '0', '', ''],
    'a negative chunk size': [...chunked, '-1', '{}', '0', '', ''],
    'a chunk size beyond any number': [...chunked, 'ffffffffffffffffff', '{}', '0', '', ''],
    'a chunk longer than announced': [...chunked, '2', '{"a":1}', '0', '', ''],
    'a chunk shorter than announced': [...chunked, 'ff', '{}', '0', '', ''],
    'chunks without an end': [...chunked, '2', '{}'],
    'endless chunk extensions': [...chunked, `2;${'a=b;'.repeat(20_000)}`, '{}', '0', '', ''],
    trailers: [...chunked, '2', '{}', '0', 'X-API-Key: other', '', ''],
    'a hundred thousand trailers': [
      ...chunked,
      '2',
      '{}',
      '0',
      ...Array.from({ length: 20_000 }, (_, i) => `a${i}: b`),
      '',
      '',
    ],
    'a folded header': [post, host, 'X-A: b', ' c', key, '', ''],
    'a header without a colon': [post, host, 'nonsense', key, '', ''],
    'a header without a name': [post, host, ': value', key, '', ''],
    'a header with a space in its name': [post, host, 'X A: b', key, '', ''],
    'a header with a NUL': [post, host, 'X-A: b\u0000c', key, '', ''],
    'a header with a bare CR': [post, host, 'X-A: b\rX-B: c', key, '', ''],
    'a header too large': [post, host, `X-A: ${'a'.repeat(200_000)}`, key, '', ''],
    'too many headers': [post, host, ...Array.from({ length: 20_000 }, (_, i) => `a${i}: b`), key, '', ''],
    'a thousand cookies': [post, host, key, `Cookie: ${'a=b; '.repeat(1000)}`, '', ''],
    'two keys': [post, host, key, 'X-API-Key: other', '', ''],
    'an unknown method': [`BREW ${PATH} HTTP/1.1`, host, '', ''],
    'a method in lower case': [`post ${PATH} HTTP/1.1`, host, '', ''],
    'an overlong method': [`${'A'.repeat(5000)} / HTTP/1.1`, host, '', ''],
    TRACE: [`TRACE ${PATH} HTTP/1.1`, host, key, '', ''],
    'OPTIONS *': ['OPTIONS * HTTP/1.1', host, '', ''],
    'a URL with a host': [`GET http://other.example${PATH} HTTP/1.1`, host, key, '', ''],
    'a URL without a slash': ['GET api HTTP/1.1', host, key, '', ''],
    'a URL with a space': ['GET /a b HTTP/1.1', host, key, '', ''],
    'an overlong URL': [`GET /${'a'.repeat(200_000)} HTTP/1.1`, host, key, '', ''],
    'HTTP/0.9': ['GET /'],
    'HTTP/1.0': [`POST ${PATH} HTTP/1.0`, key, json, 'Content-Length: 2', '', '{}'],
    'HTTP/2.0': [`GET ${PATH} HTTP/2.0`, host, '', ''],
    'HTTP/9.9': [`GET ${PATH} HTTP/9.9`, host, '', ''],
    'no version': [`GET ${PATH}`, host, '', ''],
    'the preface of HTTP/2': ['PRI * HTTP/2.0', '', 'SM', '', ''],
    'an upgrade to a socket': [
      `GET ${PATH} HTTP/1.1`,
      host,
      key,
      'Upgrade: websocket',
      'Connection: Upgrade',
      'Sec-WebSocket-Key: x',
      'Sec-WebSocket-Version: 13',
      '',
      '',
    ],
    'an upgrade to HTTP/2': [
      `GET ${PATH} HTTP/1.1`,
      host,
      key,
      'Upgrade: h2c',
      'Connection: Upgrade, HTTP2-Settings',
      'HTTP2-Settings: AA',
      '',
      '',
    ],
    'an expectation': [...asked, 'Expect: 100-continue', 'Content-Length: 2', '', '{}'],
    'an unknown expectation': [...asked, 'Expect: the-unexpected', 'Content-Length: 2', '', '{}'],
    'lines without CR': [`${post}\n${host}\n${key}\n\n`],
    'CR only': [`${post}\r${host}\r${key}\r\r`],
    'empty lines first': ['', '', '', post, host, key, '', ''],
    TLS: ['\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'],
    'a NUL': ['\u0000'],
    'all bytes': [Array.from({ length: 256 }, (_, i) => String.fromCharCode(i)).join('')],
    SSH: ['SSH-2.0-OpenSSH_9.6', ''],
    SMTP: ['EHLO localhost', ''],
    'a compressed body': [...asked, 'Content-Encoding: gzip', 'Content-Length: 2', '', '{}'],
    'a body with GET': [`GET ${PATH} HTTP/1.1`, host, key, json, 'Content-Length: 2', '', '{}'],
    ranges: [`GET /openapi.json HTTP/1.1`, host, 'Range: bytes=0-,0-,0-,0-', '', ''],
    'Basic credentials that are not Base64': [post, host, 'Authorization: Basic \u00ff\u00fe', '', ''],
    'Basic credentials without a colon': [post, host, 'Authorization: Basic YWJj', '', ''],
    'Basic credentials with a NUL': [post, host, 'Authorization: Basic YQBiOmMAZA==', '', ''],
    'an overlong Authorization': [post, host, `Authorization: Basic ${'QUJD'.repeat(20_000)}`, '', ''],
  };
  return [
    ...Object.entries(forms).map(([name, lines]) => named(name, closing(lines))),
    named('nothing', Buffer.alloc(0), 0),
    named('CONNECT', Buffer.from(`CONNECT localhost:443 HTTP/1.1\r\n${host}\r\n\r\n`), 0),
    named('three requests in one packet', Buffer.from(`GET /health/live HTTP/1.1\r\n${host}\r\n\r\n`.repeat(3)), 3),
  ];
}

/** Adds `Connection: close` after the request line, so that the server closes the connection after its response. */
function closing([first = '', ...rest]: readonly string[]): Buffer {
  const asks = rest.length > 1 && !rest.some((line) => line.startsWith('Connection:')) && / HTTP\/1\.[01]$/.test(first);
  return Buffer.from([first, ...(asks ? ['Connection: close'] : []), ...rest].join('\r\n'), 'latin1');
}
