import type { Answers } from './answers.ts';
import type { EnvFile } from './env-file.ts';
import type { Done } from './step.ts';

/** The comment in the file of settings by which later runs know that a person has confirmed it. */
const CONFIRMED = '# A copy of the secret key is kept elsewhere, apart from the backups: confirmed on';

/**
 * Asks whether a copy of the secret key is kept elsewhere, once the key is on the disk; without one, passwords and tokens are
 * lost with this machine. Returns the line to add to the file of settings; null where nothing is to be added.
 */
export async function confirmKeyCopy(
  answers: Answers,
  file: Pick<EnvFile, 'text' | 'path'>,
  now: Date,
): Promise<{ done: Done; line: string | null }> {
  const step = 'copy of the key';
  if (file.text.includes(CONFIRMED)) return { done: { step, changed: false, detail: 'confirmed' }, line: null };
  const question = `The secret key is in ${file.path}, or in DATA_DIR/secret.key. Copy it to where your other keys are, apart from the backups. Is that done? yes or no`;
  if (!(await answers.confirmed({ flag: 'secretKeyCopied', text: question }))) {
    const detail = 'NOT confirmed: copy the secret key elsewhere, and run `setup --secret-key-copied`';
    return { done: { step, changed: false, detail }, line: null };
  }
  return { done: { step, changed: true, detail: 'confirmed' }, line: `${CONFIRMED} ${now.toISOString().slice(0, 10)}` };
}
