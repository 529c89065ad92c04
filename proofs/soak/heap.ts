// Loaded before the program: at SIGUSR2 it collects the garbage and prints the memory that is left, as a line of JSON.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

process.on('SIGUSR2', () => {
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  console.log(JSON.stringify({ heapBytes: heapUsed + external, rssBytes: rss }));
});
