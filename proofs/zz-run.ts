import { createRandom } from '../src/carriers/sandbox/random.ts';
import { temporaryFolder } from '../src/testing/temporary-folder.ts';
import { receivers } from './zz-receivers.ts';
const folder = await temporaryFolder('heliograph-zz-');
console.log(
  JSON.stringify(
    await receivers.prove({
      mode: 'full',
      seed: 1,
      random: createRandom(1),
      sabotage: null,
      folder,
      databaseUrl: null,
      say: console.error,
    }),
  ),
);
process.exit();
