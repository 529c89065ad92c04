import { SimpleGrid, Stack } from '@mantine/core';
import { DropArea } from '../ui/media/drop-area.tsx';
import { Thumbnail } from '../ui/media/thumbnail.tsx';
import { UploadList } from '../ui/media/upload-list.tsx';
import { MessageText } from '../ui/message/message-text.tsx';
import { PartsCounter } from '../ui/message/parts-counter.tsx';
import { PhonePreview } from '../ui/message/phone-preview.tsx';
import { Section } from '../ui/section.tsx';

const TEXT = 'Your order is on its way.\nTrack it at https://example.org/t/1234';

/** Texts of messages, previews, and media. */
export const Messages = () => (
  <>
    <Section title="Messages">
      <Stack>
        <MessageText text={TEXT} />
        <PartsCounter characters={58} parts={1} encoding="GSM-7" remaining={102} />
        <PartsCounter characters={90} parts={2} encoding="UCS-2" remaining={44} unsupported={['ł', '😀']} />
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <PhonePreview channel="SMS" sender="Acme" text={TEXT} />
          <PhonePreview channel="WHATSAPP" sender="Acme" text={TEXT} title="Order 1234" buttons={['Track', 'Stop']} />
          <PhonePreview channel="RCS" sender="Acme" text="" />
        </SimpleGrid>
      </Stack>
    </Section>
    <Section title="Media">
      <Stack>
        <DropArea onFiles={() => undefined} />
        <UploadList
          rows={[
            { id: 1, name: 'waiting.png', size: 1000, sent: 0, state: 'waiting' },
            { id: 2, name: 'running.png', size: 1000, sent: 400, state: 'running' },
            { id: 3, name: 'done.png', size: 1000, sent: 1000, state: 'done' },
            { id: 4, name: 'failed.png', size: 1000, sent: 1000, state: 'failed', error: new Error('Too large.') },
          ]}
        />
        <SimpleGrid cols={{ base: 3, sm: 6 }}>
          <Thumbnail media={{ name: 'icon', mimeType: 'image/png', thumbnailUrl: '/src/ui/icon.svg' }} />
          <Thumbnail media={{ name: 'video', mimeType: 'video/mp4', thumbnailUrl: null }} />
          <Thumbnail media={{ name: 'gone', mimeType: 'image/png', thumbnailUrl: '/nowhere.png' }} />
        </SimpleGrid>
      </Stack>
    </Section>
  </>
);
