import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../../../api/client.ts';

const listFields = (signal: AbortSignal) => ok(api.GET('/api/partner-gateway/v1/contacts/placeholders', { signal }));

/** A contact field that a text can use. */
export type Field = Awaited<ReturnType<typeof listFields>>[number];

export const fieldsQuery = queryOptions({
  queryKey: ['placeholders'],
  queryFn: ({ signal }) => listFields(signal),
});
