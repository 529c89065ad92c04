import { wakeCampaignsUsing } from '../engagement/campaigns/lifecycle/wake-by-template.ts';
import { receiveIntoInbox } from '../engagement/inbox/receive-inbound.ts';
import { threadAnswers } from '../engagement/inbox/thread-answers.ts';
import type { OnInbound } from '../messaging/inbound/receive.ts';
import type { OnAnswer } from '../messaging/keywords/carry-out.ts';
import type { OnTemplatesChange } from '../network/templates/network.ts';

/** The listeners of higher rooms for events of lower rooms. Each runs in the transaction of the event. */
export type Followers = {
  readonly onInbound: OnInbound;
  readonly onAnswer: OnAnswer;
  readonly onTemplatesChange: OnTemplatesChange;
};

export const FOLLOWERS: Followers = {
  onInbound: receiveIntoInbox,
  onAnswer: threadAnswers,
  onTemplatesChange: wakeCampaignsUsing,
};
