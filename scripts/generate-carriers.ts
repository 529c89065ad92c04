// Writes docs/carriers.md from the kinds of connections (src/routing/kinds.ts) and their settings
// (src/channels/*/settings.ts); --check fails if the file is out of date.
import { PRESET_NAMES, PRESETS, type PresetName } from '../src/channels/http-sms/presets/presets.ts';
import {
  Answer,
  Inbound,
  OUTCOMES,
  Poll,
  Receipts,
  Request,
  Rule,
  VARIABLES,
  Verify,
} from '../src/channels/http-sms/protocol.ts';
import { settingOption } from '../src/routing/connection-commands.ts';
import { type SettingField, settingFields } from '../src/routing/kind.ts';
import { CONNECTION_KINDS, type ConnectionKind, kindOf } from '../src/routing/kinds.ts';
import { checkOrWrite } from './generated-file.ts';

const httpIntroduction = (): string => `\`\`\`sh norun
npm run -s heliograph -- connection add http --name twilio --preset twilio --account AC0123… --api-key-file token.txt
npm run -s heliograph -- connection add http --name upstream --preset heliograph \\
  --set baseUrl=https://sms.example.com apiKey=@key.txt signingKey=@signing-key.txt
npm run -s heliograph -- route add --channel SMS --connection upstream
npm run -s heliograph -- connection test upstream
\`\`\`

The first command prints the callback URL and the callback token. A preset has the protocol of its carrier; any carrier that
takes one message per request can be described by \`request\`, \`answer\`, \`receipts\`, \`inbound\` and \`verify\`, of which each
takes the place of the preset's. The carrier gets the whole text and divides it into parts itself; binary messages and user
data headers are refused. \`connection test\` shows what a message would be sent as and what the carrier answers, with
secrets hidden.

| Preset | Account | API key | Signing key | Callbacks |
|---|---|---|---|---|
${PRESET_NAMES.map(presetRow).join('\n')}

**Templates.** All texts of \`request\` may contain variables, written as each place needs it: as members of JSON,
percent-encoded in forms, queries and paths; what could add a header is refused. In JSON, a text that is a single variable
keeps its type. What has no value is left out, with what contains nothing else.

| Variable | Value |
|---|---|
${Object.entries(VARIABLES)
  .map(([name, about]) => `| \`{{${name}}}\` | ${about} |`)
  .join('\n')}

