import { Kbd, Stack, Switch, Table, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Dialog } from '../ui/dialog.tsx';
import { KEY_SHEET, useKeysOn } from './use-keys.ts';

type KeysDialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** The sheet of keyboard shortcuts, with the switch for those of a single letter (WCAG 2.1.4). */
export function KeysDialog({ opened, onClose }: KeysDialogProps) {
  const { t } = useTranslation('inbox');
  const [isOn, setOn] = useKeysOn();
  return (
    <Dialog opened={opened} onClose={onClose} title={t('keys.title')} size="md">
      <Stack>
        <Switch
          label={t('keys.on')}
          checked={isOn}
          data-autofocus
          onChange={(event) => setOn(event.currentTarget.checked)}
        />
        <Table aria-label={t('keys.title')}>
          <Table.Tbody>
            {KEY_SHEET.map(({ keys, name }) => (
              <Table.Tr key={name}>
                <Table.Td>
                  {keys.map((key) => (
                    <Kbd key={key} mr={4}>
                      {key}
                    </Kbd>
                  ))}
                </Table.Td>
                <Table.Td>
                  <Text size="sm">{t(`keys.${name}`)}</Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Stack>
    </Dialog>
  );
}
