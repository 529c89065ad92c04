import { sabotage } from './replace.ts';

// As clients do that try every server error again: a proxy may answer so after it has passed the message on.
sabotage([
  {
    file: 'src/channels/http-sms/submit.ts',
    find: "if (status === 408 || status === 409 || status >= 500) return meaning('unknown');",
    put: "if (status === 408 || status === 409 || status >= 500) return meaning('later');",
  },
]);
