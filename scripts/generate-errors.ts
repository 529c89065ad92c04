// Writes docs/errors.md from the table of errors (src/core/errors.ts), with the cause of each error and what to do;
// --check fails if the file is out of date. An error without a cause and a cure does not compile.

import { STATUS_CODES } from 'node:http';
import { ERRORS, type ErrorCode } from '../src/core/errors.ts';
import { checkOrWrite } from './generated-file.ts';

type Help = readonly [cause: string, cure: string];

const HELP: Readonly<Record<ErrorCode, Help>> = {
  invalid: [
    'A field, a parameter or a header is missing, has the wrong type or is outside its limits.',
    '`details` lists every invalid field with what is wrong. Fix them all: a retry of the same request does not help.',
  ],
  malformed_json: [
    'The body cannot be parsed: a trailing comma, single quotes, an unescaped line break, or a shell that removed the quotes.',
    'Let a JSON library write the body. In a shell, put it between single quotes, or in a file (`curl -d @file.json`).',
  ],
  unauthenticated: [
    'No credentials, a key that was deleted, rotated or has expired, a wrong password, or a session that has ended.',
    'Send `X-API-Key`, or Basic authentication ([authentication](api.md#authentication)). Do not retry: failed attempts are limited.',
  ],
  forbidden: [
    'The key lacks the scope, the user the role, or the plan the channel; or the address of the caller is not allowed.',
    '`message` says which. An admin of the account can change scopes, roles and addresses ([operations](operations.md#roles)); an operator, the plan.',
  ],
  step_up_required: [
    'A sensitive operation in a session whose user has not confirmed who they are within ten minutes. The body has this `code`.',
    'Confirm with a password, a code or a passkey, then repeat the request ([for programs](second-factors.md#for-programs)).',
  ],
  second_factor_required: [
    'The account requires a second factor, and this user has none. The body has this `code`.',
    'Add an authenticator app or a passkey first ([second factors](second-factors.md)).',
  ],
  plaintext_refused: [
    'The request came over plain HTTP, or the proxy in front does not state that it came over HTTPS.',
    'Use the `https://` address. If a proxy ends TLS, it must send `X-Forwarded-Proto`, and `TRUST_PROXY` must name it ([TLS and proxies](how-to/behind-a-proxy.md#what-a-proxy-must-do)). Replace a key that went over the network in clear.',
  ],
  not_found: [
    'There is nothing at this path, or no object with this ID in your account. An object of another account looks the same.',
    'Compare the path with [all operations](operations.md), and the ID with a list. Messages and exports are deleted after `RETENTION_DAYS`.',
  ],
  verification_blocked: [
    'The guard of the service stopped a code: a rule about its country, its line type, its range or its client. The body has this `code`.',
    '`reasons` names the rule and its figures, unless the service is discreet. Release the range, or change the guard, if it is wrong ([verify](how-to/verify.md#the-guard)).',
  ],
  challenge_required: [
    'The guard wants the user to pass a captcha before a code is sent. The body has this `code`.',
    'Show one, sign the token in `challenge`, and repeat the request with `challengePassed` ([verify](how-to/verify.md#challenges)).',
  ],
  no_open_verification: [
    'The verification has ended, or there is none with this ID or for this number. The body has this `code`.',
    'Start another one.',
  ],
  method_not_allowed: [
    'The path exists, but not with this method.',
    'The header `Allow` lists the methods of the path.',
  ],
  conflict: [
    'Something that exists contradicts the request: a name that is taken, a state that does not allow the change, or an ID or idempotency key that was used with other content.',
    '`message` says what. With `Retry-After`, the first request with the same key is still in progress: repeat it. Otherwise read the current state and decide again; use a new key for a new request ([idempotent requests](api.md#idempotent-requests)).',
  ],
  already_used: [
    'The code of this verification was entered before: it is approved once. The body has this `code`.',
    'Do not let the second request in. Start another verification if the user needs one.',
  ],
  gone: [
    'The cursor of a feed of events is older than the feed, which has seven days, or was made by another database.',
    'Read the feed from its beginning, without `after`, and compare what you have with the API.',
  ],
  too_large: [
    'The body, an uploaded file or the number of values in it is above the limit of the operation.',
    'Split the request, or make the file smaller ([limits](limits.md#sizes-of-requests)).',
  ],
  unsupported_media_type: [
    'The body is not of the type that the operation takes; often the header `Content-Type` is missing.',
    'Send `Content-Type: application/json`; for uploads, `multipart/form-data` with its boundary.',
  ],
  range_not_satisfiable: [
    'The header `Range` of a download begins after the end of the file.',
    '`Content-Range` contains the size of the file. Download it whole, or from a position inside it.',
  ],
  rate_limited: [
    'Above the requests per second or per minute of the key or of the account, too many failed sign-ins, or too many large requests at the same time.',
    'Wait for `Retry-After` seconds (`retryAfter` in the body), then retry with exponential backoff. Bulk requests need fewer calls ([rate limits](api.md#rate-limits)).',
  ],
  resend_too_soon: [
    'A code was sent to the number a moment ago. The body has this `code`.',
    'Offer to send it again after `Retry-After` seconds.',
  ],
  too_many_codes: [
    'The number, the address, the user or the service has had as many codes as it may have ([limits](how-to/verify.md#limits)). The body has this `code`.',
    'Wait for `Retry-After` seconds. It does not help to start another verification.',
  ],
  number_locked: [
    'Too many wrong codes were entered for the number, over all its verifications. The body has this `code`.',
    'Wait for `Retry-After` seconds. Somebody may be guessing: tell the user.',
  ],
  cost_cap: [
    'Codes have cost as much as the guard of the service allows in an hour or a day. The body has this `code`.',
    'Look at the ranges and countries of the service before you raise the cap ([verify](how-to/verify.md#the-guard)).',
  ],
  internal: [
    'A fault of the gateway. The text is always the same; the reason is in the log of the server.',
    'Repeat with the same `Idempotency-Key`. If it persists, report it with `requestId`; the operator finds the reason in the log by this ID.',
  ],
  bad_gateway: [
    'Meta, Google, a social network or the provider of a single sign-on returned an error, or did not respond.',
    '`message` contains its text. Fix what it names, or retry with exponential backoff.',
  ],
  unavailable: [
    'The database cannot be reached or is overloaded, too many large requests are in progress, or the account is being moved.',
    'Retry after `Retry-After` seconds with the same `Idempotency-Key`. Operators: `doctor` and `/health/ready` name the reason.',
  ],
};

