// Checks the English of every page of the documentation: spelling and grammar with Harper, which runs here without a
// network, and the small style of english-rules.ts. Words of the field are in english-words.txt, one a line. Code is left
// out.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Dialect, LocalLinter } from 'harper.js';
import { binary } from 'harper.js/binary';
import { listedPages } from '../help/plan.ts';
import { OFF, STYLE } from './english-rules.ts';

const ROOT = join(import.meta.dirname, '..');
/** Generated from packages, or a list of past changes. */
const LEFT_OUT = ['THIRD-PARTY-NOTICES.md', 'CHANGELOG.md', 'CODE_OF_CONDUCT.md'];

type Finding = { readonly page: string; readonly line: number; readonly text: string };

const blank = (found: string): string => found.replace(/[^\n]/g, ' ');

/** Returns the text with blanks in place of code, comments and addresses, so that places stay. */
export function withoutCode(markdown: string): string {
  return markdown
    .replace(/^(```|~~~)[\s\S]*?^\1/gm, blank)
    .replace(/<!--[\s\S]*?-->/g, blank)
    .replace(/(?<=\]\()[^)\s]+(?=\))/g, blank);
}

const lineOf = (text: string, place: number): number => text.slice(0, place).split('\n').length;

/** Returns where a text has words that the style replaces. */
export function findStyle(page: string, text: string): Finding[] {
  // What another program calls its buttons and pages is in italics.
  const prose = text.replace(/`[^`\n]*`|(?<!\*)\*[^*\s][^*]*\*(?!\*)/g, blank);
  return STYLE.flatMap(({ found, write }) =>
    [...prose.matchAll(new RegExp(found, `${found.flags}g`))].map(({ 0: words, index }) => ({
      page,
      line: lineOf(prose, index),
      text: `"${words}": write ${write}`,
    })),
  );
}

async function createLinter(): Promise<LocalLinter> {
  const linter = new LocalLinter({ binary, dialect: Dialect.British });
  const config = await linter.getDefaultLintConfig();
  const unknown = Object.keys(OFF).filter((rule) => !(rule in config));
  if (unknown.length > 0) throw new Error(`Harper has no rules ${unknown.join(', ')}`);
  await linter.setLintConfig({ ...config, ...Object.fromEntries(Object.keys(OFF).map((rule) => [rule, false])) });
  const words = readFileSync(join(import.meta.dirname, 'english-words.txt'), 'utf8');
  await linter.importWords(words.split('\n').filter((word) => word !== ''));
  return linter;
}

const isInTable = (text: string, place: number): boolean => text[text.lastIndexOf('\n', place - 1) + 1] === '|';

async function findGrammar(linter: LocalLinter, page: string, text: string): Promise<Finding[]> {
  const byRule = await linter.organizedLints(text, { language: 'markdown' });
  return Object.entries(byRule).flatMap(([rule, lints]) =>
    lints.flatMap((lint) => {
      const { start } = lint.span();
      // A row of a table is read by its columns.
      if (rule === 'LongSentences' && isInTable(text, start)) return [];
      return { page, line: lineOf(text, start), text: `"${lint.get_problem_text()}": ${lint.message()} (${rule})` };
    }),
  );
}

async function main(): Promise<void> {
  const sources = listedPages()
    .map(({ source }) => source)
    .filter((source) => !LEFT_OUT.includes(source));
  const linter = await createLinter();
  const findings: Finding[] = [];
  for (const page of sources) {
    const text = withoutCode(readFileSync(join(ROOT, page), 'utf8'));
    findings.push(...findStyle(page, text), ...(await findGrammar(linter, page, text)));
  }
  for (const { page, line, text } of findings) console.log(`${page}:${line}: ${text}`);
  if (findings.length === 0) console.log(`${sources.length} pages have no findings.`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

if (import.meta.main) await main();
