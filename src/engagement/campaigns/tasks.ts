import { CAMPAIGNS_CHANNEL } from '../../messaging/messages/campaign-ends/sql.ts';
import type { Task } from '../../platform/lib/background/task.ts';
import { type CampaignRunnerDeps, createCampaignRunner } from './worker/runner.ts';

/** Runs the due steps of campaigns. */
export function campaignTasks(deps: CampaignRunnerDeps): Task[] {
  const campaigns = createCampaignRunner(deps);
  return [
    {
      name: 'campaigns',
      pausable: true,
      work: campaigns.runDue,
      wakeOn: {
        [CAMPAIGNS_CHANNEL](payload) {
          if (payload !== '') campaigns.wake(Number(payload));
          return true;
        },
      },
      close: campaigns.stop,
    },
  ];
}
