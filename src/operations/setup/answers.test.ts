import { expect, test } from 'vitest';
import { createSecretReader } from '../../platform/secret-input.ts';
import { amount, createAnswers, type Flags, readable, yesOrNo } from './answers.ts';

/** Answers of a person who types these lines, one for each question; null: nobody is there. */
function answersOf(flags: Flags, typed: readonly string[] | null = null) {
  const said: string[] = [];
  const lines = [...(typed ?? [])];
  const ask = async (question: string): Promise<string> => {
    said.push(question);
    const line = lines.shift();
    if (line === undefined) throw new Error('nothing was entered');
    return line;
  };
  const secrets = createSecretReader({ stdin: undefined, stderr: { write: () => true }, warn: () => undefined });
  const answers = createAnswers({ flags, ask: typed && ask, say: (line) => said.push(line), secrets });
  return { answers, said };
}

test('an answer that does not fit is asked for again, with what is wrong, and does not end the run', async () => {
  const { answers, said } = answersOf({}, ['Yes please', '', ' YES ']);
  expect(await answers.text({ flag: 'carrierTls', text: 'TLS', rule: yesOrNo })).toBe('YES');
  expect(said).toEqual(['TLS: ', 'The answer must be yes or no.', 'TLS: ', 'The answer must be yes or no.', 'TLS: ']);
});

test('an option that does not fit is refused by its name, and what is known already is taken as it is', async () => {
  const rule = yesOrNo;
  const wrong = answersOf({ carrierTls: 'true' }, ['yes']).answers.text({ flag: 'carrierTls', text: 'TLS', rule });
  await expect(wrong).rejects.toThrow('--carrier-tls: must be yes or no');
  expect(await answersOf({}, []).answers.text({ flag: 'a', text: 'A', known: 'as before', rule })).toBe('as before');
});

test('with nobody to ask a missing secret is refused by its options', async () => {
  await expect(answersOf({}).answers.secret('--carrier-password')).rejects.toThrow('--carrier-password: is required');
});

test('amounts and files are checked when they are entered', async () => {
  for (const good of ['0', '7', '0.021', '999999999', '0.000001']) expect(() => amount(good)).not.toThrow();
  for (const bad of ['', '-1', '1e3', '0x10', '1,5', '1.0000001', 'free', 'Infinity'])
    expect(() => amount(bad), bad).toThrow('must be a number of 0 or more');
  await expect(readable('/none/such.pem')).rejects.toThrow('must be a file that can be read (ENOENT)');
});
