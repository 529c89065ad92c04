import { mkdirSync, readdirSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import v8 from 'node:v8';
import { isMainThread } from 'node:worker_threads';
import pg from 'pg';

/** Work of a process since its start. */
export type Work = {
  /** The bytes that it has allocated on the heap of its main thread, without those that buffers keep outside of it. */
  readonly allocatedBytes: number;
  /** The statements that PostgreSQL has completed for it, BEGIN and COMMIT among them. */
  readonly statements: number;
};

const folderOf = (dataDir: string): string => join(dataDir, 'probes');

/** The ids of the processes that use this data folder and have a probe. */
export const probedPids = (dataDir: string): number[] => readdirSync(folderOf(dataDir)).map(Number);

/** Sums the work of all processes that run with a probe on this data folder. */
export async function workOf(dataDir: string): Promise<Work> {
  const all = await Promise.all(
    probedPids(dataDir).map(
      async (pid) => JSON.parse(await text(connect(join(folderOf(dataDir), String(pid))))) as Work,
    ),
  );
  return {
    allocatedBytes: all.reduce((sum, { allocatedBytes }) => sum + allocatedBytes, 0),
    statements: all.reduce((sum, { statements }) => sum + statements, 0),
  };
}

/**
 * `node --import` loads this module before the program, into the processes that it forks, too. It counts what the process
 * does, and responds to each connection to a socket in the data folder.
 */
function answerBench(dataDir: string): void {
  const statements = countStatements();
  const server = createServer((socket) => {
    const { total_allocated_bytes: allocatedBytes } = v8.getHeapStatistics();
    socket.end(JSON.stringify({ allocatedBytes, statements: statements() } satisfies Work));
  });
  mkdirSync(folderOf(dataDir), { recursive: true });
  // Not through the first process of a cluster, which would hand connections out in turns.
  server.listen({ path: join(folderOf(dataDir), String(process.pid)), exclusive: true }).unref();
}

/** The driver has no public event for the end of a statement. */
function countStatements(): () => number {
  let statements = 0;
  const client = pg.Client.prototype as unknown as { _handleCommandComplete(this: unknown, message: unknown): void };
  const handle = client._handleCommandComplete;
  client._handleCommandComplete = function count(message) {
    statements++;
    handle.call(this, message);
  };
  return () => statements;
}

if (process.execArgv.includes(import.meta.filename) && isMainThread) answerBench(process.env['DATA_DIR'] ?? '');
