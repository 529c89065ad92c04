// What Prometheus itself says about the alerts and the metrics. `.ci/run` installs its package, whose promtool this needs.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startTestProgram } from '../test/support/program.ts';

const FOLDER = join(import.meta.dirname, 'prometheus');
const promtool = (args: readonly string[], input = '') =>
  spawnSync('promtool', args, { input, encoding: 'utf8', timeout: 60_000 });
const isMissing = promtool(['--version']).error !== undefined;

describe.skipIf(isMissing)('promtool', () => {
  test('accepts the alerts', () => {
    const { status, stdout, stderr } = promtool(['check', 'rules', join(FOLDER, 'alerts.yaml')]);
    expect(status, stdout + stderr).toBe(0);
    expect(stdout).toContain('8 rules found');
  });

  test('finds that each alert begins when it should, and only then', () => {
    const { status, stdout, stderr } = promtool(['test', 'rules', join(FOLDER, 'alerts.test.yaml')]);
    expect(status, stdout + stderr).toBe(0);
  });

  test('accepts the names and the help of all metrics', async () => {
    await using program = await startTestProgram();
    await program.client.send({ phoneNumber: '+393331234567', message: 'Hello' });
    const { body } = await program.client.request('GET', '/metrics');
    const { status, stdout, stderr } = promtool(['check', 'metrics'], String(body));
    expect(status, stdout + stderr).toBe(0);
    expect(stdout + stderr).toBe('');
  });
});
