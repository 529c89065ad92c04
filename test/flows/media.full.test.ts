import { expect, test } from 'vitest';
import { getMember } from '../../src/channels/settings.ts';
import { makeMp4 } from '../support/files/mp4.ts';
import { formOf } from '../support/http/form.ts';
import { connectGraph, connectRbm } from '../support/networks.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

const MS = '/api/message-server';
const PG = '/api/partner-gateway/v1';
const PERSON = '+393331234567';
const PNG = Uint8Array.from(
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
);

async function upload({ client }: TestProgram, name: string, content: Uint8Array<ArrayBuffer>): Promise<number> {
  const answer = await client.request('POST', `${PG}/media`, await formOf({ name, content }));
  expect(answer).toMatchObject({ status: 201 });
  return (answer.body as { id: number }).id;
}

/** Sends a request and waits until the network has the message. */
async function send({ client }: TestProgram, path: string, body: object): Promise<string> {
  const answer = await client.request('POST', path, { body });
  expect(answer).toMatchObject({ status: path.endsWith('/reply') ? 202 : 200 });
  const { messageId, id } = answer.body as { messageId?: string; id?: string };
  const sent = messageId ?? id ?? '';
  await client.untilStatus(sent, 'DELIVERED');
  return sent;
}

/** Opens every link of a message, as its network received it, without credentials. */
async function openAll(program: TestProgram, message: unknown): Promise<string[]> {
  const links = [...JSON.stringify(message).matchAll(/"(?:link|fileUrl)":"([^"]+)"/g)].map(([, link]) => link ?? '');
  return Promise.all(
    links.map(async (link) => {
      const { pathname, search } = new URL(link);
      const answer = await fetch(`${program.origin()}${pathname}${search}`);
      await answer.bytes();
      return `${answer.status} ${answer.headers.get('content-type')}`;
    }),
  );
}

const [PICTURE, FILM] = ['200 image/png', '200 video/mp4'];

test('an uploaded file is uploaded to WhatsApp once and sent by its id, in every kind of message and in inbox replies', async () => {
  await using program = await startTestProgram({ carriers: {} });
  const { graph, number: phoneNumberId } = await connectGraph(program);
  await using closing = new AsyncDisposableStack();
  closing.defer(graph.close);
  const callback = `${program.origin()}/api/callbacks/whatsapp/meta`;
  await until('the handshake', () => graph.verifyCallback(callback, 'verify-me'));
  await until('the window', async () => (await graph.injectInbound({ from: PERSON, text: 'Hi' })).acked);
  const [mediaId, film] = [
    await upload(program, 'a.png', PNG),
    await upload(program, 'a.mp4', Uint8Array.from(makeMp4())),
  ];
  const common = { phoneNumberId, destination: PERSON };

  const bodies = [
    { type: 'IMAGE', mediaId, caption: `media:${mediaId}` },
    { type: 'VIDEO', mediaId: film },
    { type: 'DOCUMENT', mediaId, fileName: 'a.png' },
  ];
  for (const body of bodies) await send(program, `${MS}/whatsapp/send`, { ...common, body });
  const ends = { channel: 'WHATSAPP', destination: PERSON, channelIdentity: phoneNumberId };
  await send(program, `${PG}/inbox/conversations/reply`, { ...ends, mediaId });
  const taken = graph.ledger.messages().map(({ content }) => content);
  const ids = taken.map((content) => String(getMember(content, 'id')));
  expect(taken).toMatchObject([
    { id: ids[0], caption: `media:${mediaId}` },
    { id: ids[1] },
    { id: ids[0], filename: 'a.png' },
    { id: ids[0] },
  ]);
  expect(JSON.stringify(taken)).not.toContain('"link"');
  const types = [ids[0], ids[1]].map((id) => getMember(graph.media.show(id ?? '').body, 'mime_type'));
  expect(types).toEqual(['image/png', 'video/mp4']);

  for (const [body, field] of [
    [{ type: 'AUDIO', mediaId }, 'body.mediaId'],
    [{ type: 'IMAGE', mediaId: film }, 'body.mediaId'],
    [{ type: 'IMAGE', mediaId: 999_999_999 }, 'body.mediaId'],
    [{ type: 'IMAGE' }, 'body.link'],
  ] as const) {
    const refused = await program.client.request('POST', `${MS}/whatsapp/send`, { body: { ...common, body } });
    expect(refused).toMatchObject({ status: 400, body: { details: [{ field }] } });
  }
});

test('an uploaded file is sent by its id in every kind of RCS message, and a deleted file is not', async () => {
  await using program = await startTestProgram({ carriers: {} });
  const { rbm } = await connectRbm(program);
  await using closing = new AsyncDisposableStack();
  closing.defer(rbm.close);
  await until('the callback', () => rbm.setCallback(`${program.origin()}/api/callbacks/rcs/google`));
  const [mediaId, film] = [
    await upload(program, 'a.png', PNG),
    await upload(program, 'a.mp4', Uint8Array.from(makeMp4())),
  ];
  const common = { agentId: 'acme', destination: PERSON };
  const card = (id: number) => ({ title: 'Sale', media: { mediaId: id } });

  const bodies = [
    { type: 'FILE', mediaId },
    { type: 'CARD', card: card(film) },
    { type: 'CAROUSEL', cards: [card(mediaId), card(film), { title: 'None' }] },
  ];
  for (const body of bodies) await send(program, `${MS}/rcs/send`, { ...common, body });
  const ends = { channel: 'RCS', destination: PERSON, channelIdentity: 'acme' };
  await send(program, `${PG}/inbox/conversations/reply`, { ...ends, mediaId });
  const taken = rbm.ledger.messages().map(({ message }) => message);
  expect(await Promise.all(taken.map((message) => openAll(program, message)))).toEqual([
    [PICTURE],
    [FILM],
    [PICTURE, FILM],
    [PICTURE],
  ]);

  for (const [body, field] of [
    [{ type: 'FILE' }, 'body.url'],
    [{ type: 'FILE', mediaId: 999_999_999 }, 'body.mediaId'],
    [{ type: 'CAROUSEL', cards: [card(mediaId), card(999_999_999)] }, 'body.cards[1].media.mediaId'],
  ] as const) {
    const refused = await program.client.request('POST', `${MS}/rcs/send`, { body: { ...common, body } });
    expect(refused).toMatchObject({ status: 400, body: { details: [{ field }] } });
  }
  const later = { ...common, body: bodies[0], scheduledDate: new Date(Date.now() + 3000).toISOString() };
  const { body } = await program.client.request('POST', `${MS}/rcs/send`, { body: later });
  await program.client.request('DELETE', `${PG}/media/${mediaId}`);
  await program.client.untilStatus((body as { messageId: string }).messageId, 'ERROR');
});