**Outcomes.** The first of \`answer.rules\` that fits says what a response means: ${OUTCOMES.map((one) => `\`${one}\``).join(', ')}.
Otherwise the HTTP status does: 2xx accepted, 401 a fault, 429 throttled, other 3xx and 4xx refused, 408, 409 and 5xx unknown. A
message whose outcome is unknown, because of such an answer or because none came, is not sent again, except to a carrier
that recognises our id (\`idempotent\`): it gets the same bytes again, up to \`resends\` times.

**Places** in responses and callbacks are JSON pointers (\`/messages/0/id\`, also for fields of forms; in \`answer.id\`,
\`/messages/*/id\` are those of all parts), headers (\`header:location\`), parameters (\`query:id\`), or marks in a text
(\`text:ID: *;\`). Of several, with a vertical bar between blanks, the first that has a text counts.

**Addresses.** A carrier may only have addresses that webhooks may be posted to (\`WEBHOOK_ALLOW_CIDRS\`): allow that of a
carrier in a private network, also on this machine.

An example without a preset, for a carrier that answers \`OK ID: 4711\`:

\`\`\`sh norun
npm run -s heliograph -- connection add http --name local --api-key-file key.txt --set baseUrl=https://sms.example.com \\
  'request={"path":"/send","format":"form","body":{"key":"{{apiKey}}","to":"{{toDigits}}","text":"{{text}}","dlr":"{{callbackUrl}}"}}' \\
  'answer={"id":"text:ID: *","rules":[{"status":"200","at":"text:ERR *","is":["*"],"outcome":"refused"}]}' \\
  'receipts={"ids":["query:id"],"state":"query:status","states":{"delivered":"DELIVERED","failed":"UNDELIVERABLE"}}'
\`\`\``;

/** The settings of carriers over HTTP that are objects, with their members. */
const httpObjects = (): string =>
  [
    { name: 'request', fields: settingFields(Request, {}) },
    { name: 'answer', fields: settingFields(Answer, {}) },
    { name: 'answer.rules', fields: settingFields(Rule, {}) },
    { name: 'receipts', fields: settingFields(Receipts, {}) },
    { name: 'inbound', fields: settingFields(Inbound, {}) },
    { name: 'verify', fields: settingFields(Verify, {}) },
    { name: 'poll', fields: settingFields(Poll, {}) },
  ]
    .map(
      ({ name, fields }) =>
        `### \`${name}\`\n\n| Member | Values | Default | Description |\n|---|---|---|---|\n${fields.map(memberRow).join('\n')}\n`,
    )
    .join('\n');

const memberRow = (field: SettingField): string => {
  const values = field.type === 'object' || field.name === 'body' ? 'JSON' : valuesOf(field);
  return `| \`${field.name}\` | ${values} | ${defaultOf(field)} | ${field.description} |`;
};

/** Returns the row of the table for a preset: the settings that it needs, and how it verifies callbacks. */
function presetRow(name: PresetName): string {
  const { needs, verify } = PRESETS[name];
  const needed = (one: 'account' | 'apiKey' | 'signingKey'): string => (needs.includes(one) ? 'yes' : '–');
  const proof = verify.by === 'signature' ? `signed (\`${verify.name}\`)` : `the callback token (${verify.by})`;
  return `| \`${name}\` | ${needed('account')} | ${needed('apiKey')} | ${needed('signingKey')} | ${proof} |`;
}

/** Introduces each kind with an example. */
const INTRODUCTIONS: Readonly<Record<ConnectionKind, string>> = {
  smpp: `\`\`\`sh norun
npm run -s heliograph -- connection add smpp --name acme --host smpp.example.com --port 2775 \\
  --system-id user1 --password-file password.txt --window 20 --tps 50 --set longMode=udh16 validity=relative
npm run -s heliograph -- route add --channel SMS --connection acme
\`\`\`

Types of number and numbering plans (\`alphaAddress\` and the settings like it) cannot be set on the command line yet.`,
  http: httpIntroduction(),
  whatsapp: `\`\`\`sh norun
npm run -s heliograph -- connection add whatsapp --name meta --waba-id 102290129340398 \\
  --phone-number-id 106540352242922 --access-token-file token.txt --app-secret-file secret.txt
npm run -s heliograph -- sender assign --connection meta --identity 106540352242922 --account Acme
\`\`\`

The first command prints the callback URL and the verify token that Meta requires. The numbers of one connection share
its templates, so they all belong to one account or, with \`--common\`, to every account.`,
  rcs: `\`\`\`sh norun
npm run -s heliograph -- connection add rcs --name google --service-account key.json
npm run -s heliograph -- sender assign --connection google --identity my_agent --account Acme
\`\`\`

The first command prints the callback URL and the client token that Google requires. An agent that an account has
requested (\`POST /api/message-server/rcs/agents\`) gets its id with \`sender register\`.`,
};

function valuesOf({ name, type, options, minimum, maximum, maxLength }: SettingField): string {
  if (type === 'choice') return options.map((option) => `\`${option}\``).join(', ');
  if (type === 'object') return name.endsWith('Address') ? 'ton, npi: 0 to 255' : 'JSON, see below';
  if (type === 'list') return 'list';
  if (type === 'boolean') return '`true`, `false`';
  if (minimum !== null) return maximum === null ? `${minimum} or more` : `${minimum} to ${maximum}`;
  return maxLength === null ? 'text' : `text, up to ${maxLength} characters`;
}

function defaultOf({ default: fallback, required }: SettingField): string {
  if (fallback === null || fallback === '' || isEmpty(fallback)) return required ? 'required' : '–';
  if (Array.isArray(fallback)) return `\`${fallback.join(', ')}\``;
  if (typeof fallback !== 'object') return `\`${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)}\``;
  return Object.entries(fallback)
    .map(([key, value]) => `${key} ${value}`)
    .join(', ');
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

function rowOf(field: SettingField): string {
  const option = field.group === 'more' ? '' : ` (\`${settingOption(field).long}\`)`;
  return `| \`${field.name}\`${option} | ${valuesOf(field)} | ${defaultOf(field)} | ${field.description} |`;
}

function sectionOf(kind: ConnectionKind): string {
  const { title, settings } = kindOf({ kind });
  return `## ${title}

${INTRODUCTIONS[kind]}

| Setting | Values | Default | Description |
|---|---|---|---|
${settings.map(rowOf).join('\n')}
${kind === 'http' ? `\n${httpObjects()}` : ''}`;
}

const TEXT = `# Connection settings

This page is generated (\`node scripts/generate-carriers.ts\`) from \`src/channels/*/settings.ts\`.

Add a connection with \`npm run -s heliograph -- connection add\` and its kind: ${CONNECTION_KINDS.map((kind) => `\`${kind}\``).join(', ')}.
If a setting has its own option, the table shows it; give all others with \`--set name=value\`, which accepts several
pairs. Secrets are encrypted with SECRET_KEY before they are stored, and never shown again. \`connection test\` tries a
connection once.

${CONNECTION_KINDS.map(sectionOf).join('\n')}`;

await checkOrWrite(new URL('../docs/carriers.md', import.meta.url), TEXT);
