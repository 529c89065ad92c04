import { expect, test } from 'vitest';
import { operatingSystem } from './machine.ts';

test.each([
  ['linux', '/etc/hosts', 'linux', '', 'signal', null],
  ['darwin', '/etc/hosts', 'darwin', '', 'signal', 'ps'],
  ['win32', String.raw`C:\Windows\System32\drivers\etc\hosts`, 'windows', '.exe', 'pg_ctl', 'powershell'],
  ['freebsd', '/etc/hosts', 'freebsd', '', 'signal', 'ps'],
] as const)(
  '%s has its own paths, programs and way to end a server',
  (platform, hosts, name, suffix, stopBy, command) => {
    const system = operatingSystem(platform);
    expect(system).toMatchObject({ hostsFile: hosts, packageName: name, programSuffix: suffix, stopBy });
    expect(system.commandLine?.(42)[0] ?? null).toBe(command);
    expect(system.commandLine?.(42).join(' ') ?? '42').toContain('42');
  },
);

test('this system is the default', () => expect(operatingSystem()).toEqual(operatingSystem(process.platform)));
