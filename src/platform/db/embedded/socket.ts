import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfExists } from '../private-file.ts';
import { operatingSystem } from '../../lib/operating-system.ts';

/** Maximum bytes of a Unix socket address on every system, without its NUL: 103 on macOS, 107 on Linux. */
const MAX_PATH_OCTETS = 103;
const MAX_NAME = '.s.PGSQL.65535';
const LOCK = /^(\.s\.PGSQL\.\d+)\.lock$/;

/**
 * Returns the folder for the server's Unix socket: the cluster itself, which only the server's user may enter. Null if
 * sockets are not possible: on Windows, and if the path is too long or contains a character that the setting would have
 * to quote.
 *
 * Over a socket the gateway and PostgreSQL use 3 to 4 % less CPU time than over TCP.
 */
export function socketFolder(clusterDir: string, platform = process.platform): string | null {
  const fits = Buffer.byteLength(join(clusterDir, MAX_NAME)) <= MAX_PATH_OCTETS;
  return operatingSystem(platform).isPosix && fits && /^\/[\w./-]*$/.test(clusterDir) ? clusterDir : null;
}

/**
 * Adds the folder of a server's socket to its connection string, as the parameter `host`, which replaces the address
 * for libpq and for our driver. The port is part of the socket's name.
 */
export const overSocket = (connectionString: string, folder: string): string =>
  `${connectionString}?host=${encodeURIComponent(folder)}`;

/**
 * Removes the sockets of killed servers, identified by pid with `runs`. PostgreSQL removes only one of the same port,
 * and does not start if its pid is in use by another program: after a reboot, pids are reused.
 */
export async function removeDeadSockets(clusterDir: string, runs: (pid: number) => Promise<boolean>): Promise<void> {
  for (const name of await readdir(clusterDir)) {
    const socket = LOCK.exec(name)?.[1];
    if (socket === undefined) continue;
    const pid = Number.parseInt((await readIfExists(join(clusterDir, name))) ?? '', 10);
    // An empty file is being written by a server that starts now.
    if (Number.isNaN(pid) || (await runs(pid))) continue;
    await rm(join(clusterDir, socket), { force: true });
    await rm(join(clusterDir, name), { force: true });
  }
}
