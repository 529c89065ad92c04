import { pauseUnsendable } from './auto-pause.ts';
import { NOTHING_TO_DO, type Step } from '../run/step.ts';
import * as db from '../run/sql.ts';

const MISSED = 'Its time passed more than an hour ago while nothing could be sent: resume it to send it now';

/**
 * Starts a scheduled campaign when its time has come. If no worker could start it for more than an hour, it is paused:
 * a morning offer should not go out at night, so a person decides. The reason stays when it is resumed, which shows
 * that a person has decided. A campaign whose template may not be sent is paused too.
 */
export async function startWhenDue(step: Step): Promise<number> {
  const { tx, job, campaign } = step;
  const waitMs = campaign.startsInMs ?? 0;
  if (waitMs > 0) return waitMs;
  if (campaign.missed && campaign.failureReason === null) {
    await db.moveToPausedFor(tx, job, { reason: MISSED });
    return NOTHING_TO_DO;
  }
  if ((await pauseUnsendable(step)) === 0) return NOTHING_TO_DO;
  await db.moveToStarted(tx, job);
  return 0;
}
