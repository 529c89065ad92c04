import { useQueryClient } from '@tanstack/react-query';
import { useAction } from '../api/action.ts';
import { api, ok, type Paths } from '../api/client.ts';
import { CONVERSATIONS } from './conversation.ts';
import { withMessage } from './thread.ts';
import { changeThread } from './use-live.ts';

type Said = NonNullable<Paths[`${typeof CONVERSATIONS}/reply`]['post']['requestBody']>['content']['application/json'];
export type Reply = Said;

export const sendReply = (body: Reply) => ok(api.POST(`${CONVERSATIONS}/reply`, { body }));

/** Sends an answer and puts it into its thread. What is refused stands in `error`. */
export function useReply(onSent: (chatId: string) => void) {
  const queries = useQueryClient();
  return useAction({
    run: sendReply,
    refresh: [['inbox', 'list']],
    quiet: true,
    onDone({ chatId, ...message }) {
      changeThread(queries, chatId, (thread) => withMessage(thread, message));
      onSent(chatId);
    },
  });
}
