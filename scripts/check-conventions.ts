// Conventions that no linter knows:
// - A name between back-quotes, in a page (but the changelog, which tells of what was) or in a comment, exists: as a word of the code (comments do not count), as a
//   file, or as a script of package.json. Spans that are not a single name (commands, SQL, JSON) are not checked.
// - Limits are called MAX_…, and rates …_PER_….
// - Statements name the codes of states instead of writing their numbers.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import packageJson from '../package.json' with { type: 'json' };

/** Names of other systems and of formats, which no file of ours needs to hold. */
const FOREIGN = new Set([
  'CREATEDB',
  'CREATEROLE',
  'NODE_EXTRA_CA_CERTS',
  'archive_command',
  'asia',
  'avnadmin',
  'azure.extensions',
  'europe',
  'letsencrypt',
  'mclass',
  'mwi',
  'smpps_cred',
  'trusted_proxies',
  'getaddrinfo',
  'pg_basebackup',
  'pg_dump',
  'pg_stat_statements',
  'psql',
  'rds.allowed_extensions',
  'uuid_extract_timestamp',
  'nodejs_eventloop_lag_p99_seconds',
  'whatsapp_business_management',
  'whatsapp_business_messaging',
  // Examples: files that a program or a reader makes, placeholders, and a name that we do not use.
  '0080_contract_0_3_0_old_column',
  '0080_contract_0_3_0_old_column.sql',
  'DATA_DIR/restore-guard.json',
  'MESSAGE_ID',
  '_x000D_',
  'REPOSITORY',
  'data/demo.json',
  'db/migrations/NNNN_name.sql',
  'formatters.bindings',
  'otel.mjs',
  'message_20270131',
  'utils',
]);

const CODE = /\.(tsx?|mjs|cjs|js|sql|json|ya?ml|sh|css|html)$|(^|\/)(Dockerfile|run)$/;
const NAME = /^[A-Za-z_$][\w$]*(\.[\w$]+)*(\(\))?$/;
const PATH = /^[\w.@*<>-]+(\/[\w.@*<>-]+)*\.(ts|tsx|mjs|cjs|sql|json|md|sh|ya?ml)$|^([\w.-]+\/)+$/;
const COMMENT = /\/\*[\s\S]*?\*\/|(^|[\s;{}(,])\/\/[^\n]*/g;
const SPAN = /`([^`\n]+)`/g;
/** Pages whose tables have the names of another system in their first column. */
const FROM_ELSEWHERE = /^docs\/how-to\/from-[a-z]+\.md$/;
const FIRST_CELL = /^\|[^|\n]*\|/gm;
const FENCE = /^(```|~~~)[\s\S]*?^\1/gm;

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && existsSync(file));
const folders = new Set(files.flatMap((file) => file.split('/').slice(0, -1)));
const read = (file: string): string => readFileSync(file, 'utf8');

const isTypeScript = (file: string): boolean => /\.tsx?$/.test(file);
const code = files
  .filter((file) => CODE.test(file) && file !== 'package-lock.json')
  .map((file) => (isTypeScript(file) ? read(file).replace(COMMENT, ' ') : read(file)))
  .join('\n');
const words = new Set(code.match(/[A-Za-z_$][\w$]*/g));

function isKnownPath(path: string): boolean {
  if (path.endsWith('/')) return path.split('/').every((part) => part === '' || folders.has(part));
  if (/[*<>]/.test(path)) return true;
  return files.some((file) => file === path || file.endsWith(`/${path}`));
}

function exists(span: string): boolean {
  if (FOREIGN.has(span)) return true;
  const run = /^npm run ([\w:-]+)/.exec(span)?.[1];
  if (run !== undefined && run !== '-s') return run in packageJson.scripts;
  if (PATH.test(span)) return isKnownPath(span) || code.includes(span);
  if (!NAME.test(span)) return true;
  const parts = span.replace('()', '').split('.');
  return parts.every((part) => words.has(part)) || isKnownPath(span) || code.includes(span);
}

const blank = (text: string): string => text.replace(/[^\n]/g, ' ');

/** The text that people read in a file: a page without its code blocks, or the comments of a program file. */
function proseOf(file: string): string {
  const text = read(file);
  if (!isTypeScript(file)) {
    const prose = text.replace(FENCE, blank);
    return FROM_ELSEWHERE.test(file) ? prose.replace(FIRST_CELL, blank) : prose;
  }
  const prose = blank(text).split('');
  for (const { 0: comment, index } of text.matchAll(COMMENT)) prose.splice(index, comment.length, ...comment);
  return prose.join('');
}

const lineOf = (text: string, index: number): number => text.slice(0, index).split('\n').length;

/** Back-quoted names that exist nowhere, nor are files that the page has its reader save. */
function unknownNames(file: string): string[] {
  const prose = proseOf(file);
  const text = read(file);
  return [...prose.matchAll(SPAN)]
    .filter(([, span = '']) => !exists(span) && !text.includes(` file=${span}\n`))
    .map(({ 1: span, index }) => `${file}:${lineOf(prose, index)} \`${span}\` exists nowhere`);
}

const ODD_NAME = /\b(MOST|LONGEST|LARGEST)_[A-Z]\w*|\b[A-Z]+S_AN?_[A-Z]+\b/g;
const STATUS_NUMBER = /\bstatus\s*(=|<>|IN\s*\()\s*\d/g;

function matchesOf(pattern: RegExp, file: string, message: string): string[] {
  const text = read(file);
  return [...text.matchAll(pattern)].map(
    ({ 0: found, index }) => `${file}:${lineOf(text, index)} ${found}: ${message}`,
  );
}

const programFiles = files.filter((file) => isTypeScript(file) && file !== 'scripts/check-conventions.ts');
const faults = [
  ...[...files.filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md'), ...programFiles].flatMap(
    unknownNames,
  ),
  ...programFiles.flatMap((file) => matchesOf(ODD_NAME, file, 'say MAX_… or …_PER_…')),
  ...programFiles
    .filter((file) => file.startsWith('src/') && !file.endsWith('.test.ts'))
    .flatMap((file) => matchesOf(STATUS_NUMBER, file, 'use `constant(…)` with the named code')),
];
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
else console.log('All conventions hold.');
