import type { Plan } from '../http/actor.ts';

export const PLANS: readonly Plan[] = ['production', 'trial', 'unlimited'];
