import { SegmentedControl, Stack, useMantineColorScheme } from '@mantine/core';
import { Page } from '../ui/page.tsx';
import { Buttons } from './buttons.tsx';
import { Dialogs } from './dialogs.tsx';
import { Lists } from './lists.tsx';
import { Messages } from './messages.tsx';
import { Notes } from './notes.tsx';
import { Values } from './values.tsx';

/** Components of web/src/ui in their states, for developers of the console. Not part of the build. */
export function Gallery() {
  return (
    <Stack p="lg" maw={1200} mx="auto">
      <Page
        title="Component gallery"
        description="The components of web/src/ui in their states."
        actions={<SchemeChoice />}
        trail={[{ label: 'Console', to: '/' }]}
      >
        <Values />
        <Buttons />
        <Notes />
        <Lists />
        <Messages />
        <Dialogs />
      </Page>
    </Stack>
  );
}

function SchemeChoice() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const choose = (value: string): void => setColorScheme(value === 'dark' || value === 'light' ? value : 'auto');
  return (
    <SegmentedControl aria-label="Colours" data={['light', 'dark', 'auto']} value={colorScheme} onChange={choose} />
  );
}
