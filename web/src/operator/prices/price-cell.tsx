import { Group, Text, TextInput, UnstyledButton } from '@mantine/core';
import { Pencil } from 'lucide-react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { useSession } from '../../api/session.ts';
import { useFormat } from '../../ui/values/format.ts';
import { usePriceName } from '../shared/price-name.ts';
import { type Price, PRICE_KEYS, setPrice } from './price.ts';

type CellProps = { readonly price: Price };

/** A price that becomes an input when it is clicked. */
export function PriceCell({ price }: CellProps) {
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
    run: (next: number) => setPrice({ ...scopeOf(price), price: next, refundUndelivered: price.refundUndelivered }),
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

const scopeOf = ({ channel, prefix }: Price) => ({ channel, prefix });
