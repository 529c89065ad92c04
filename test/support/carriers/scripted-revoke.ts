import type { Revoke, RevocableMessage } from '../../../src/messaging/fallback/ends.ts';

/** Networks that take messages back as the test decides. */
export type ScriptedRevoke = Revoke & {
  /** What they were asked to take back, in order. */
  readonly asked: RevocableMessage[];
  /** What they answer. */
  word: boolean | null;
  /** Whether this process has a link to them. */
  linked: boolean;
};

export function createScriptedRevoke(): ScriptedRevoke {
  const revoke: ScriptedRevoke = {
    asked: [],
    word: true,
    linked: true,
    reaches: () => revoke.linked,
    ask(message) {
      revoke.asked.push(message);
      return Promise.resolve(revoke.word);
    },
  };
  return revoke;
}
