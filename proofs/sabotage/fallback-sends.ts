import { sabotage } from './replace.ts';

const file = 'src/messaging/fallback/decide.ts';
sabotage([{ file, find: "fact.channel === 'RCS' && !fact.simulation", put: "fact.channel === 'SMS'" }]);
