// Writes docs/carriers.md: names, values and defaults from the schemas in src/carriers/*/settings.ts, descriptions from
// here (a setting without one does not compile); --check fails if the file is out of date.
import { RcsSettings } from '../src/carriers/rcs/settings.ts';
import { SmppSettings } from '../src/carriers/smpp/settings.ts';
import { WhatsappSettings } from '../src/carriers/whatsapp/settings.ts';
import { checkOrWrite } from './generated-file.ts';

/** The options of `connection add` that correspond to a setting; all other settings are given with `--set`. */
const SMPP_OPTIONS: Partial<Record<keyof SmppSettings, string>> = {
  host: '--host',
  port: '--port',
  systemId: '--system-id',
  bind: '--bind',
  binds: '--binds',
  window: '--window',
  tps: '--tps',
  tls: '--tls',
};

const SMPP: Record<keyof SmppSettings, string> = {
  host: 'Host name or address of the carrier.',
  port: 'Port of the carrier.',
  tls: 'TLS from the first byte.',
  tlsCa: 'Certificate authority in PEM; if empty, the public ones are accepted.',
  tlsServername: 'The name that the certificate must contain, if it is not `host`.',
  tlsInsecure: 'Accepts any certificate: only for test links.',
  systemId: 'The user name that the carrier assigned to you.',
  systemType: 'Sent with the bind, if the carrier requires it.',
  interfaceVersion: 'SMPP version sent with the bind: 51 is 3.3, 52 is 3.4, 80 is 5.0.',
  addressRange: 'Sent with the bind: the numbers whose messages this bind should receive.',
  bind: 'How to bind: both directions on one bind (`trx`), a pair of binds, or one direction only.',
  binds: 'Number of concurrent connections; with `tx+rx`, number of pairs.',
  window: 'Maximum unacknowledged messages per bind. It limits how many outcomes a crash can leave unknown.',
  tps: 'Maximum parts per second over all binds; 0 means no limit.',
  serviceType: 'Sent with every message.',
  alphaAddress: 'Type of number and numbering plan of alphanumeric senders.',
  longAddress: 'The same for senders that are international numbers.',
  shortAddress: 'The same for short codes.',
  destinationAddress: 'The same for destinations.',
  plusPrefix: 'Sends international numbers with the leading plus.',
  defaultAlphabet: 'The alphabet that data_coding 0 means at this carrier.',
  gsmDataCoding: 'data_coding of text in the default alphabet; some carriers require 241 (0xF1).',
  longMode:
    'How long texts are split: user data header with an 8 or 16 bit reference, sar parameters, or message_payload.',
  validity: 'How the end of the validity is encoded.',
  enquireSeconds: 'Idle time before an enquire_link keep-alive is sent.',
  submitTimeoutSeconds: 'Time to wait for the response to a submit before its outcome is "unknown".',
  bindTimeoutSeconds: 'Time to wait for the response to a bind before it is retried.',
  throttlePauseMs: 'First pause after the carrier throttles; it doubles up to 30 s while the carrier keeps throttling.',
  dlrWithoutEsmClass:
    'Treats a text that looks like a receipt as a receipt, even if esm_class does not mark it as one.',
  acceptedMeansDelivered: 'Treats the receipt state ACCEPTD, which is otherwise not final, as a delivery.',
  dlrOffsetMinutes: "Time zone of the times in the carrier's receipt texts, in minutes ahead of UTC.",
};

const WHATSAPP: Record<keyof WhatsappSettings, string> = {
  baseUrl: 'Base URL of the Graph API, without a path; plain HTTP is allowed only for this machine.',
  apiVersion: 'Version of the Graph API, part of each path.',
  wabaId: 'ID of the WhatsApp business account.',
  appId: 'ID of the app through which sample files of templates are uploaded.',
  phoneNumberIds: 'IDs of the phone numbers that send messages; callbacks about other numbers are ignored.',
  concurrency: 'Maximum unacknowledged messages, over all numbers.',
  tps: 'Maximum messages per second for each number; 0 means no limit.',
  submitTimeoutSeconds: 'Time to wait for the response to a message before its outcome is "unknown".',
  connectTimeoutSeconds: 'Time to wait for a connection before it is abandoned and retried.',
  throttlePauseMs: 'First pause of a number after the network throttles it; it doubles up to 30 s.',
  mediaHosts: 'Hosts, in addition to that of `baseUrl`, from which files may be downloaded with the access token.',
};

