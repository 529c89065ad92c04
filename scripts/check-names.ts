// A name between back-quotes, in a page or in a comment, must exist: as a word of the code (comments do not count), as a
// file, or as a script of package.json. Spans that are no single name (commands, SQL, JSON) are left alone.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import packageJson from '../package.json' with { type: 'json' };

/** Names of other systems and of formats, which no file of ours needs to hold. */
const FOREIGN = new Set<string>([]);

const CODE = /\.(tsx?|mjs|cjs|js|sql|json|ya?ml|sh|css|html)$|(^|\/)(Dockerfile|run)$/;
const NAME = /^[A-Za-z_$][\w$]*(\.[\w$]+)*(\(\))?$/;
const PATH = /^[\w.@*<>-]+(\/[\w.@*<>-]+)*\.(ts|tsx|mjs|cjs|sql|json|md|sh|ya?ml)$|^([\w.-]+\/)+$/;
const COMMENT = /\/\*[\s\S]*?\*\/|(^|[\s;{}(,])\/\/[^\n]*/g;
const SPAN = /`([^`\n]+)`/g;
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
  const run = /^npm run ([\w:-]+)/.exec(span)?.[1];
  if (run !== undefined && run !== '-s') return run in packageJson.scripts;
  if (PATH.test(span)) return isKnownPath(span) || code.includes(span);
  if (!NAME.test(span)) return true;
  const parts = span.replace('()', '').split('.');
  return FOREIGN.has(span) || parts.every((part) => words.has(part)) || isKnownPath(span) || code.includes(span);
}

/** The text that people read in a file: a page without its code blocks, or the comments of a program file. */
function proseOf(file: string): string {
  const text = read(file);
  if (!isTypeScript(file)) return text.replace(FENCE, (block) => block.replace(/[^\n]/g, ' '));
  const prose = text.replace(/[^\n]/g, ' ').split('');
  for (const { 0: comment, index } of text.matchAll(COMMENT)) prose.splice(index, comment.length, ...comment);
  return prose.join('');
}

const faults = files
  .filter((file) => file.endsWith('.md') || isTypeScript(file))
  .flatMap((file) => {
    const prose = proseOf(file);
    return [...prose.matchAll(SPAN)]
      .filter(([, span = '']) => !exists(span))
      .map(({ 1: span, index }) => `${file}:${prose.slice(0, index).split('\n').length} \`${span}\` exists nowhere`);
  });
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
else console.log('Every name between back-quotes exists.');
