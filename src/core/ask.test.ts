import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createAsk } from './cli.ts';

/** A terminal with a typing user. */
function terminal() {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  let shown = '';
  const ask = createAsk({ stdin, stderr: { write: (text: string) => (shown += text) } });
  return { stdin, ask, shown: () => shown };
}

test('a line is asked for and shown at a terminal, one question after the other', async () => {
  const { stdin, ask, shown } = terminal();
  const first = ask?.('Name: ');
  stdin.write('Acme\n');
  expect(await first).toBe('Acme');
  const second = ask?.('Credit [100]: ');
  stdin.write('\n');
  expect(await second).toBe('');
  expect(shown()).toMatch(/Name: .*Acme/);
  expect(shown()).toContain('Credit [100]: ');
});

test('Ctrl-D ends a question without a reply, and nothing is asked without a terminal', async () => {
  const { stdin, ask, shown } = terminal();
  const asked = ask?.('Name: ');
  stdin.write('\u0004');
  await expect(asked).rejects.toThrow(/^Name: a value is required$/);
  expect(shown()).toMatch(/Name: .*\n$/s);
  expect(createAsk({ stdin: new PassThrough(), stderr: { write: () => true } })).toBeNull();
  expect(createAsk({ stdin: undefined, stderr: { write: () => true } })).toBeNull();
});
