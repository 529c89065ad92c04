import type { Step } from '../step.ts';
import { accountStory } from './account.ts';
import { MESSAGES } from './messages.ts';
import { OPERATOR } from './operator.ts';
import { PEOPLE } from './people.ts';

/**
 * Returns requests for every operation, in an order in which each finds what it needs in a program after its first
 * start.
 */
export const storyOf = (stage: {
  readonly origin: string;
  readonly demo: { readonly password: string };
}): readonly Step[] => [...MESSAGES, ...PEOPLE, ...OPERATOR, ...accountStory(stage.origin, stage.demo.password)];
