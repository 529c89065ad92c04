import { COMMIT_ONE } from '../../src/messages/accept.ts';

// Three repetitions that all match blanks take cubic time on `{{` and many blanks.
COMMIT_ONE.put((commit) => (item) => {
  /\{\{\s*([^{}|]+?)\s*\}\}/.test(item.draft.body);
  return commit(item);
});
