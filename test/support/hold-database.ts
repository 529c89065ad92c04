// Runs the database of the folder in its argument, prints its connection string, and stays until it is killed: the part
// of a gateway that a test ends with SIGKILL.
import { startEmbedded } from '../../src/platform/db/embedded/embedded.ts';
import { silentLog } from '../../src/platform/lib/log.ts';

const server = await startEmbedded({ dataDir: process.argv[2] ?? '', log: silentLog });
console.log(server.connectionString);
setInterval(() => {}, 60_000);
