import {
  Alert,
  Checkbox,
  Group,
  NativeSelect,
  NumberInput,
  Switch,
  Text,
  TextInput,
  UnstyledButton,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Pencil, Tags } from 'lucide-react';
import { useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { AddButton, DeleteIcon } from '../ui/actions.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { openDialog, questionTexts } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, ErrorState, Muted, PageFrame, Section } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState, whole } from '../ui/url-state.ts';
import { ChannelBadge } from '../ui/values.tsx';
import { CHANNELS } from './account.tsx';
import { Costs } from './costs.tsx';
import { Margins } from './margins.tsx';
import { digitsOf, NumberCheck, OPERATOR, Prefix, PrefixInput, Tabs, usePriceName } from './shared.tsx';

const PRICES = '/api/operator/v1/prices';
const PRICE_KEYS = [['operator', 'prices']] as const;
type Channel = (typeof CHANNELS)[number];

type Listed = { readonly page: number; readonly limit: number; readonly channel?: Channel; readonly prefix?: string };
const listPrices = (query: Listed, signal: AbortSignal) => ok(api.GET(PRICES, { params: { query }, signal }));
type Price = Awaited<ReturnType<typeof listPrices>>['data'][number];

type Stated = 'channel' | 'prefix' | 'price' | 'refundUndelivered';

const setPrice = (body: Pick<Price, Stated> & Partial<Omit<Price, 'id' | Stated>>) => ok(api.PUT(PRICES, { body }));

type CellProps = { readonly price: Price };

/** A price that becomes an input when it is clicked. */
function PriceCell({ price }: CellProps) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const nameOf = usePriceName();
  const { currency } = useSession().account;
  const [isEdited, setIsEdited] = useState(false);
  if (isEdited) return <PriceField price={price} onDone={() => setIsEdited(false)} />;
  const amount = format.number(price.price, {
    style: 'currency',
    currency,
    minimumFractionDigits: 4,
    maximumFractionDigits: 6,
  });
  return (
    <UnstyledButton
      onClick={() => setIsEdited(true)}
      aria-label={t('price.change', { price: amount, of: nameOf(price) })}
    >
      <Group gap={6} wrap="nowrap" justify="flex-end">
        <Text span size="sm" className="tabular">
          {amount}
        </Text>
        <Pencil size={13} aria-hidden="true" color="var(--mantine-color-dimmed)" />
      </Group>
    </UnstyledButton>
  );
}

/** Parses a price such as `0,05` or `0.05`; null if invalid. */
function readPrice(text: string): number | null {
  const price = Number(text.trim().replace(',', '.'));
  return text.trim() === '' || Number.isNaN(price) || price < 0 ? null : price;
}

/** The input for a price. Enter or leaving the field saves it; Escape cancels. */
function PriceField({ price, onDone }: CellProps & { readonly onDone: () => void }) {
  const { t } = useTranslation('operator');
  const nameOf = usePriceName();
  const [text, setText] = useState(String(price.price));
  const isLeft = useRef(false);
  const saving = useAction({
    run: (next: number) => setPrice({ ...withoutId(price), price: next }),
    refresh: PRICE_KEYS,
    done: t('price.saved', { of: nameOf(price) }),
    onDone,
  });
  const leave = (isKept: boolean): void => {
    if (isLeft.current) return;
    isLeft.current = true;
    const next = readPrice(text);
    if (!isKept || next === null || next === price.price) onDone();
    else saving.run(next, { onError: onDone });
  };
  return (
    <TextInput
      aria-label={t('price.new', { of: nameOf(price) })}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      inputMode="decimal"
      error={readPrice(text) === null}
      size="xs"
      w={112}
      ml="auto"
      autoFocus
      disabled={saving.busy}
      onFocus={(event) => event.currentTarget.select()}
      onBlur={() => leave(true)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') leave(true);
        if (event.key === 'Escape') leave(false);
      }}
    />
  );
}

const withoutId = ({ id: _id, ...price }: Price) => price;

const PRICE_FIELDS = { ...listFields(), channel: choice(CHANNELS), prefix: text() };

