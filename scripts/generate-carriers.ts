// Writes docs/carriers.md from the kinds of connections (src/network/connections/kinds) and their settings
// (src/carriers/*/settings.ts); --check fails if the file is out of date.
import { settingOption } from '../src/network/connections/adding/options.ts';
import { CONNECTION_KINDS, type ConnectionKind, kindOf } from '../src/network/connections/kinds/kinds.ts';
import type { SettingField } from '../src/network/connections/kinds/setting-fields.ts';
import { checkOrWrite } from './generated-file.ts';

/** Introduces each kind with an example. */
const INTRODUCTIONS: Readonly<Record<ConnectionKind, string>> = {
  smpp: `\`\`\`
npm run -s heliograph -- connection add smpp --name acme --host smpp.example.com --port 2775 \\
  --system-id user1 --password secret12 --window 20 --tps 50 --set longMode=udh16 validity=relative
npm run -s heliograph -- route add --channel SMS --connection acme
\`\`\`

Types of number and numbering plans (\`alphaAddress\` and the settings like it) cannot be set on the command line yet.`,
  whatsapp: `\`\`\`
npm run -s heliograph -- connection add whatsapp --name meta --waba-id 102290129340398 \\
  --phone-number-id 106540352242922 --access-token TOKEN --app-secret SECRET
npm run -s heliograph -- sender assign --connection meta --id 106540352242922 --account Acme
\`\`\`

The first command prints the callback URL and the verify token that Meta requires. The numbers of one connection share
its templates, so they all belong to one account or, with \`--common\`, to every account.`,
  rcs: `\`\`\`
npm run -s heliograph -- connection add rcs --name google --service-account key.json
npm run -s heliograph -- sender assign --connection google --id my_agent --account Acme
\`\`\`

The first command prints the callback URL and the client token that Google requires. An agent that an account has
requested (\`POST /api/message-server/rcs/agents\`) gets its id with \`sender register\`.`,
};

function valuesOf({ type, options, minimum, maximum, maxLength }: SettingField): string {
  if (type === 'choice') return options.map((option) => `\`${option}\``).join(', ');
  if (type === 'object') return 'ton, npi: 0 to 255';
  if (type === 'list') return 'list';
  if (type === 'boolean') return '`true`, `false`';
  if (minimum !== null) return maximum === null ? `${minimum} or more` : `${minimum} to ${maximum}`;
  return maxLength === null ? 'text' : `text, up to ${maxLength} characters`;
}

function defaultOf({ default: fallback, required }: SettingField): string {
  if (fallback === null || fallback === '') return required ? 'required' : '–';
  if (Array.isArray(fallback)) return `\`${fallback.join(', ')}\``;
  if (typeof fallback !== 'object') return `\`${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)}\``;
  return Object.entries(fallback)
    .map(([key, value]) => `${key} ${value}`)
    .join(', ');
}

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
`;
}

const TEXT = `# Connection settings

This page is generated (\`node scripts/generate-carriers.ts\`) from \`src/carriers/*/settings.ts\`.

Add a connection with \`npm run -s heliograph -- connection add\` and its kind: ${CONNECTION_KINDS.map((kind) => `\`${kind}\``).join(', ')}.
If a setting has its own option, the table shows it; give all others with \`--set name=value\`, which accepts several
pairs. Secrets are encrypted with SECRET_KEY before they are stored, and never shown again. \`connection test\` tries a
connection once.

${CONNECTION_KINDS.map(sectionOf).join('\n')}`;

await checkOrWrite(new URL('../docs/carriers.md', import.meta.url), TEXT);
