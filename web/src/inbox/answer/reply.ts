import { useQueryClient } from '@tanstack/react-query';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { type Channel, CONVERSATIONS } from '../conversation.ts';
import { withMessage } from '../thread/thread.ts';
import { changeThread } from '../use-live.ts';

/** A reply: the conversation, or the recipient of a new one, and one of text, file and template. */
export type Reply = {
  readonly chatId?: string;
  readonly channel?: Channel;
  readonly destination?: string;
  readonly channelIdentity?: string;
  readonly text?: string;
  readonly mediaId?: number;
  readonly template?: { readonly id: string; readonly variables?: string[]; readonly headerLink?: string };
};

const sendReply = (body: Reply) => ok(api.POST(`${CONVERSATIONS}/reply`, { body }));

/** Sends a reply and adds it to its thread; `error` has the reason if it is rejected. */
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
