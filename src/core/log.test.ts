import { afterEach, describe, expect, test, vi } from 'vitest';
import { createLog } from './log.ts';

function logged(write: (log: ReturnType<typeof createLog>) => void): { text: string; line: Record<string, unknown> } {
  let text = '';
  write(createLog('info', { write: (chunk) => void (text += chunk) }));
  return { text, line: JSON.parse(text) };
}

test('only listed fields are logged; of the others only the names', () => {
  const { text, line } = logged((log) => log.info({ accountId: 7, body: 'hello', apiKey: 'pg_live_x' }, 'sent'));
  expect(line).toMatchObject({ level: 'info', accountId: 7, msg: 'sent', dropped: ['body', 'apiKey'] });
  expect(text).not.toMatch(/hello|pg_live_x/);
});

test('phone numbers are masked in fields, in error texts and in their causes', () => {
  const { text } = logged((log) => {
    const cause = new Error('Key (destination)=(+393511234512) already exists');
    log.error({ err: new Error('insert of 393511234512', { cause }), destination: '+393511234512' }, 'failed');
  });
  expect(text).not.toContain('3511234512');
  expect(text).toContain('+39351*****12');
});

test('fields that libraries attach to an error are not logged', () => {
  const error = Object.assign(new Error('duplicate'), {
    code: '23505',
    detail: 'Key (name)=(secret)',
    config: { key: 's3' },
  });
  const { text, line } = logged((log) => log.error({ err: error }, 'failed'));
  expect(text).not.toMatch(/secret|s3/);
  expect(line['err']).toMatchObject({ type: 'Error', code: '23505', message: 'duplicate' });
});

test('a line break in a value does not start a new line', () => {
  const { text, line } = logged((log) => log.info({ clientRequestId: 'a\r\n{"level":"error"}' }, 'b\nc'));
  expect(text.trimEnd().split('\n')).toHaveLength(1);
  expect(line).toMatchObject({ clientRequestId: 'a\r\n{"level":"error"}', msg: 'b\nc' });
});

test('a child logger keeps to the same list', () => {
  const { text } = logged((log) => log.child({ connection: 'main', password: 'pw1' }).info('up'));
  expect(text).toContain('main');
  expect(text).not.toContain('pw1');
});

describe('while a server cannot be reached', () => {
  const refused = (port: number) =>
    Object.assign(new Error(`connect ECONNREFUSED 127.0.0.1:${port}`), { code: 'ECONNREFUSED' });

  /** Returns the lines that these calls write, without omitted ones. */
  function linesOf(write: (log: ReturnType<typeof createLog>) => void): Record<string, unknown>[] {
    const lines: Record<string, unknown>[] = [];
    write(createLog('info', { write: (line) => void lines.push(JSON.parse(line)) }));
    return lines;
  }

  afterEach(() => void vi.useRealTimers());

  test('one line a minute says so, without a stack, and how many were left out', () => {
    vi.useFakeTimers();
    const lines = linesOf((log) => {
      for (let second = 0; second <= 120; second++) {
        log.child({ task: `task ${second}` }).error({ err: refused(5432) }, 'periodic work failed');
        vi.advanceTimersByTime(1000);
      }
    });
    expect(lines.map(({ leftOut }) => leftOut)).toEqual([undefined, 59, 59]);
    expect(lines[0]).toMatchObject({ level: 'error', err: { code: 'ECONNREFUSED' }, msg: 'periodic work failed' });
    expect(lines[0]?.['err']).not.toHaveProperty('stack');
  });

  test('lines that say something else are written: another text, server, connection or error', () => {
    const lines = linesOf((log) => {
      log.warn({ err: refused(5432) }, 'no claim');
      log.warn({ err: refused(5432) }, 'no receipt');
      log.warn({ err: refused(25) }, 'no claim');
      log.warn({ err: refused(5432), connectionId: 1 }, 'no claim');
      log.warn({ err: refused(5432), connectionId: 2 }, 'no claim');
      log.error({ err: refused(5432) }, 'no claim');
      for (let i = 0; i < 2; i++) log.warn({ err: new Error('division by zero') }, 'no claim');
      for (let i = 0; i < 2; i++) log.warn({ reason: String(refused(5432)) }, 'no claim');
      for (let i = 0; i < 2; i++) log.warn({ reason: 'The carrier returned 503' }, 'no claim');
    });
    expect(lines).toHaveLength(11);
  });
});
