import { NativeSelect } from '@mantine/core';
import { Suspense } from 'react';
import { lazyPart } from '../api/load.ts';
import { api, ok } from '../api/send.ts';
import type { SearchSelectProps } from './lazy-props.ts';

const LazySelect = lazyPart(() => import('./search-select.tsx').then((file) => ({ default: file.SearchSelect })));

/** Until the select has been loaded, one that looks the same, so that nothing moves. */
function SearchSelect(props: SearchSelectProps) {
  const { first, source: _source, without: _without, onChange: _onChange, ...rest } = props;
  return (
    <Suspense fallback={<NativeSelect {...rest} data={[...first]} disabled />}>
      <LazySelect {...props} />
    </Suspense>
  );
}

type Named = { readonly id: number; readonly name: string };
const optionOf = ({ id, name }: Named) => ({ value: String(id), label: name });

const PG = '/api/partner-gateway/v1';
const MAX_FOUND = 40;

const LISTS: SearchSelectProps['source'] = {
  key: 'lists',
  need: { scope: 'contacts' },
  async search(search, signal) {
    const query = { ...(search && { search }), limit: MAX_FOUND, sortBy: 'name' as const };
    return (await ok(api.GET(`${PG}/contacts/list`, { params: { query }, signal }))).data.map(optionOf);
  },
  find: async (id, signal) =>
    (await ok(api.GET(`${PG}/contacts/list`, { params: { query: { id } }, signal }))).data.map(optionOf)[0],
};

const CAMPAIGNS: SearchSelectProps['source'] = {
  key: 'campaigns',
  need: { scope: 'campaigns' },
  async search(search, signal) {
    const query = { ...(search && { search }), limit: MAX_FOUND };
    return (await ok(api.GET(`${PG}/campaigns`, { params: { query }, signal }))).data.map(optionOf);
  },
  find: async (id, signal) =>
    optionOf(await ok(api.GET(`${PG}/campaigns/{id}`, { params: { path: { id: Number(id) } }, signal }))),
};

type FieldProps = Omit<SearchSelectProps, 'source'>;

/** A field for a contact list, which is found by its name. */
export const ListSelect = (props: FieldProps) => <SearchSelect source={LISTS} {...props} />;

/** A field for a campaign, which is found by its name. */
export const CampaignSelect = (props: FieldProps) => <SearchSelect source={CAMPAIGNS} {...props} />;
