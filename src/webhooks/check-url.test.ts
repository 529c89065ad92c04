import { describe, expect, test } from 'vitest';
import { createGuard } from '../core/outbound.ts';
import { findUrlFault } from './urls.ts';

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'example.com': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'mixed.example.com': ['93.184.215.14', '10.0.0.1'],
  'internal.example.com': ['192.168.1.1'],
  'xn--grn-ioa.example.com': ['93.184.215.14'],
};
const resolve = async (host: string) => NAMES[host] ?? Promise.reject(new Error('not found'));
const guard = createGuard({ allowedBlocks: [], ports: [443, 8443], resolve });

describe('may be registered', () => {
  test.each([
    'https://example.com',
    'HTTPS://Example.COM/Hook?token=a&b=%20#'.replace('#', ''),
    'https://example.com:443/',
    'https://example.com:8443/a/b?c=@',
    'https://example.com?callback',
    'https://grün.example.com/',
    'https://1.1.1.1/hook',
    'https://[2606:4700:4700::1111]/hook',
  ])('%s', async (url) => expect(await findUrlFault(guard, url)).toBeNull());
});

const FAULTS: Record<string, string[]> = {
  'must begin with https://': ['http://example.com/', 'ftp://example.com', 'example.com', '', 'javascript:alert(1)'],
  'must be a full URL, such as https://example.com/events': [
    'https:example.com',
    'https:/example.com',
    'https://',
    'https:///example.com',
    'https://?a',
    'https:127.0.0.1',
    'https://exa%00mple.com',
    'https://[::1',
    'https://1.2.3.4.5',
    'https://example.com:99999',
  ],
  'must be a URL without spaces, backslashes and control characters': [
    ' https://example.com',
    'https://example.com ',
    'https://exam\tple.com',
    'https://exam\nple.com',
    'https:\\\\example.com',
    'https://example.com\\@127.0.0.1/',
    'https://example.com/\u0000',
    'https://exam\u200bple.com',
  ],
  'must have no #fragment': ['https://example.com/#', 'https://example.com#top', 'https://example.com/?a#'],
  'must have no user name or password': [
    'https://user@example.com',
    'https://user:password@example.com/',
    'https://@example.com',
    'https://:@example.com',
  ],
  'must have the port 443 or 8443': ['https://example.com:80', 'https://example.com:22/', 'https://example.com:0'],
  'must lead to a host that can be resolved': ['https://unknown.example.com', 'https://intranet/'],
  'must lead to a host with public addresses only': [
    'https://mixed.example.com',
    'https://internal.example.com:8443',
    'https://127.0.0.1',
    'https://127.0.0.1./',
    'https://2130706433',
    'https://0x7f.1',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://0',
    'https://①②⑦.0.0.1',
    'https://127。0。0。1',
    'https://[::1]',
    'https://[::ffff:127.0.0.1]:8443',
    'https://169.254.169.254/latest',
    'https://[64:ff9b::10.0.0.1]',
    'https://[fe80::1]',
    'https://%31%32%37.0.0.1',
  ],
};
describe.each(Object.entries(FAULTS))('is refused: it %s', (fault, urls) => {
  test.each(urls)('%j', async (url) => expect(await findUrlFault(guard, url)).toBe(fault));
});
