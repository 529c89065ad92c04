import { Group, Menu, Text } from '@mantine/core';
import { ChevronDown, Download, ListMinus, ListPlus, Trash2, X } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Need } from '../api/session.ts';
import { useFormat } from '../ui/format.ts';
import { useIsPhone } from '../ui/use-is-phone.ts';
import { MayButton, MayIcon } from '../ui/may-button.tsx';
import { useLast } from '../ui/use-last.ts';
import { BulkDeleteDialog } from './bulk-delete-dialog.tsx';
import { BulkExportDialog } from './bulk-export-dialog.tsx';
import { BulkListDialog } from './bulk-list-dialog.tsx';
import type { Target } from './bulk.ts';
import { NEED } from './contact.ts';

type BulkBarProps = {
  readonly target: Target;
  /** How many match; undefined while it is not known. */
  readonly total: number | undefined;
  readonly listId: number | undefined;
  readonly onDone: () => void;
};

type What = 'add' | 'remove' | 'export' | 'delete';
const ACTIONS = [
  ['add', ListPlus],
  ['remove', ListMinus],
  ['export', Download],
  ['delete', Trash2],
] as const;
const EXPORT: Need = { scope: 'exports', write: true };

/** How many contacts there are; while some are chosen, what can be done with them. */
export function BulkBar({ target, total, listId, onDone }: BulkBarProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const [open, setOpen] = useState<What | null>(null);
  // While a dialog closes it still says how many it was about.
  const about = useLast(open === null ? null : target) ?? target;
  const shared = { target: about, onClose: () => setOpen(null), onDone };
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
          <MayIcon need={{ write: false }} label={t('select.none')} onClick={onDone}>
            <X size={16} />
          </MayIcon>
          <Actions onOpen={setOpen} />
        </Group>
      )}
      <BulkListDialog {...shared} what={open === 'add' || open === 'remove' ? open : null} listId={listId} />
      <BulkExportDialog {...shared} opened={open === 'export'} listId={listId} />
      <BulkDeleteDialog {...shared} opened={open === 'delete'} />
    </>
  );
}

/** Buttons, or a menu where there is no room for them. */
function Actions({ onOpen }: { readonly onOpen: (what: What) => void }) {
  const { t } = useTranslation('contacts');
  const isPhone = useIsPhone();
  if (!isPhone) return ACTIONS.map(([what, Icon]) => <Action key={what} {...{ what, Icon, onOpen }} />);
  return (
    <Menu>
      <Menu.Target>
        <MayButton need={NEED} size="xs" variant="default" rightSection={<ChevronDown size={14} />}>
          {t('bulk.menu')}
        </MayButton>
      </Menu.Target>
      <Menu.Dropdown>
        {ACTIONS.map(([what, Icon]) => (
          <Menu.Item key={what} leftSection={<Icon size={14} />} onClick={() => onOpen(what)}>
            {t(`bulk.${what}`)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

type ActionProps = {
  readonly what: What;
  readonly Icon: (typeof ACTIONS)[number][1];
  readonly onOpen: (what: What) => void;
};

function Action({ what, Icon, onOpen }: ActionProps) {
  const { t } = useTranslation('contacts');
  return (
    <MayButton
      need={what === 'export' ? EXPORT : NEED}
      size="xs"
      variant={what === 'delete' ? 'light' : 'default'}
      {...(what === 'delete' && { color: 'red' })}
      leftSection={<Icon size={14} />}
      onClick={() => onOpen(what)}
    >
      {t(`bulk.${what}`)}
    </MayButton>
  );
}
