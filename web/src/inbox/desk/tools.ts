import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';
import { CONVERSATIONS } from '../conversation.ts';

export const INBOX = '/api/partner-gateway/v1/inbox';
const FRESH_MS = 60_000;

const listLabels = (signal: AbortSignal) => ok(api.GET(`${INBOX}/labels`, { signal }));
export type Label = Awaited<ReturnType<typeof listLabels>>[number];
export const labelsQuery = queryOptions({
  queryKey: ['inbox-labels'],
  queryFn: ({ signal }) => listLabels(signal),
  staleTime: FRESH_MS,
});

const listCannedAnswers = (signal: AbortSignal) => ok(api.GET(`${INBOX}/canned-answers`, { signal }));
export type CannedAnswer = Awaited<ReturnType<typeof listCannedAnswers>>[number];
export const cannedQuery = queryOptions({
  queryKey: ['canned-answers'],
  queryFn: ({ signal }) => listCannedAnswers(signal),
  staleTime: FRESH_MS,
});

const listNotes = (chatId: string, signal: AbortSignal) =>
  ok(api.GET(`${CONVERSATIONS}/{chatId}/notes`, { params: { path: { chatId } }, signal }));
export type Note = Awaited<ReturnType<typeof listNotes>>[number];
export const notesQuery = (chatId: string) =>
  queryOptions({ queryKey: ['inbox', 'notes', chatId], queryFn: ({ signal }) => listNotes(chatId, signal) });

export const addNote = ({ chatId, text }: { readonly chatId: string; readonly text: string }) =>
  ok(api.POST(`${CONVERSATIONS}/{chatId}/notes`, { params: { path: { chatId } }, body: { text } }));

export const deleteNote = (path: { readonly chatId: string; readonly id: string }) =>
  ok(api.DELETE(`${CONVERSATIONS}/{chatId}/notes/{id}`, { params: { path } }));

export const setLabels = ({ chatId, labelIds }: { readonly chatId: string; readonly labelIds: number[] }) =>
  ok(api.PUT(`${CONVERSATIONS}/{chatId}/labels`, { params: { path: { chatId } }, body: { labelIds } }));

export const snoozeConversation = ({ chatId, until }: { readonly chatId: string; readonly until: Date }) =>
  ok(
    api.PUT(`${CONVERSATIONS}/{chatId}/snooze`, { params: { path: { chatId } }, body: { until: until.toISOString() } }),
  );

export const unreadConversation = (chatId: string) =>
  ok(api.PATCH(`${CONVERSATIONS}/{chatId}/unread`, { params: { path: { chatId } } }));

export type Activity = 'LOOKING' | 'TYPING' | 'LEFT';
export const reportPresence = (chatId: string, activity: Activity) =>
  ok(api.PUT(`${CONVERSATIONS}/{chatId}/presence`, { params: { path: { chatId } }, body: { activity } }));

export const searchMessages = (search: string, signal: AbortSignal) =>
  ok(api.GET(`${INBOX}/messages`, { params: { query: { search, limit: 20 } }, signal }));
