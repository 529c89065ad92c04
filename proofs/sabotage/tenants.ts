import { asOwner } from './owner.ts';
import { sabotage } from './replace.ts';

// One forgotten WHERE. Behind the second wall alone it would change nothing: that is what the wall is for. And the response of
// a provider is attributed by its state alone.
sabotage([
  {
    file: 'src/messages/status.ts',
    find: 'WHERE m.account_id = ${accountId} AND m.id = ANY(${plainArray(ids)}::uuid[])`',
    put: 'WHERE m.id = ANY(${plainArray(ids)}::uuid[])`',
  },
  asOwner,
  {
    file: 'src/accounts/single-sign-on-flow.ts',
    find: 'state.redirectUri === redirectUri &&',
    put: '',
  },
]);
