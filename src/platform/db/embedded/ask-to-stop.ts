import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { operatingSystem } from '../../lib/operating-system.ts';

const run = promisify(execFile);

/**
 * Asks a server to shut down in good order, disconnecting its clients, and does not wait for it. Without signals, it
 * runs pg_ctl, which is next to the server program; if that fails, the server is killed, and the next start recovers.
 */
export async function askToStop(
  { clusterDir, pid }: { readonly clusterDir: string; readonly pid: number },
  { stopBy, programSuffix, environment } = operatingSystem(),
): Promise<void> {
  if (stopBy === 'signal') {
    process.kill(pid, 'SIGINT');
    return;
  }
  await stopByPgCtl(clusterDir, `pg_ctl${programSuffix}`, environment).catch(() => process.kill(pid));
}

async function stopByPgCtl(clusterDir: string, name: string, env: Readonly<Record<string, string>>): Promise<void> {
  // The command line that started the server, with quotes around its arguments only.
  const [program = ''] = (await readFile(join(clusterDir, 'postmaster.opts'), 'utf8')).split(' "', 1);
  // It does not work for root.
  const { uid, gid } = await stat(clusterDir);
  const user = process.getuid?.() === 0 ? { uid, gid } : {};
  await run(join(dirname(program), name), ['stop', '-D', clusterDir, '-m', 'fast', '-W'], { ...user, env });
}
