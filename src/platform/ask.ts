import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { invalidFields } from './errors.ts';
import { trimCharacterEnd } from './lib/trim.ts';
import type { SecretSource } from './secret-input.ts';

type Terminal = {
  readonly stdin: SecretSource | undefined;
  /** The question is written here, so that stdout stays the result of the command. */
  readonly stderr: { write(text: string): unknown };
};

/**
 * Creates a function that asks the operator for one line at the terminal; null if standard input is not a terminal.
 * Ctrl-C and Ctrl-D end it with an error that names the question.
 */
export function createAsk({ stdin, stderr }: Terminal): ((question: string) => Promise<string>) | null {
  if (stdin?.isTTY !== true) return null;
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      stderr.write(chunk.toString());
      done();
    },
  });
  return (question) => {
    const lines = createInterface({ input: stdin, output, terminal: true, historySize: 0 });
    const nothing = (): Error =>
      invalidFields([{ field: trimCharacterEnd(question.trimEnd(), ':'), message: 'a value is required' }]);
    return new Promise<string>((resolve, reject) => {
      lines.question(question, resolve);
      lines.once('close', () => reject(nothing()));
    })
      .catch((error: unknown) => {
        // The cursor is after the question.
        stderr.write('\n');
        throw error;
      })
      .finally(() => lines.close());
  };
}
