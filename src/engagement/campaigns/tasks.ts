import { CAMPAIGNS_CHANNEL } from '../../messaging/messages/campaign-ends/sql.ts';
import type { Task } from '../../platform/lib/task.ts';
import { type CampaignDeps, createCampaigns } from './worker/runner.ts';

/** Moves campaigns on. */
export function campaignTasks(deps: CampaignDeps): Task[] {
  const campaigns = createCampaigns(deps);
  return [
    {
      name: 'campaigns',
      pausable: true,
      work: campaigns.work,
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
