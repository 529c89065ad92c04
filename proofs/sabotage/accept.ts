import { COMMIT_ONE } from '../../src/messages/accept.ts';
import { accepted } from '../../src/messages/client-ids.ts';

// The response is sent while the commit is still under way; if the commit fails, the client does not learn of it.
COMMIT_ONE.put((commit) => (item) => {
  commit(item).catch(() => undefined);
  return Promise.resolve(accepted(item));
});
