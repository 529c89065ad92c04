import type { Command } from 'commander';
import type { Server } from 'node:http';
import { pino } from 'pino';
import { createCells } from '../cells/callers.ts';
import { createDirectory, followPlacements, openDirectory } from '../cells/directory.ts';
import { createDirectoryListener } from '../cells/routes.ts';
import type { CommandContext } from '../platform/cli.ts';
import type { Config } from '../platform/config.ts';
import { StartupError } from '../platform/db/startup-error.ts';
import { listenPlainly } from '../platform/http/listen.ts';
import { createNodeServer } from '../platform/http/server.ts';
import { endsWithin } from '../platform/lib/background/ends-within.ts';
import { createLog } from '../platform/log.ts';
import { startWith } from './start.ts';
import { type Closers, exitSoon, followStopSignals, NEVER_STOPPING, type Stopping } from './stop.ts';

const STOP_HTTP_MS = 3000;

/** `directory`, which runs until it is stopped. */
export function registerDirectoryCommand(program: Command, context: CommandContext): void {
  program
    .command('directory')
    .description('route requests to cells for the proxy in front of them; needs DIRECTORY_URL and CELL_DATABASES')
    .action(async () => {
      const stopping = followStopSignals();
      const config = context.config();
      try {
        const { address, stop } = await startDirectory(config, stopping);
        context.report({ address }, () => `The directory of the cells is running: ${address}/cell   (Ctrl+C stops it)`);
        await stopping.stopped;
        await stop();
      } catch (error) {
        // Stopped during the start: that is not an error.
        if (error !== stopping.signal.reason) throw error;
      } finally {
        exitSoon();
      }
    });
}

/** Starts the directory of the cells, as `startWith` does; `address` is the origin at which the proxy queries it. */
export const startDirectory = (
  config: Config,
  stopping: Stopping = NEVER_STOPPING,
): Promise<{ readonly address: string; stop(): Promise<void> }> =>
  startWith(stopping, (closers) => open(config, closers));

async function open(config: Config, { add: onStop }: Closers): Promise<{ readonly address: string }> {
  const { directoryUrl, databases } = config.cells;
  if (directoryUrl === undefined)
    throw new StartupError('DIRECTORY_URL must be set: the directory records moved accounts in a separate database.');
  if (databases.size === 0)
    throw new StartupError('CELL_DATABASES must be set: the directory asks the cells for their accounts.');
  const log = createLog(config.logLevel, pino.destination(2));
  const pool = await openDirectory(directoryUrl, log);
  onStop('pool', () => pool.end());
  const placements = await followPlacements(pool, log);
  onStop('moved accounts', placements.close);
  const cells = createCells(databases, log);
  onStop('cells', cells.close);
  const directory = createDirectory(cells, placements);
  const server = createNodeServer(config, createDirectoryListener({ directory, silent: cells.silent, log }));
  const address = await listenPlainly(server, config);
  onStop('server', () => close(server));
  return { address };
}

/** Gives pending requests a moment to be answered, then closes. */
async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  if (!(await endsWithin(closed, STOP_HTTP_MS))) server.closeAllConnections();
}
