import { expect, test } from 'vitest';
import { connectGraph } from '../support/networks.ts';
import { startTestProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

const PATH = '/api/partner-gateway/v1/inbox/conversations';
const PERSON = '+393331234567';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

type Message = {
  readonly id: string;
  readonly text: string;
  readonly messageType: string;
  readonly deliveryStatus: string | null;
  readonly media: { readonly state: string; readonly url: string; readonly mimeType: string } | null;
};
type Conversation = { readonly chatId: string; readonly unreadCount: number; readonly windowExpiresAt: string | null };

test('a person writes on WhatsApp, sends a picture, gets a reply and reads it', async () => {
  await using program = await startTestProgram({ carriers: {} });
  const { graph, number } = await connectGraph(program);
  const callback = `${program.origin()}/api/callbacks/whatsapp/meta`;
  await until('the handshake', () => graph.verifyCallback(callback, 'verify-me'));
  const { client } = program;
  const list = async (): Promise<Conversation[]> =>
    ((await client.request('GET', PATH)).body as { data: Conversation[] }).data;
  const thread = async (chatId: string): Promise<Message[]> =>
    (await client.request('GET', `${PATH}/${chatId}/messages`)).body as Message[];

  await until('the first message', async () => (await graph.injectInbound({ from: PERSON, text: 'Hello' })).acked);
  await graph.injectInbound({
    from: PERSON,
    type: 'image',
    file: { bytes: PNG, mimeType: 'image/png', caption: 'Look' },
  });
  const conversation = await until('the conversation', async () => (await list()).find((one) => one.unreadCount === 2));
  const { chatId } = conversation;
  expect(conversation.windowExpiresAt).not.toBeNull();
  const picture = await until('the picture', async () =>
    (await thread(chatId)).find(({ media }) => media?.state === 'STORED'),
  );
  expect(picture).toMatchObject({ text: 'Look', messageType: 'IMAGE', media: { mimeType: 'image/png' } });
  const file = await fetch(
    `${program.origin()}${new URL(picture.media?.url ?? '').pathname}${new URL(picture.media?.url ?? '').search}`,
  );
  expect([file.status, Buffer.from(await file.arrayBuffer()).equals(PNG)]).toEqual([200, true]);

  const reply = await client.request('POST', `${PATH}/reply`, { body: { chatId, text: 'Nice' } });
  expect(reply.status).toBe(202);
  const { id } = reply.body as Message;
  await client.untilStatus(id, 'DELIVERED');
  expect((await thread(chatId)).map(({ text, deliveryStatus }) => [text, deliveryStatus])).toEqual([
    ['Hello', null],
    ['Look', null],
    ['Nice', 'DELIVERED'],
  ]);
  await until('the status event', async () => {
    const answer = await client.request('GET', `${PATH}/stream`, { headers: { 'last-event-id': '0' } });
    return new RegExp(`event: status\\ndata: [^\\n]*${id}[^\\n]*"DELIVERED"`).test(String(answer.body));
  });

  const cold = { channel: 'WHATSAPP', destination: '+393331230009', channelIdentity: number, text: 'Out of the blue' };
  const closed = await client.request('POST', `${PATH}/reply`, { body: cold });
  expect(closed.status).toBe(202);
  await client.untilStatus((closed.body as Message).id, 'CONVERSATION_CLOSED');
  await graph.close();
});
