import { sabotage } from './replace.ts';

const file = 'src/messaging/fallback/decide.ts';
sabotage([{ file, find: "message.channel === 'RCS' && !message.simulation", put: "message.channel === 'SMS'" }]);
