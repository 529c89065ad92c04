import { AppError, invalidFields } from '../../platform/errors.ts';
import type { SecretFlag, SecretReader } from '../../platform/secret-input.ts';

/** The options of the command, as commander returns them. */
export type Flags = Readonly<Record<string, unknown>>;

/** What is asked. The answer is, in this order: that of the flag, what is known, what a person types, and the fallback. */
export type Question = {
  /** The name of the flag in the options: `publicUrl` of `--public-url`. */
  readonly flag: string;
  readonly text: string;
  readonly known?: string | undefined;
  readonly fallback?: string;
  /** False: nobody is asked, because another answer settles it. */
  readonly isOpen?: boolean;
};

/** Where the answers come from. */
export type Answers = {
  /** Resolves with the answer; empty when there is none. */
  text(question: Question): Promise<string>;
  /** Resolves with whether the flag is given or, at a terminal, a person types yes. */
  confirmed(question: Pick<Question, 'flag' | 'text'>): Promise<boolean>;
  /** Resolves with a secret from its options or, at a terminal, from a prompt without echo. Errors: 400 when there is none. */
  secret(flag: SecretFlag): Promise<string>;
  /** As `secret`, but resolves with undefined when no option gives one. */
  optionalSecret(flag: SecretFlag): Promise<string | undefined>;
};

type Sources = {
  readonly flags: Flags;
  /** Asks a person at the terminal; null: there is none, or nothing is to be asked. */
  readonly ask: ((question: string) => Promise<string>) | null;
  readonly secrets: SecretReader;
};

/** Creates the answers of one run. */
export const createAnswers = ({ flags, ask, secrets }: Sources): Answers => ({
  async text({ flag, text, known = '', fallback = '', isOpen = true }) {
    const given = flags[flag];
    if (typeof given === 'string') return given.trim();
    if (known !== '') return known;
    if (ask === null || !isOpen) return fallback;
    return (await ask(`${text}${fallback === '' ? '' : ` [${fallback}]`}: `)).trim() || fallback;
  },
  async confirmed({ flag, text }) {
    if (flags[flag] === true) return true;
    return ask !== null && /^y(es)?$/i.test((await ask(`${text}: `)).trim());
  },
  async secret(flag) {
    const secret = await secrets.ofOption(flags, flag, { required: true });
    if (secret === undefined) throw new AppError('internal');
    return secret;
  },
  optionalSecret: (flag) => secrets.ofOption(flags, flag),
});

/** Returns an answer as a number. Errors: 400 that names the flag. */
export function numberOf(flag: string, answer: string): number {
  const number = Number(answer);
  if (answer === '' || !Number.isFinite(number) || number < 0)
    throw invalidFields([{ field: flag, message: 'must be a number of 0 or more' }]);
  return number;
}
