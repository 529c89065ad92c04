import { Kbd, Stack, Switch } from '@mantine/core';
import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from '../ui/dialog.tsx';
import classes from './inbox.module.css';
import { KEY_SHEET, useKeysOn } from './use-keys.ts';

/** The sheet of keyboard shortcuts, with the switch for those of a single letter (WCAG 2.1.4). */
export function KeysDialog() {
  const { t } = useTranslation('inbox');
  const [isOn, setOn] = useKeysOn();
  return (
    <Dialog title={t('keys.title')} size="md">
      <Stack>
        <Switch
          label={t('keys.on')}
          checked={isOn}
          data-autofocus
          onChange={(event) => setOn(event.currentTarget.checked)}
        />
        <dl className={classes.keys}>
          {KEY_SHEET.map(({ keys, name }) => (
            <Fragment key={name}>
              <dt>
                {keys.map((key) => (
                  <Kbd key={key} mr={4}>
                    {key}
                  </Kbd>
                ))}
              </dt>
              <dd>{t(`keys.${name}`)}</dd>
            </Fragment>
          ))}
        </dl>
      </Stack>
    </Dialog>
  );
}
