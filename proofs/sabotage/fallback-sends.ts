import { sabotage } from './replace.ts';

const file = 'src/messages/fallback/judge.ts';
sabotage([{ file, find: "fact.channel === 'RCS' && !fact.simulation", put: "fact.channel === 'SMS'" }]);
