import type { RevocableMessage, Revoke } from '../../../src/messages/next-channel.ts';

/** Networks that revoke messages as the test decides. */
export type ScriptedRevoke = Revoke & {
  /** The ids whose revocation was requested, in order. */
  readonly asked: RevocableMessage[];
  /** The response of the networks. */
  answer: boolean | null;
  /** True if this process is connected to them. */
  linked: boolean;
};

export function createScriptedRevoke(): ScriptedRevoke {
  const revoke: ScriptedRevoke = {
    asked: [],
    answer: true,
    linked: true,
    reaches: () => revoke.linked,
    ask(message) {
      revoke.asked.push(message);
      return Promise.resolve(revoke.answer);
    },
  };
  return revoke;
}
