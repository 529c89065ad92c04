import { sabotage } from './replace.ts';

// Three repetitions that all match blanks take cubic time on `{{` and many blanks.
sabotage([
  {
    file: 'src/messages/read-send.ts',
    find: 'fillPlaceholders(text, (name) => values.get(name));',
    put: 'text.replace(/\\{\\{\\s*([^{}|]+?)\\s*\\}\\}/g, (whole, name: string) => values.get(name) ?? whole);',
  },
]);
