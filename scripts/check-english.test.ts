import { expect, test } from 'vitest';
import { findStyle, withoutCode } from './check-english.ts';

const found = (text: string): string[] => findStyle('page.md', text).map(({ line, text: says }) => `${line} ${says}`);

test('words that the style replaces are found at their line, with what to write', () => {
  expect(found('Log files stay.\nPlease use the login.\n')).toEqual([
    '2 "login": write "sign in", and the noun "sign-in"',
    '2 "Please": write nothing',
  ]);
});

test('code, addresses of links, and what other programs call their pages are not prose', () => {
  const text = withoutCode('```sh\nemail\n```\n[a page](login.md) `email` *API setup with\nInstagram login*');
  expect(found(text)).toEqual([]);
  expect(text.split('\n')).toHaveLength(5);
});
