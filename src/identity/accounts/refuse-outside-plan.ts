import { AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/http/actor.ts';
import { type Channel, outsidePlan } from '../../platform/lib/channel.ts';

/** 403 when the plan of the caller's account does not have all these channels (contract 1). */
export function refuseOutsidePlan({ channels }: Pick<Actor, 'channels'>, wanted: readonly Channel[]): void {
  const message = outsidePlan(channels, wanted);
  if (message !== undefined) throw new AppError('forbidden', { message });
}
