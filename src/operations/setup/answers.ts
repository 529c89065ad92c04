import { access, constants } from 'node:fs/promises';
import { StartupError } from '../../platform/db/startup-error.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { SecretFlag, SecretReader } from '../../platform/secret-input.ts';

/** The options of the command, as commander returns them. */
export type Flags = Readonly<Record<string, unknown>>;

/** Throws an error for an answer that does not fit; its message completes the sentence "<answer> …", or is one by itself. */
type Rule = (answer: string) => unknown;

/** What is asked. The answer is, in this order: that of the flag, what is known, what a person types, and the fallback. */
export type Question = {
  /** The name of the flag in the options: `publicUrl` of `--public-url`. */
  readonly flag: string;
  readonly text: string;
  readonly known?: string | undefined;
  readonly fallback?: string;
  /** False: nobody is asked, because another answer settles it. */
  readonly isOpen?: boolean;
  /** For the answer of the flag, and for what a person types, who is then asked again. */
  readonly rule?: Rule;
};

/** Where the answers come from. */
export type Answers = {
  /** Resolves with the answer; empty when there is none. Errors: 400 for the answer of a flag that the rule refuses. */
  text(question: Question): Promise<string>;
  /** Resolves with whether the flag is given or, at a terminal, a person types yes. */
  confirmed(question: Pick<Question, 'flag' | 'text'>): Promise<boolean>;
  /**
   * Resolves with a secret from its options or, at a terminal, from a prompt without echo, which comes again when the rule
   * refuses the secret. Errors: 400 when there is none; what the rule throws for a secret from an option.
   */
  secret(flag: SecretFlag, rule?: Rule): Promise<string>;
  /** As `secret`, but resolves with undefined when no option gives one. */
  optionalSecret(flag: SecretFlag, rule?: Rule): Promise<string | undefined>;
};

type Sources = {
  readonly flags: Flags;
  /** Asks a person at the terminal; null: there is none, or nothing is to be asked. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /** Tells that person why a question comes again. */
  say(line: string): void;
  readonly secrets: SecretReader;
};

const NO_RULE: Rule = () => undefined;

/** Creates the answers of one run. */
export function createAnswers({ flags, ask, say, secrets }: Sources): Answers {
  async function optionalSecret(flag: SecretFlag, rule = NO_RULE): Promise<string | undefined> {
    const secret = await secrets.ofOption(flags, flag);
    return secret === undefined ? undefined : checked(flag, secret, rule);
  }

  async function askedSecret(flag: SecretFlag): Promise<string> {
    const secret = await secrets.ofOption(flags, flag, { required: true, mayAsk: ask !== null });
    if (secret === undefined) throw new AppError('internal');
    return secret;
  }

  return {
    async text({ flag, text, known = '', fallback = '', isOpen = true, rule = NO_RULE }) {
      const given = flags[flag];
      if (typeof given === 'string') return checked(nameOf(flag), given.trim(), rule);
      if (known !== '') return known;
      if (ask === null || !isOpen) return fallback;
      const question = `${text}${fallback === '' ? '' : ` [${fallback}]`}: `;
      return untilAccepted(async () => (await ask(question)).trim() || fallback, { rule, say });
    },
    async confirmed({ flag, text }) {
      if (flags[flag] === true) return true;
      return ask !== null && isYes(await ask(`${text}: `));
    },
    async secret(flag, rule = NO_RULE) {
      return (
        (await optionalSecret(flag, rule)) ??
        (ask === null ? askedSecret(flag) : untilAccepted(() => askedSecret(flag), { rule, say }))
      );
    },
    optionalSecret,
  };
}

async function checked(name: string, answer: string, rule: Rule): Promise<string> {
  const fault = await faultOf(answer, rule);
  if (fault === null) return answer;
  throw isSentence(fault) ? new StartupError(fault) : invalidFields([{ field: name, message: fault }]);
}

const isSentence = (fault: string): boolean => /^\p{Lu}/u.test(fault);

/** Asks until the rule accepts the answer. What `ask` throws ends it: Ctrl-C and Ctrl-D. */
async function untilAccepted(
  ask: () => Promise<string>,
  { rule, say }: { readonly rule: Rule; say(line: string): void },
): Promise<string> {
  for (;;) {
    const answer = await ask();
    const fault = await faultOf(answer, rule);
    if (fault === null) return answer;
    say(isSentence(fault) ? fault : `The answer ${fault}.`);
  }
}

async function faultOf(answer: string, rule: Rule): Promise<string | null> {
  try {
    await rule(answer);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** `--public-url` of `publicUrl`. */
const nameOf = (flag: string): string => `--${flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Whether an answer to a question of yes or no is yes. */
export const isYes = (answer: string): boolean => /^y(es)?$/i.test(answer.trim());

/** Accepts the answers to a question of yes or no. What is neither must not count as a no. */
export function yesOrNo(answer: string): void {
  if (!/^(y|yes|n|no)$/i.test(answer)) throw new Error('must be yes or no');
}

/** Accepts an amount in currency units. Its 6 decimals are the limit of the ledger. */
export function amount(answer: string): void {
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(answer)) throw new Error('must be a number of 0 or more, with at most 6 decimals');
}

/** Accepts the path of a file that can be read. */
export async function readable(path: string): Promise<void> {
  const code = await access(path, constants.R_OK).then(
    () => null,
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error)),
  );
  if (code !== null) throw new Error(`must be a file that can be read (${code})`);
}
