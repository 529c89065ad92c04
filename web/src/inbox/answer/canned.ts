import { fillPlaceholders } from '../../ui/values/placeholders.ts';
import type { CannedAnswer } from '../desk/tools.ts';

const CALL = /^\/([a-z0-9_-]*)$/i;
const MAX_SHOWN = 8;

/** The canned answers that a text calls: it is a slash and the beginning of a shortcut, or a word of the answer. */
export function calledAnswers(text: string, answers: readonly CannedAnswer[]): readonly CannedAnswer[] {
  const word = CALL.exec(text)?.[1]?.toLowerCase();
  if (word === undefined) return [];
  const beginning = answers.filter(({ shortcut }) => shortcut.startsWith(word));
  const within = answers.filter((one) => !beginning.includes(one) && one.text.toLowerCase().includes(word));
  return [...beginning, ...within].slice(0, MAX_SHOWN);
}

/** Values for the placeholders of a canned answer about the contact and the agent; undefined if not known. */
export type CannedValues = Readonly<Record<'firstName' | 'lastName' | 'fullName' | 'agent', string | undefined>>;

/**
 * The text of a canned answer for a person. Unknown placeholders stay as they are written, so that the agent sees them.
 */
export const fillCanned = (text: string, values: CannedValues): string =>
  fillPlaceholders(text, (name) => (name in values ? values[name as keyof CannedValues] : undefined));
