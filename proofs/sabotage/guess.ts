import { sabotage } from './replace.ts';

// Anybody who guesses often enough locks the owner out.
sabotage([
  {
    file: 'src/identity/authentication/authenticate.ts',
    find: 'const known = login?.networks.includes(network) === true;',
    put: 'const known = false;',
  },
]);
