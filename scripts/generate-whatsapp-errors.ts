// Writes docs/whatsapp-errors.md from the table of errors of the Graph API
// (src/channels/whatsapp/error-table.ts); --check fails if the file is out of date.
import {
  type ErrorClass,
  KNOWN_ERRORS,
  type KnownError,
  PERMISSION_ERRORS,
  PROOF_ERROR,
  UNKNOWN_OBJECT,
} from '../src/channels/whatsapp/error-table.ts';
import { checkOrWrite } from './generated-file.ts';

function effectOf(errorClass: ErrorClass): string {
  switch (errorClass.act) {
    case 'refuse':
      return errorClass.blames === 'account'
        ? `refused: ${errorClass.status}; the number pauses`
        : `refused: ${errorClass.status}`;
    case 'token':
      return 'waits; the connection stops until Meta accepts it again';
    case 'hold':
      return 'waits; the number pauses, and tries again';
    case 'busy':
      return errorClass.scope === 'number'
        ? 'sent after a pause of the number'
        : 'sent after a pause of the connection';
    case 'pair':
      return 'sent after 1, 4, 16 … seconds';
    case 'repeat':
      return 'sent again twice, then refused: ERROR';
    case 'later':
      return 'sent later';
  }
}

const rowOf = (codes: string, { errorClass, meaning, advice }: KnownError): string =>
  `| ${codes} | ${meaning} | ${effectOf(errorClass)} | ${advice} |`;

const ROWS = [
  ...KNOWN_ERRORS.map((known) => rowOf(known.codes.join(', '), known)),
  rowOf('200 to 299', PERMISSION_ERRORS),
  rowOf('100, with `appsecret_proof` in its text', PROOF_ERROR),
  rowOf("100, with `Object with ID '…' does not exist` in its text", UNKNOWN_OBJECT),
];

const TEXT = `# WhatsApp error codes

This page is generated (\`node scripts/generate-whatsapp-errors.ts\`) from \`src/channels/whatsapp/error-table.ts\`.

The timeline of a message shows Meta's code and text, and \`connection list\` the fault of a connection. \`NAME\` stands for
the name of the connection. A message that Meta accepted first and reports as failed later ends with the status of its
code, or with ERROR: it is never sent again by itself.

| Code | Cause | Message | What to do |
|---|---|---|---|
${ROWS.join('\n')}

Other codes go by the HTTP status of the answer. With 401, the connection stops until Meta accepts its token; with 403, the
message waits; with 429, the number pauses; with 408 and from 500 on, the message is sent later; any other ends as ERROR.
`;

await checkOrWrite(new URL('../docs/whatsapp-errors.md', import.meta.url), TEXT);
