import { expect, test } from 'vitest';
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
