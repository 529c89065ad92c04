import { Group, Text } from '@mantine/core';
import { ChevronDown, Download, ListMinus, ListPlus, Trash2, X } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import type { Need } from '../../api/session.ts';
import { ActionsMenu } from '../../ui/actions/actions-menu.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { GuardedButton, GuardedIcon, useDisabledReason } from '../../ui/actions/guarded-button.tsx';
import { useIsPhone } from '../../ui/use-is-phone.ts';
import { useLast } from '../../ui/use-last.ts';
import type { BulkAction } from './dialogs.tsx';
import type { Target } from './bulk.ts';
import { NEED } from '../contact.ts';

type BulkBarProps = {
  readonly target: Target;
  /** The number of matching contacts; undefined while unknown. */
  readonly total: number | undefined;
  readonly listId: number | undefined;
  readonly onDone: () => void;
};

const BulkDialogs = lazyPart(() => import('./dialogs.tsx').then((file) => ({ default: file.BulkDialogs })));

const ACTIONS = [
  ['add', ListPlus],
  ['remove', ListMinus],
  ['export', Download],
  ['delete', Trash2],
] as const;
const EXPORT: Need = { scope: 'exports', write: true };

/** The number of contacts or, while some are selected, the actions on them. */
export function BulkBar({ target, total, listId, onDone }: BulkBarProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const [open, setOpen] = useState<BulkAction | null>(null);
  const wasOpen = useLast(open) !== null;
  // While a dialog closes, it still shows its number of contacts.
  const about = useLast(open === null ? null : target) ?? target;
  const { count } = target;
  return (
    <>
      {count === 0 ? (
        <Text size="sm" c="dimmed" role="status" className="tabular">
          {total !== undefined && t('count', { count: total, shown: format.number(total) })}
        </Text>
      ) : (
        <Group gap="xs">
          <Text size="sm" fw={600} role="status" className="tabular">
            {t(target.selection.all && count === total ? 'select.everybody' : 'select.some', {
              count,
              shown: format.number(count),
            })}
          </Text>
          <GuardedIcon need={{ write: false }} label={t('select.none')} onClick={onDone}>
            <X size={16} />
          </GuardedIcon>
          <Actions onOpen={setOpen} />
        </Group>
      )}
      <Suspense>
        {wasOpen && (
          <BulkDialogs open={open} listId={listId} onDone={onDone} target={about} onClose={() => setOpen(null)} />
        )}
      </Suspense>
    </>
  );
}

/** The actions as buttons, or as a menu on narrow windows. */
function Actions({ onOpen }: { readonly onOpen: (what: BulkAction) => void }) {
  const { t } = useTranslation('contacts');
  const isPhone = useIsPhone();
  const noExport = useDisabledReason(EXPORT);
  if (!isPhone) return ACTIONS.map(([what, Icon]) => <Action key={what} what={what} Icon={Icon} onOpen={onOpen} />);
  const button = (
    <GuardedButton need={NEED} size="xs" variant="default" rightSection={<ChevronDown size={14} />}>
      {t('bulk.menu')}
    </GuardedButton>
  );
  const actions = ACTIONS.map(([what, Icon]) => ({
    label: t(`bulk.${what}`),
    icon: <Icon size={14} />,
    onClick: () => onOpen(what),
    reason: what === 'export' ? noExport : undefined,
    danger: what === 'delete',
  }));
  return <ActionsMenu label={t('bulk.menu')} button={button} actions={actions} />;
}

type ActionProps = {
  readonly what: BulkAction;
  readonly Icon: (typeof ACTIONS)[number][1];
  readonly onOpen: (what: BulkAction) => void;
};

function Action({ what, Icon, onOpen }: ActionProps) {
  const { t } = useTranslation('contacts');
  return (
    <GuardedButton
      need={what === 'export' ? EXPORT : NEED}
      size="xs"
      variant={what === 'delete' ? 'light' : 'default'}
      {...(what === 'delete' && { color: 'red' })}
      leftSection={<Icon size={14} />}
      onClick={() => onOpen(what)}
    >
      {t(`bulk.${what}`)}
    </GuardedButton>
  );
}
