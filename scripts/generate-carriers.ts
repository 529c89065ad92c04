// Writes docs/carriers.md: names, values and defaults from the schema in src/carriers/smpp/settings.ts, meanings from
// here (a setting without one does not compile); --check fails when the file is out of date.
import { SmppSettings } from '../src/carriers/smpp/settings.ts';
import { checkOrWrite } from './generated-file.ts';

type Name = keyof SmppSettings;

/** How the operator says it, where `connection add smpp` has an option of its own; all else goes through `--set`. */
const OPTIONS: Partial<Record<Name, string>> = {
  host: '--host',
  port: '--port',
  systemId: '--system-id',
  bind: '--bind',
  binds: '--binds',
  window: '--window',
  tps: '--tps',
  tls: '--tls',
};

const MEANINGS: Record<Name, string> = {
  host: 'Name or address of the carrier.',
  port: 'Its port.',
  tls: 'TLS from the first byte.',
  tlsCa: 'Certificate authority in PEM; without it the well-known ones count.',
  tlsServername: 'The name that the certificate must carry when it is not `host`.',
  tlsInsecure: 'Takes any certificate: for a test link only.',
  systemId: 'The user name that the carrier gave out.',
  systemType: 'Sent with the bind, where the carrier asks for it.',
  interfaceVersion: 'SMPP version sent with the bind: 51 is 3.3, 52 is 3.4, 80 is 5.0.',
  addressRange: 'Sent with the bind: the numbers whose messages this bind wants to receive.',
  bind: 'How to bind: both directions on one bind (`trx`), a pair of binds, or one direction only.',
  binds: 'Connections at the same time; with `tx+rx` pairs of them.',
  window: 'Messages without an answer that one bind may have. It bounds what a crash can leave in doubt.',
  tps: 'Parts a second over all binds; 0 is without a limit.',
  serviceType: 'Sent with every message.',
  alphaAddress: 'Type of number and numbering plan of senders with letters.',
  longAddress: 'The same for senders that are international numbers.',
  shortAddress: 'The same for short codes.',
  destinationAddress: 'The same for destinations.',
  plusPrefix: 'Writes international numbers with their plus.',
  defaultAlphabet: 'What data_coding 0 means at this carrier.',
  gsmDataCoding: 'data_coding of text in the default alphabet; some carriers want 241 (0xF1).',
  longMode:
    'How long texts are joined: user data header with an 8 or 16 bit reference, sar parameters, or message_payload.',
  validity: 'How the end of validity is written.',
  enquireSeconds: 'Silence after which enquire_link asks whether the carrier is there.',
  submitTimeoutSeconds: 'A submit without an answer for this long has the outcome "unknown".',
  bindTimeoutSeconds: 'A bind without an answer for this long is tried again.',
  throttlePauseMs: 'First pause after "too fast"; it doubles up to 30 s while the carrier goes on refusing.',
  dlrWithoutEsmClass: 'Takes a text that looks like a receipt for one although esm_class does not say so.',
  acceptedMeansDelivered: 'Takes the receipt state ACCEPTD, which is not final here, for a delivery.',
  dlrOffsetMinutes: "The carrier's clock in receipt texts, in minutes ahead of UTC.",
};

type Schema = {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly default?: string | number | boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
};

function valuesOf({ type, enum: choices, minimum, maximum, maxLength }: Schema): string {
  if (choices) return choices.map((choice) => `\`${choice}\``).join(', ');
  if (type === 'object') return 'ton, npi: 0 to 255';
  if (minimum !== undefined) return maximum === undefined ? `${minimum} or more` : `${minimum} to ${maximum}`;
  if (type === 'boolean') return '`true`, `false`';
  return maxLength === undefined ? 'text' : `text, up to ${maxLength} characters`;
}

function defaultOf(schema: Schema, required: boolean): string {
  if (schema.properties)
    return Object.entries(schema.properties)
      .map(([key, part]) => `${key} ${part.default}`)
      .join(', ');
  if (schema.default !== undefined && schema.default !== '') return `\`${schema.default}\``;
  return required && schema.default === undefined ? 'required' : '–';
}

function row([name, schema]: [string, Schema]): string {
  const key = name as Name;
  const option = OPTIONS[key] ? ` (\`${OPTIONS[key]}\`)` : '';
  const required = SmppSettings.required.some((other) => other === key);
  return `| \`${name}\`${option} | ${valuesOf(schema)} | ${defaultOf(schema, required)} | ${MEANINGS[key]} |`;
}

const TEXT = `# Settings of an SMPP connection

This page is generated (\`node scripts/generate-carriers.ts\`) from \`src/carriers/smpp/settings.ts\`.

Add a connection with \`npm run -s heliograph -- connection add smpp\`. Settings with an option of their own show it;
the others are given with \`--set name=value\`, several of them after each other:

\`\`\`
npm run -s heliograph -- connection add smpp --name acme --host smpp.example.com --port 2775 \\
  --system-id user1 --password secret12 --window 20 --tps 50 --set longMode=udh16 validity=relative
\`\`\`

The password is sealed with SECRET_KEY before it is stored and never shown again. Types of number and numbering plans
(\`alphaAddress\` and its neighbours) cannot be given on the command line yet.

| Setting | Values | Default | What it does |
|---|---|---|---|
`;

const properties: Record<string, Schema> = JSON.parse(JSON.stringify(SmppSettings.properties));
const rows = Object.entries(properties).map(row);
await checkOrWrite(new URL('../docs/carriers.md', import.meta.url), `${TEXT}${rows.join('\n')}\n`);
