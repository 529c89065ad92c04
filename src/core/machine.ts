import { hkdfSync } from 'node:crypto';
import type { SecretKey } from './secrets.ts';

/** Differences between the systems that the program may run on. It has run on Linux only. */
type OperatingSystem = {
  /** The hosts file, which takes precedence over DNS. */
  readonly hostsFile: string;
  /** The name of the system in the packages of the built-in PostgreSQL. */
  readonly packageName: string;
  readonly programSuffix: '' | '.exe';
  /** A locale of the C library in which pg_trgm recognises letters. */
  readonly locale: string;
  /** True if PostgreSQL has Unix sockets here, and its users and file modes count. */
  readonly isPosix: boolean;
  /** Environment variables that PostgreSQL needs; it gets no others. Without SystemRoot, Windows opens no sockets. */
  readonly environment: Readonly<Record<string, string>>;
  /** A folder that always exists, for processes that outlive this one. */
  readonly root: string;
  /** The command that prints the command line of a process; null where /proc has it. */
  readonly commandLine: ((pid: number) => readonly [command: string, ...args: string[]]) | null;
  /**
   * Way to ask a server to end in good order. Windows has no signals: `kill` would end it immediately, and the next
   * start would recover from a crash.
   */
  readonly stopBy: 'signal' | 'pg_ctl';
};

const POSIX = {
  hostsFile: '/etc/hosts',
  programSuffix: '',
  isPosix: true,
  environment: { PATH: '/usr/bin:/bin' },
  root: '/',
  stopBy: 'signal',
} as const;

const SYSTEMS: Readonly<Partial<Record<NodeJS.Platform, OperatingSystem>>> = {
  linux: { ...POSIX, packageName: 'linux', locale: 'C.UTF-8', commandLine: null },
  darwin: {
    ...POSIX,
    packageName: 'darwin',
    locale: 'en_US.UTF-8',
    commandLine: (pid) => ['ps', '-o', 'command=', '-p', String(pid)],
  },
  win32: {
    hostsFile: String.raw`C:\Windows\System32\drivers\etc\hosts`,
    packageName: 'windows',
    programSuffix: '.exe',
    locale: 'C',
    isPosix: false,
    environment: { PATH: String.raw`C:\Windows\System32`, SystemRoot: String.raw`C:\Windows` },
    root: 'C:\\',
    commandLine: (pid) => [
      'powershell',
      '-NoProfile',
      '-Command',
      `(Get-CimInstance Win32_Process -Filter 'ProcessId=${pid}').CommandLine`,
    ],
    stopBy: 'pg_ctl',
  },
};

/**
 * Returns the particulars of a system; of this one by default. An unknown system is treated as a POSIX one like macOS.
 */
export const operatingSystem = (platform: NodeJS.Platform = process.platform): OperatingSystem =>
  SYSTEMS[platform] ?? {
    ...POSIX,
    packageName: platform,
    locale: 'C',
    commandLine: (pid) => ['ps', '-o', 'command=', '-p', String(pid)],
  };

/** The response header with the id of the installation. */
export const INSTALLATION_HEADER = 'x-heliograph-installation';

/**
 * Returns the id of an installation: 32 hex digits that all its processes share, because they share SECRET_KEY. It is
 * public, and reveals nothing about the key; it cannot be forged for another installation without the key.
 */
export const installationOf = ({ bytes }: SecretKey): string =>
  Buffer.from(hkdfSync('sha256', bytes, '', 'heliograph installation v1', 16)).toString('hex');