/** Errors of the connection itself, which no route has. */
const OF_CONNECTIONS: readonly (readonly [status: number, text: string, ...Help])[] = [
  [
    408,
    'The request did not arrive in time',
    'The body stopped arriving.',
    'Retry over a better connection, or with a smaller body.',
  ],
  [
    431,
    'The request headers are too large',
    'The URL and the headers have more than 128 KiB.',
    'Send fewer IDs in one URL, or fewer cookies.',
  ],
];

type Row = { readonly status: number; readonly line: string };

const rowOf = ([status, text]: readonly [number, string], [cause, cure]: Help): Row => ({
  status,
  line: `| ${text} | ${cause} | ${cure} |`,
});

const codes = Object.keys(ERRORS) as ErrorCode[];
const ROWS: readonly Row[] = [
  ...codes.map((code) => rowOf(ERRORS[code], HELP[code])),
  ...OF_CONNECTIONS.map(([status, text, cause, cure]) => rowOf([status, text], [cause, cure])),
].sort((a, b) => a.status - b.status);

const SECTIONS = [...Map.groupBy(ROWS, ({ status }) => status)].map(
  ([status, rows]) =>
    `## ${status} ${STATUS_CODES[status]}\n\n| Message | Cause | What to do |\n|---|---|---|\n` +
    `${rows.map(({ line }) => line).join('\n')}\n`,
);

const TEXT = `# Errors and status codes

This page is generated (\`node scripts/generate-errors.ts\`) from \`src/core/errors.ts\`.

The API responds with these HTTP status codes. The message is the general one; most errors replace it with one that names
the object or the field. [The body of an error](api.md#errors) also has \`requestId\`: name it when you report an error.
A request with a 4xx response has changed nothing. A message that is rejected when it is sent is not a request error:
the response is 200, with the reason in \`results\`. Errors of carriers are in
[the status of the message](message-states.md), those of Meta in
[WhatsApp error codes](whatsapp-errors.md).

${SECTIONS.join('\n')}`;

await checkOrWrite(new URL('../docs/errors.md', import.meta.url), TEXT);
