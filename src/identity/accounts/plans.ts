import type { Plan } from '../../platform/http/actor.ts';

export const PLANS: readonly Plan[] = ['production', 'trial', 'unlimited'];
