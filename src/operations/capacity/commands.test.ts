import { expect, test } from 'vitest';
import { runCommand } from '../../platform/cli.ts';
import { registerCapacityCommand } from './commands.ts';

async function run(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const out = { stdout: '', stderr: '' };
  const writer = (name: keyof typeof out) => ({ write: (text: string) => (out[name] += text) });
  const code = await runCommand([registerCapacityCommand], {
    argv: ['node', 'main.ts', 'capacity', ...args],
    env: {},
    stdout: writer('stdout'),
    stderr: writer('stderr'),
  });
  return { code, ...out };
}

test('capacity needs no installation, and says what it was measured on', async () => {
  const { code, stdout, stderr } = await run('--per-day', '1000000', '--share-bulk', '0.9', '--webhooks');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^data of 90 days with indexes +\d+ GB +\d+ GB$/m);
  expect(stdout).toContain('Set-up: one machine');
  expect(stdout).toContain('The peak is 56 messages a second. Measured on virtual machines with two cores');
});

test('with --json all figures and their sources are there', async () => {
  const { stdout } = await run('--json', '--per-day', '100', '--peak-per-second', '7', '--inbound', '3');
  const answer: unknown = JSON.parse(stdout);
  expect(answer).toMatchObject({
    demand: { perDay: 100, peakPerSecond: 7, inboundPerDay: 3, parts: 1, eventsPerMessage: 0, keepDays: 90 },
    coresToHave: 2,
    connections: 30,
    setup: 'one machine',
    figures: { bulk: { source: expect.stringContaining('bench') } },
  });
});

test.each([
  [['--per-day', 'many'], 'at least 0'],
  [['--per-day', '1e3'], 'at least 0'],
  [['--per-day', '5', '--share-bulk', '1.5'], 'from 0 to 1'],
  [['--per-day', '5', '--parts', '0.5'], 'at least 1'],
  [['--per-day', '5', '--share-bulk', '0.6', '--share-campaigns', '0.6'], 'not be more than 1 together'],
  [[], '--per-day'],
])('%j is refused with a sentence', async (args, sentence) => {
  const { code, stderr } = await run(...args);
  expect(code).toBe(2);
  expect(stderr).toContain(sentence);
});