/** The selling prices of messages. */
function Prices() {
  const { t } = useTranslation('operator');
  const add = (
    <AddButton need={OPERATOR} onClick={() => openDialog(<AddDialog />)}>
      {t('price.add.open')}
    </AddButton>
  );
  return (
    <>
      <Group justify="flex-end">{add}</Group>
      <PriceTable add={add} />
      <PriceCheck />
    </>
  );
}

type NewPrice = {
  readonly channel: Channel;
  readonly prefix: string;
  readonly price: number | string;
  readonly refundUndelivered: boolean;
};

/** Dialog that sets the price for a channel and a prefix; an existing price is replaced. */
function AddDialog() {
  const { t } = useTranslation('operator');
  const { currency } = useSession().account;
  return (
    <FormDialog<NewPrice, unknown>
      title={t('price.add.title')}
      size="md"
      values={{ channel: 'SMS', prefix: '', price: '', refundUndelivered: false }}
      validate={{ price: (price) => (price === '' ? t('price.add.priceMissing') : null) }}
      run={({ price, prefix, ...rest }) => setPrice({ ...rest, prefix: digitsOf(prefix), price: Number(price) })}
      refresh={PRICE_KEYS}
      done={t('price.add.done')}
      action={t('price.add.submit')}
    >
      {(form) => (
        <>
          <NativeSelect
            label={t('channel')}
            data={CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
            {...form.getInputProps('channel')}
          />
          <PrefixInput data-autofocus {...form.getInputProps('prefix')} />
          <NumberInput
            label={t(form.values.channel === 'SMS' ? 'price.add.perPart' : 'price.add.perMessage', { currency })}
            min={0}
            decimalScale={6}
            hideControls
            {...form.getInputProps('price')}
          />
          <Checkbox
            label={t('price.add.refund')}
            description={t('price.add.refundHint')}
            {...form.getInputProps('refundUndelivered', { type: 'checkbox' })}
          />
        </>
      )}
    </FormDialog>
  );
}

function PriceTable({ add }: { readonly add: React.ReactNode }) {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(PRICE_FIELDS);
  const columns = usePriceColumns();
  const { page, limit, channel } = search;
  const prefix = search.prefix.replaceAll(/\D/g, '');
  const query = useListQuery(['operator', 'prices', 'list', search], (signal) =>
    listPrices({ page, limit, ...(channel && { channel }), ...(prefix && { prefix }) }, signal),
  );
  return (
    <>
      <FilterBar isFiltered={channel !== '' || prefix !== ''} onClear={() => setSearch({ channel: '', prefix: '' })}>
        <SearchField label={t('price.search')} value={search.prefix} onChange={(next) => setSearch({ prefix: next })} />
        <ChoiceFilter
          label={t('anyChannel')}
          options={CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
          value={channel}
          onChange={(next) => setSearch({ channel: next })}
        />
      </FilterBar>
      <DataTable<Price>
        id="operator-prices"
        label={t('price.title')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        actions={(price) => <DeletePrice price={price} />}
        empty={
          <EmptyState
            icon={Tags}
            title={t('price.none.title')}
            text={t('price.none.text')}
            help="operating#accounts-credit-and-prices"
          >
            {add}
          </EmptyState>
        }
      />
    </>
  );
}

/** A lookup of the price for a phone number. */
function PriceCheck() {
  const { t } = useTranslation('operator');
  const [channel, setChannel] = useState<Channel>('SMS');
  const [number, setNumber] = useState('');
  const { data, error } = useQuery({
    queryKey: ['operator', 'prices', 'check', channel, number],
    queryFn: ({ signal }) => ok(api.GET(`${PRICES}/check`, { params: { query: { channel, number } }, signal })),
    enabled: number !== '',
  });
  const select = (
    <NativeSelect
      label={t('channel')}
      data={CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
      value={channel}
      onChange={(event) => setChannel(CHANNELS.find((each) => each === event.currentTarget.value) ?? 'SMS')}
    />
  );
  return (
    <Section title={t('price.check.title')}>
      <NumberCheck label={t('number')} value={number} onChange={setNumber} before={select}>
        {error && <ErrorState error={error} />}
        {data && <Answer price={data.price} />}
      </NumberCheck>
    </Section>
  );
}

function Answer({ price }: { readonly price: Price | null }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { currency } = useSession().account;
  if (price === null)
    return (
      <Alert color="amber" role="status">
        {t('price.check.none')}
      </Alert>
    );
  return (
    <Text role="status">
      {t(price.perPart ? 'price.check.perPart' : 'price.check.perMessage', {
        price: format.money(price.price, currency),
        prefix: price.prefix === '' ? t('prefix.all') : `+${price.prefix}`,
      })}
    </Text>
  );
}

function DeletePrice({ price }: { readonly price: Price }) {
  const { t } = useTranslation('operator');
  const of = usePriceName()(price);
  return (
    <DeleteIcon
      need={OPERATOR}
      label={t('price.delete.label', { of })}
      question={{
        ...questionTexts(t, 'price.delete', { of }),
        run: () => ok(api.DELETE(`${PRICES}/{id}`, { params: { path: { id: price.id } } })),
        refresh: PRICE_KEYS,
      }}
    />
  );
}

function usePriceColumns(): readonly Column<Price>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      { id: 'prefix', header: t('prefix.label'), phone: 'title', cell: ({ prefix }) => <Prefix prefix={prefix} /> },
      { id: 'channel', header: t('channel'), cell: ({ channel }) => <ChannelBadge channel={channel} /> },
      { id: 'category', header: t('price.category'), cell: ({ category }) => <Condition value={category} /> },
      { id: 'window', header: t('price.window'), cell: ({ window }) => <Condition value={window} /> },
      { id: 'account', header: t('price.account'), cell: ({ accountId }) => <Condition value={accountId ?? ANY} /> },
      { id: 'from', header: t('price.validFrom'), cell: ({ validFrom }) => <From at={validFrom} /> },
      { id: 'price', header: t('price.price'), align: 'right', cell: (price) => <PriceCell price={price} /> },
      { id: 'per', header: t('price.per'), phone: 'none', cell: ({ perPart }) => <Per perPart={perPart} /> },
      { id: 'refund', header: t('price.refund'), cell: (price) => <RefundSwitch price={price} /> },
    ],
    [t],
  );
}

const ANY = '*';

/** A condition of a price, in the words of the API; any value is dimmed. */
function Condition({ value }: { readonly value: string | number }) {
  const { t } = useTranslation('operator');
  return (
    <Text size="sm" {...(value === ANY && { c: 'dimmed' })}>
      {value === ANY ? t('price.any') : value}
    </Text>
  );
}

/** The instant from which a price is valid; null: since ever. */
function From({ at }: { readonly at: string | null }) {
  const format = useFormat();
  return <Condition value={at === null ? ANY : format.exact(new Date(at))} />;
}

function Per({ perPart }: Pick<Price, 'perPart'>) {
  const { t } = useTranslation('operator');
  return <Muted>{t(perPart ? 'price.perPart' : 'price.perMessage')}</Muted>;
}

/** Switch for refunding undelivered messages. */
function RefundSwitch({ price }: { readonly price: Price }) {
  const { t } = useTranslation('operator');
  const of = usePriceName()(price);
  const saving = useAction({
    run: (refundUndelivered: boolean) => setPrice({ ...withoutId(price), refundUndelivered }),
    refresh: PRICE_KEYS,
    done: t('price.saved', { of }),
  });
  return (
    <Switch
      size="sm"
      checked={price.refundUndelivered}
      disabled={saving.busy}
      onChange={(event) => saving.run(event.currentTarget.checked)}
      aria-label={t('price.refundOf', { of })}
    />
  );
}

const TABS = ['prices', 'costs', 'margins'] as const;
/** Includes `page`, so that changing the tab starts at the first page. */
const FIELDS = { tab: choice(TABS, 'prices'), page: whole() };
const PANELS = { prices: Prices, costs: Costs, margins: Margins };

/** The page of the selling prices and the charges of carriers. */
export function Page() {
  const { t } = useTranslation('operator');
  const [{ tab }, setSearch] = useUrlState(FIELDS);
  const Panel = PANELS[tab];
  return (
    <PageFrame title={t('price.title')} description={t('price.description')}>
      <Tabs
        tabs={TABS}
        nameOf={(each) => t(`cost.tab.${each}`)}
        active={tab}
        onChange={(next) => setSearch({ tab: next })}
      >
        <Panel />
      </Tabs>
    </PageFrame>
  );
}
