// The code blocks of a page of the documentation, as a test runs them (docs/blocks.full.test.ts).

/** `sh start`: the program is started again. `sh repeat`: the block is repeated until it prints what is shown. */
export type Mode = 'run' | 'start' | 'repeat' | 'norun';

/** Instruction of a page to its reader: a block of commands with the output that it shows, or a file to save. */
export type Step =
  | {
      readonly kind: 'commands';
      readonly line: number;
      readonly mode: Mode;
      readonly text: string;
      shown: Shown | null;
      /** A program that not every machine has: without it the block is left out. */
      readonly needs?: string;
    }
  | { readonly kind: 'file'; readonly line: number; readonly path: string; readonly text: string };

/** The output that a page shows. `…` in it stands for anything. */
export type Shown = { readonly language: string; readonly text: string };

/** A block at the beginning of a line or in a list: its indentation, language, further words, and content. */
const BLOCK = /^( *)```([\w+-]*) *([^\n]*)\n([^]*?)^\1```$/gm;
const COMMANDS = ['sh', 'bash'];
const OUTPUT = ['json', 'console', 'text'];
/** `needs=PROGRAM` after `sh` and its mode. */
const NEEDS = /(?:^| )needs=(\S+)$/;
const MODES: Readonly<Record<string, Mode>> = { '': 'run', start: 'start', repeat: 'repeat', norun: 'norun' };

/**
 * Reads the blocks of a page in their order. Throws, naming the line, for a block without a language, for commands with
 * another word than `start`, `repeat`, `norun` or `needs=PROGRAM`, and for `repeat` without an output that ends it.
 */
export function stepsOf(markdown: string): Step[] {
  const steps: Step[] = [];
  let before: Step | undefined;
  for (const { index, 1: indent = '', 2: language = '', 3: words = '', 4: body = '' } of markdown.matchAll(BLOCK)) {
    const line = markdown.slice(0, index).split('\n').length;
    const text = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    if (language === '') throw new Error(`line ${line}: a block without a language`);
    const step = stepOf(line, language, words.trim(), text);
    if (step === null && OUTPUT.includes(language) && before?.kind === 'commands' && before.mode !== 'norun')
      before.shown = { language, text };
    if (step !== null) steps.push(step);
    before = step ?? undefined;
  }
  const endless = steps.find((step) => step.kind === 'commands' && step.mode === 'repeat' && step.shown === null);
  if (endless) throw new Error(`line ${endless.line}: repeat until what is shown?`);
  return steps;
}

function stepOf(line: number, language: string, words: string, text: string): Step | null {
  const path = /^file=(\S+)$/.exec(words)?.[1];
  if (path !== undefined) return { kind: 'file', line, path, text };
  if (!COMMANDS.includes(language)) return null;
  const needs = NEEDS.exec(words)?.[1];
  const mode = MODES[words.replace(NEEDS, '')];
  if (mode === undefined) throw new Error(`line ${line}: "${words}" after ${language}`);
  return { kind: 'commands', line, mode, text, shown: null, ...(needs !== undefined && { needs }) };
}

/** The programs that steps need besides those of this project, each once. */
export const programsOf = (steps: readonly Step[]): Set<string> =>
  new Set(steps.flatMap((step) => (step.kind === 'commands' && step.needs !== undefined ? [step.needs] : [])));

/**
 * Returns true if commands printed the output that the page shows. JSON may have other white space; other output is
 * compared line by line. `…` stands for anything within its line, and a line with nothing else for any number of lines;
 * in JSON for anything.
 */
export function isShown({ language, text }: Shown, printed: string): boolean {
  const lines = language === 'json' ? [text.replaceAll(/\s/g, '')] : text.trim().split('\n');
  const pattern = lines.map((line) => (line.trim() === '…' ? '[^]*' : partsOf(line.trimEnd(), language))).join('\n');
  // Lines left out at the beginning or at the end take their line break with them.
  const loose = pattern.replace(/^\[\^\]\*\n/, '(?:[^]*\n)?').replace(/\n\[\^\]\*$/, '(?:\n[^]*)?');
  const seen = language === 'json' ? printed.replaceAll(/\s/g, '') : printed.trim().replaceAll(/[ \t\r]+$/gm, '');
  return new RegExp(`^${loose}$`).test(seen);
}

const partsOf = (line: string, language: string): string =>
  line
    .split('…')
    .map((part) => RegExp.escape(part))
    .join(language === 'json' ? '[^]*?' : '.*');