const RCS: Record<keyof RcsSettings, string> = {
  baseUrl: "Base URL of the RBM API: the regional host must match the agents' hosting region.",
  concurrency: 'Maximum concurrent requests.',
  tps: 'Maximum messages per second over all workers; 0 means no limit.',
  trafficType: 'Purpose of the messages; required for agents with several use cases.',
  defaultTtlSeconds: 'Time to live of a message without its own validity.',
  requestTimeoutSeconds:
    'Time to wait for a response before a request is sent again under the same ID, which the network accepts only once.',
  connectTimeoutSeconds: 'Time to wait for a connection before it is abandoned and retried.',
  resends: 'How often a request is sent again before its outcome is "unknown".',
  throttlePauseMs: 'First pause after the network throttles; it doubles up to 30 s.',
  faultPauseSeconds: 'Pause after the service account was rejected.',
  reachableCacheSeconds: 'How long a number is remembered as reachable by RCS.',
  unreachableCacheSeconds: 'How long a number is remembered as not reachable.',
  batchMinimum: 'Minimum numbers for a batch capability check; fewer are checked one by one.',
  capabilityConcurrency: 'Maximum concurrent capability checks.',
};

type Schema = {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly default?: string | number | boolean | readonly string[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
};

function valuesOf({ type, enum: choices, minimum, maximum, maxLength }: Schema): string {
  if (choices) return choices.map((choice) => `\`${choice}\``).join(', ');
  if (type === 'object') return 'ton, npi: 0 to 255';
  if (type === 'array') return 'list';
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

/** Renders the settings of one schema, given as JSON, as a Markdown table. */
function tableOf(
  schema: Schema,
  meanings: Readonly<Record<string, string>>,
  options: Readonly<Record<string, string>>,
) {
  const rows = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const option = options[name] ? ` (\`${options[name]}\`)` : '';
    const required = schema.required?.includes(name) === true;
    return `| \`${name}\`${option} | ${valuesOf(property)} | ${defaultOf(property, required)} | ${meanings[name]} |`;
  });
  return ['| Setting | Values | Default | Description |', '|---|---|---|---|', ...rows, ''].join('\n');
}

const asJson = (schema: object): Schema => JSON.parse(JSON.stringify(schema));

const TEXT = `# Connection settings

This page is generated (\`node scripts/generate-carriers.ts\`) from \`src/carriers/*/settings.ts\`.

Add a connection with \`npm run -s heliograph -- connection add smpp\`, \`whatsapp\` or \`rcs\`. If a setting has its own
option, the table shows it; give all others with \`--set name=value\`, which accepts several pairs. Secrets are encrypted
with SECRET_KEY before they are stored, and never shown again. \`connection test\` tries a connection once.

## SMPP

\`\`\`
npm run -s heliograph -- connection add smpp --name acme --host smpp.example.com --port 2775 \\
  --system-id user1 --password secret12 --window 20 --tps 50 --set longMode=udh16 validity=relative
npm run -s heliograph -- route add --channel SMS --connection acme
\`\`\`

Types of number and numbering plans (\`alphaAddress\`, \`longAddress\`, \`shortAddress\`, \`destinationAddress\`) cannot be set
on the command line yet.

${tableOf(asJson(SmppSettings), SMPP, SMPP_OPTIONS)}
## WhatsApp

\`\`\`
npm run -s heliograph -- connection add whatsapp --name meta --waba-id 102290129340398 \\
  --phone-number-id 106540352242922 --access-token TOKEN --app-secret SECRET
npm run -s heliograph -- sender assign --connection meta --id 106540352242922 --account Acme
\`\`\`

The first command prints the callback URL and the verify token that Meta requires. The numbers of one connection share its
templates, so they all belong to one account, or, with \`--common\`, to all accounts.

${tableOf(asJson(WhatsappSettings), WHATSAPP, { wabaId: '--waba-id', appId: '--app-id', phoneNumberIds: '--phone-number-id' })}
## RCS

\`\`\`
npm run -s heliograph -- connection add rcs --name google --service-account key.json
npm run -s heliograph -- sender assign --connection google --id my_agent --account Acme
\`\`\`

The first command prints the webhook URL and the client token that Google requires. An agent that an account has requested
(\`POST /api/message-server/rcs/agents\`) gets its ID with \`sender register\`.

${tableOf(asJson(RcsSettings), RCS, {})}`;

await checkOrWrite(new URL('../docs/carriers.md', import.meta.url), TEXT);
