// Runs the database of the folder in its argument, prints its connection string, and stays until it is killed: the part
// of a gateway that a test ends with SIGKILL.
import { startEmbedded } from '../../src/core/db/embedded.ts';
import { silentLog } from '../../src/core/log.ts';

const server = await startEmbedded({ dataDir: process.argv[2] ?? '', log: silentLog });
console.log(server.connectionString);
setInterval(() => {}, 60_000);
