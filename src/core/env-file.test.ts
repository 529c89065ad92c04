import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { addEnvFile, parseEnvFile } from './env-file.ts';

const parse = (text: string) => parseEnvFile(text, 'a.env');

test('values are read as systemd reads them', () => {
  expect(
    parse(
      [
        '# a comment',
        '; and another one',
        '',
        'PLAIN=postgres://user:p#ss@host/name',
        'BLANKS =  two words  ',
        'EMPTY=',
        'SINGLE=\'a "b" \\n $HOME\'',
        'DOUBLE="say \\"hi\\" for 5\\$, \\n stays"',
        'JOINED="one " \'two \'  three',
        "LITERAL=it's a 'word' and \"another\" one",
        'PASSWORD=postgres://u:"p\'@host/name',
        'AFTER="one "two\' three',
        'OLD=mac\rMAC=2',
        'ESCAPED=a\\ b\\\\c\\',
        'd',
        'LINES="first',
        'second"',
        'KEPT="  blanks  "',
        '  INDENTED=yes',
        'WINDOWS=line\r',
        'LAST=1',
      ].join('\n'),
    ),
  ).toEqual({
    PLAIN: 'postgres://user:p#ss@host/name',
    BLANKS: 'two words',
    EMPTY: '',
    SINGLE: 'a "b" \\n $HOME',
    DOUBLE: 'say "hi" for 5$, \\n stays',
    JOINED: 'one two three',
    LITERAL: `it's a 'word' and "another" one`,
    PASSWORD: `postgres://u:"p'@host/name`,
    AFTER: "one two' three",
    OLD: 'mac',
    MAC: '2',
    ESCAPED: 'a b\\cd',
    LINES: 'first\nsecond',
    KEPT: '  blanks  ',
    INDENTED: 'yes',
    WINDOWS: 'line',
    LAST: '1',
  });
});

test.each([
  ['A=1\nexport B=2\n', 'a.env, line 2: must be NAME=value'],
  ['A=1\n\nonly words\nC=3', 'a.env, line 3: must be NAME=value'],
  ['A=1\nB="open\nC=3', 'a.env, line 2: the quote does not end'],
  ['A=1\nnothing', 'a.env, line 2: must be NAME=value'],
  ['A=1\nnothing\n=2', 'a.env, line 2: must be NAME=value'],
])('a line that sets nothing is refused with its number: %j', (text, message) => {
  expect(() => parse(text)).toThrow(message);
});

test('the file fills in what is not set, and its lack is an error that says what to do', async () => {
  const file = join(await temporaryFolder('heliograph-env-'), 'heliograph.env');
  await writeFile(file, 'DATA_DIR=/var/lib/heliograph\nPORT=8081\nSANDBOX=off\n');
  const env: Record<string, string | undefined> = { HELIOGRAPH_ENV_FILE: file, PORT: '9000', SANDBOX: '' };
  await addEnvFile(env);
  expect(env).toEqual({ HELIOGRAPH_ENV_FILE: file, DATA_DIR: '/var/lib/heliograph', PORT: '9000', SANDBOX: '' });

  const untouched = { HELIOGRAPH_ENV_FILE: ' ' };
  await addEnvFile(untouched);
  expect(untouched).toEqual({ HELIOGRAPH_ENV_FILE: ' ' });
  await expect(addEnvFile({ HELIOGRAPH_ENV_FILE: `${file}.none` })).rejects.toThrow(/none \(ENOENT\)/);
});

test('a long file takes linear time', () => {
  const lines = 200_000;
  expect(Object.keys(parse('A=" \\\\ "\n'.repeat(lines) + 'B=2'))).toEqual(['A', 'B']);
});
